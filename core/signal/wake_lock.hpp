// A four-byte mutex for the few instructions in which a signal's list of waiters is changed or walked.
//
// It has no owner and no destructor and all its states are valid forever, so it can live in a signal: a
// thread that comes late to a signal that has been destroyed, or used again, may still take it.
// Not recursive. Nothing that can block or call out of the library is done under it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/spin.hpp"
#include "core/signal/futex.hpp"

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

  /// For a process that has forked while threads that it no longer has held locks.
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
    // Whoever gets the lock here cannot know whether others still sleep, and says that they do.
    while (state_.exchange(kHeldAndWanted, std::memory_order_acquire) != kFree) {
      futex_wait(state_, kHeldAndWanted, UINT64_MAX);
    }
  }

  std::atomic<uint32_t> state_{kFree};
};

static_assert(sizeof(WakeLock) == 4);

}  // namespace rigel
