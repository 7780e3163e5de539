// The scratch slots of one queue, one per resident wave. All dispatches of the queue share them.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

class ScratchSlots {
 public:
  explicit ScratchSlots(uint32_t count) {
    free_.reserve(count);
    for (uint32_t i = count; i > 0; --i) free_.push_back(i - 1);
  }

  /// Takes `count` slots and returns true, or takes none and returns false.
  bool take(uint32_t count, uint32_t* slots) {
    const MutexLock lock(mutex_);
    if (free_.size() < count) return false;
    for (uint32_t i = 0; i < count; ++i) {
      slots[i] = free_.back();
      free_.pop_back();
    }
    return true;
  }

  void release(uint32_t count, const uint32_t* slots) {
    const MutexLock lock(mutex_);
    for (uint32_t i = count; i > 0; --i) free_.push_back(slots[i - 1]);
  }

 private:
  Mutex mutex_;
  std::vector<uint32_t> free_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu::exec
