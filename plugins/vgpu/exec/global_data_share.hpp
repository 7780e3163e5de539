// The global data share (GDS): 64 KiB that all waves of a GPU share, with the operations of LDS. One object
// for each GPU as a process sees it. What lies in it outlives dispatches; nobody clears it.
//
// Threads: any worker. An instruction of a wave has the whole share for itself, so its lanes' operations are
// atomic: see Held. Nobody waits for anything while holding it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

class GlobalDataShare {
 public:
  static constexpr uint32_t kBytes = 65536;

  /// The share, for one instruction.
  class Held {
   public:
    explicit Held(GlobalDataShare& share) : share_(share), lock_(share.mutex_) {}
    /// kBytes, aligned to 64, and as many readable ones behind them.
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
