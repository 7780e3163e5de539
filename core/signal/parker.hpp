// Where one thread sleeps until others have let it go: a count of permits still missing, in one futex word.
//
// Owned by the sleeping thread, usually on its stack, for one wait. `post` is called by whoever has the
// reason to wake it, and is divided in two: the count goes down while the caller still holds the lock that
// keeps the parker alive; the system call, which needs no more than the address, is made after that lock is
// released. Everything before a post happens before the return of the park that it ended.
//
// The word also says where the owner sleeps, because a thread can sleep in one place only: on the word, or in the
// driver, where the events of devices are (DeviceSleeper in device_sleeper.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.hpp"
#include "core/signal/change_bell.hpp"
#include "core/signal/futex.hpp"

namespace rigel {

class Parker {
 public:
  enum class Until : uint8_t {
    kFirst,  ///< the first post lets the thread go, however many may come
    kLast,   ///< as many posts as were expected, and never more, are needed
  };

  explicit Parker(Until until, uint32_t posts = 1) noexcept : word_(posts), until_(until) {}
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  /// What the caller of a post has to do besides.
  enum class Wake : uint8_t {
    kNobody,
    kOnWord,    ///< futex_wake_one(address())
    kInDriver,  ///< SignalHooks::wake_in_driver()
  };

  /// Counts one post.
  [[nodiscard]] Wake post() noexcept {
    const uint32_t old = until_ == Until::kFirst ? word_.exchange(0) : word_.fetch_sub(1);
    if ((old & kCount) != 1) return Wake::kNobody;
    if ((old & kInDriver) != 0) return Wake::kInDriver;
    return (old & kAsleep) != 0 ? Wake::kOnWord : Wake::kNobody;
  }

  /// Ends the park of now or the next one, without a post. For who knows that the owner does not leave meanwhile.
  void call() noexcept {
    if ((word_.fetch_or(kCalled) & kAsleep) != 0) futex_wake_one(&word_);
  }

  const void* address() const noexcept { return &word_; }

  /// Owner only, and only while nobody can post: expects `posts` posts from here on.
  void expect(uint32_t posts) noexcept { word_.store(posts, std::memory_order_relaxed); }

  /// Owner only, kFirst: expects another post, while others may be posting. What the owner looks at after
  /// this shows everything that came before a post that this has undone.
  void rearm() noexcept { word_.exchange(1); }

  /// Owner only: whether every post has come.
  bool released() const noexcept { return (word_.load(std::memory_order_acquire) & kCount) == 0; }

  /// Owner only: sleeps until released or until system_time_ns() is `deadline`. False if time ran out, or somebody
  /// called.
  bool park(uint64_t deadline) noexcept { return park(deadline, nullptr); }

  /// Owner only: the same, but a bell that rings ends it, too. False if the owner was not released.
  bool park(uint64_t deadline, const BellListener* bells) noexcept {
    if (bells != nullptr && !bells->listens()) bells = nullptr;
    uint32_t word = word_.load(std::memory_order_acquire);
    while ((word & kCount) != 0) {
      if ((word & kCalled) != 0) return leave();
      const uint64_t now = deadline == UINT64_MAX ? 0 : system_time_ns();
      if (now >= deadline) return leave();
      if ((word & kAsleep) == 0 &&
          !word_.compare_exchange_weak(word, word | kAsleep, std::memory_order_acquire)) {
        continue;
      }
      if (bells != nullptr && bells->sleep(word_, word | kAsleep, deadline - now)) return leave();
      futex_wait(word_, word | kAsleep, deadline - now);
      word = word_.load(std::memory_order_acquire);
    }
    return true;
  }

  /// Owner only: from here on a post that releases the owner asks for a wake-up in the driver. False, and not so, if
  /// the owner is released already.
  bool enter_driver() noexcept {
    uint32_t word = word_.load(std::memory_order_acquire);
    while ((word & kCount) != 0) {
      if (word_.compare_exchange_weak(word, word | kInDriver, std::memory_order_acquire)) return true;
    }
    return false;
  }
  /// Owner only: the owner is awake.
  void leave_driver() noexcept { word_.fetch_and(~kInDriver, std::memory_order_relaxed); }

 private:
  bool leave() noexcept {
    word_.fetch_and(~(kAsleep | kCalled), std::memory_order_acquire);
    return released();
  }

  static constexpr uint32_t kAsleep = 0x80000000;    // on the word
  static constexpr uint32_t kInDriver = 0x40000000;  // or there
  static constexpr uint32_t kCalled = 0x20000000;
  static constexpr uint32_t kCount = ~(kAsleep | kInDriver | kCalled);

  std::atomic<uint32_t> word_;
  const Until until_;
};

}  // namespace rigel
