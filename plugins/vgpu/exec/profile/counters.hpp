// Counters of executed instructions, for profiles. Translated code has one counter for each instruction of
// each block. The index of a counter is the same in all arrays of a kernel's code.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/profile/kernel_profile.hpp"

namespace rigel::vgpu::exec {

/// The addresses of a kernel's counters.
///
/// Threads: any.
class CountedPlaces {
 public:
  /// Returns the index of a new counter for the instruction at `pc`.
  uint32_t add(uint64_t pc) {
    const MutexLock lock(mutex_);
    pcs_.push_back(pc);
    return static_cast<uint32_t>(pcs_.size() - 1);
  }
  /// Returns the addresses by index.
  std::vector<uint64_t> pcs() {
    const MutexLock lock(mutex_);
    return pcs_;
  }

 private:
  Mutex mutex_;
  std::vector<uint64_t> pcs_ RIGEL_GUARDED_BY(mutex_);
};

/// The counters of one resident work-group.
///
/// Threads: the worker of the work-group.
class GroupCounters {
 public:
  /// Counts an instruction with `lanes` active lanes. Called by handlers; does not throw.
  void count(uint32_t index, unsigned lanes) noexcept {
    if (index >= size_ && !grow(index)) return;
    profile::Count& count = counts_.get()[index];
    ++count.times;
    count.lanes += lanes;
  }

  uint32_t size() const { return size_; }
  profile::Count& operator[](uint32_t index) { return counts_.get()[index]; }
  /// Whether counts are missing because the host had no memory.
  bool is_incomplete() const { return is_incomplete_; }

  void clear() {
    if (size_ != 0) std::memset(static_cast<void*>(counts_.get()), 0, size_ * sizeof(profile::Count));
  }

 private:
  bool grow(uint32_t index) noexcept {
    const uint32_t size = (index + 1) * 2;
    void* const larger = std::realloc(counts_.get(), size * sizeof(profile::Count));
    is_incomplete_ |= larger == nullptr;
    if (larger == nullptr) return false;
    (void)counts_.release();
    counts_.reset(static_cast<profile::Count*>(larger));
    std::memset(static_cast<void*>(counts_.get() + size_), 0, (size - size_) * sizeof(profile::Count));
    size_ = size;
    return true;
  }

  std::unique_ptr<profile::Count, decltype(&std::free)> counts_{nullptr, std::free};
  uint32_t size_ = 0;
  bool is_incomplete_ = false;
};

}  // namespace rigel::vgpu::exec
