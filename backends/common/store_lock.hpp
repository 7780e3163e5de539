// A lock whose release is a plain store.
//
// Submitting to a copy engine writes a few lines of its ring, which the engine had last. An atomic
// instruction behind them, as the release of a std::mutex is, waits until they are all here: longer than
// everything else that a submission takes. A thread that finds the lock taken spins for as long as a
// submission takes and then sleeps, as the lock is also held while the driver makes a queue.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace rigel::gfx {

class StoreLock {
 public:
  StoreLock() = default;
  StoreLock(const StoreLock&) = delete;

  void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() noexcept {
    constexpr unsigned kSpins = 200;
    for (unsigned spins = 0; taken_.load(std::memory_order_relaxed) || !try_lock(); ++spins) {
      if (spins < kSpins) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

  std::atomic<bool> taken_{false};
};

}  // namespace rigel::gfx
