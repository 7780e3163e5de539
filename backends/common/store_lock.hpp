// A lock whose release is a plain store.
//
// Submitting to a copy engine writes a few lines of its ring, which the engine accessed last. A later atomic
// instruction, as in the release of a std::mutex, waits until all lines have arrived, which takes longer than
// the rest of a submission. A thread that finds the lock held spins for the length of a submission and then
// sleeps, because the lock is also held while the driver creates a queue.
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
