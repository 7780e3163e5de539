// A four-byte mutex for the few instructions that change or walk a signal's list of waiters.
//
// *Lifetime:* no destructor, and every state stays valid. A thread may take the lock of a signal that was
// destroyed or recycled.
// *Threads:* not recursive. The holder must not block or call functions outside the library.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/support/futex.hpp"
#include "api/support/spin.hpp"

namespace rigel {

class WakeLock {
 public:
  void lock() noexcept {
    uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) [[unlikely]]
      lock_slowly();
  }

  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kHeldAndWanted) [[unlikely]]
      futex_wake_one(&state_);
  }

  /// For a forked child: releases locks that threads of the parent held.
  void reset_after_fork() noexcept { state_.store(kFree, std::memory_order_relaxed); }

 private:
  enum : uint32_t { kFree, kHeld, kHeldAndWanted };
  static constexpr int kSpins = 100;

  void lock_slowly() noexcept {
    for (int i = 0; i < kSpins; ++i) {
      cpu_relax();
      uint32_t expected = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire)) {
        return;
      }
    }
    // A thread that gets the lock here cannot know if others still sleep, so it assumes that they do.
    while (state_.exchange(kHeldAndWanted, std::memory_order_acquire) != kFree) {
      futex_wait(state_, kHeldAndWanted, UINT64_MAX);
    }
  }

  std::atomic<uint32_t> state_{kFree};
};

static_assert(sizeof(WakeLock) == 4);

}  // namespace rigel
