// The global data share (GDS): 64 KiB that all waves of a GPU share, with the operations of LDS. There is one
// object per GPU and process. Its contents outlive dispatches and are never cleared.
//
// Threads: any worker. An instruction locks the whole share (Held), so the operations of its lanes are
// atomic. A thread that holds the lock does not wait for anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

class GlobalDataShare {
 public:
  static constexpr uint32_t kBytes = 65536;

  /// Locks the share for one instruction.
  class Held {
   public:
    explicit Held(GlobalDataShare& share) : share_(share), lock_(share.mutex_) {}
    /// Returns kBytes bytes, aligned to 64 bytes and followed by 64 readable bytes.
    std::byte* bytes() { return share_.bytes_.data(); }

   private:
    GlobalDataShare& share_;
    const MutexLock lock_;
  };

 private:
  Mutex mutex_;
  alignas(64) std::array<std::byte, kBytes + 64> bytes_{};  // under mutex_
};

}  // namespace rigel::vgpu::exec
