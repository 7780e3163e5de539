// Puts one thread to sleep until it has received a number of posts, counted in a futex word.
//
// *Threads:* the owner sleeps, other threads call `post`. A post has two parts. The count is decremented
// while the caller holds the lock that keeps the parker alive; the system call, which needs only the address,
// follows after that lock is released.
// *Memory order:* everything before a post happens before the return of the park that it ends.
// *Lifetime:* owned by the sleeping thread, usually on its stack, for one wait.
//
// The word also records where the owner sleeps: on the word, or in the driver (device_sleeper.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "api/support/clock.hpp"
#include "api/support/futex.hpp"
#include "core/signal/change_bell.hpp"

namespace rigel {

class Parker {
 public:
  enum class Until : uint8_t {
    kFirst,  ///< the first post releases the thread; further posts have no effect
    kLast,   ///< exactly the expected number of posts is needed
  };

  explicit Parker(Until until, uint32_t posts = 1) noexcept : word_(posts), until_(until) {}
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  /// Action that the caller of `post` must take.
  enum class Wake : uint8_t {
    kNobody,
    kOnWord,    ///< futex_wake_one(address())
    kInDriver,  ///< SignalHooks::wake_in_driver()
  };

  [[nodiscard]] Wake post() noexcept {
    const uint32_t old = until_ == Until::kFirst ? word_.exchange(0) : word_.fetch_sub(1);
    if ((old & kCount) != 1) return Wake::kNobody;
    if ((old & kInDriver) != 0) return Wake::kInDriver;
    return (old & kAsleep) != 0 ? Wake::kOnWord : Wake::kNobody;
  }

  /// Makes the current or the next park return without a post. The caller must keep the parker alive during
  /// the call.
  void call() noexcept {
    if ((word_.fetch_or(kCalled) & kAsleep) != 0) futex_wake_one(&word_);
  }

  const void* address() const noexcept { return &word_; }

  /// Owner only, while no other thread can post: expects `posts` posts.
  void expect(uint32_t posts) noexcept { word_.store(posts, std::memory_order_relaxed); }

  /// Owner only, kFirst: expects another post while other threads may post. Later reads by the owner see
  /// everything before a post that this call discards.
  void rearm() noexcept { word_.exchange(1); }

  /// Owner only: whether all expected posts have arrived.
  bool released() const noexcept { return (word_.load(std::memory_order_acquire) & kCount) == 0; }

  /// Owner only: sleeps until released, until system_time_ns() is `deadline`, or until `call`. Returns
  /// whether the owner was released.
  bool park(uint64_t deadline) noexcept { return park(deadline, nullptr); }

  /// Owner only: the same; a change that `listener` listens to also ends the sleep.
  bool park(uint64_t deadline, const ChangeListener* listener) noexcept {
    if (listener != nullptr && !listener->listens()) listener = nullptr;
    uint32_t word = word_.load(std::memory_order_acquire);
    while ((word & kCount) != 0) {
      if ((word & kCalled) != 0) return leave();
      const uint64_t now = deadline == UINT64_MAX ? 0 : system_time_ns();
      if (now >= deadline) return leave();
      if ((word & kAsleep) == 0 &&
          !word_.compare_exchange_weak(word, word | kAsleep, std::memory_order_acquire)) {
        continue;
      }
      if (listener != nullptr && listener->sleep(word_, word | kAsleep, deadline - now)) return leave();
      futex_wait(word_, word | kAsleep, deadline - now);
      word = word_.load(std::memory_order_acquire);
    }
    return true;
  }

  /// Owner only: a releasing post requests a wake-up in the driver from this call on. Returns false, without
  /// effect, if the owner is already released.
  bool enter_driver() noexcept {
    uint32_t word = word_.load(std::memory_order_acquire);
    while ((word & kCount) != 0) {
      if (word_.compare_exchange_weak(word, word | kInDriver, std::memory_order_acquire)) return true;
    }
    return false;
  }
  /// Owner only: ends enter_driver.
  void leave_driver() noexcept { word_.fetch_and(~kInDriver, std::memory_order_relaxed); }

 private:
  bool leave() noexcept {
    word_.fetch_and(~(kAsleep | kCalled), std::memory_order_acquire);
    return released();
  }

  static constexpr uint32_t kAsleep = 0x80000000;    // asleep on the word
  static constexpr uint32_t kInDriver = 0x40000000;  // asleep in the driver
  static constexpr uint32_t kCalled = 0x20000000;
  static constexpr uint32_t kCount = ~(kAsleep | kInDriver | kCalled);

  std::atomic<uint32_t> word_;
  const Until until_;
};

}  // namespace rigel
