// Notifies processes that share a signal of its changes: two words in the signal's page, on which listeners
// sleep.
//
// A signaller calls `notify` after the change and a full fence. A waiter listens, then reads the value, and
// then sleeps until a notification, or until its own futex word changes:
//
//     changes the value                   waits
//     S1  value = v                       W1  remember `changes`
//     S2  full fence                      W2  listened = 1, full fence
//     S3  if listened:                    W3  read value
//     S4    listened = 0                  W4  sleep while `changes` is as in W1
//     S5    changes += 1, wake all
//
// The wake-up is lost only if W3 misses S1 and `changes` stays the same after W1. If S3 comes after W2, it
// reads either the 1, and S5 follows, or a 0 that another signaller stored after W2, whose S5 follows.
// Otherwise S3 comes before W2, so the fence S2 does too, and W3 sees S1. Listeners are not
// counted. A process that dies, or whose slot holds another signal by then, leaves at most a 1. This causes
// one needless wake-up of the next listener.
//
// *Threads:* any thread of any process that maps the page. A ChangeListener belongs to one thread.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "api/support/futex.hpp"

namespace rigel {

struct ChangeNotifier {
  std::atomic<uint32_t> changes{0};   ///< futex word of the listeners
  std::atomic<uint32_t> listened{0};  ///< whether there may be listeners

  void notify() noexcept {
    if (listened.load(std::memory_order_relaxed) == 0) return;
    listened.store(0, std::memory_order_release);
    changes.fetch_add(1);
    syscall(SYS_futex, &changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
};

class ChangeListener {
 public:
  /// Maximum number of notifiers of a listener. Changes of further signals are found by polling.
  static constexpr uint32_t kMost = 16;

  /// Starts listening. Call before reading the value.
  void listen(ChangeNotifier& notifier) noexcept {
    if (count_ == kMost) return;
    notifiers_[count_++] = {&notifier, notifier.changes.load(std::memory_order_acquire)};
    notifier.listened.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// Stops listening to all notifiers.
  void forget() noexcept { count_ = 0; }
  bool listens() const noexcept { return count_ != 0; }

  /// Sleeps for at most `timeout_ns` while `word`, private to the process, is `expected` and no notification
  /// has arrived since `listen`. May return early. Returns false at once if the kernel does not support this
  /// (before Linux 5.16).
  bool sleep(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns) const noexcept {
#ifdef SYS_futex_waitv
    timeout_ns = std::min(timeout_ns, kLongestFutexSleepNs);
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &end);
    const uint64_t ns = static_cast<uint64_t>(end.tv_nsec) + timeout_ns;
    end.tv_sec += static_cast<time_t>(ns / 1'000'000'000);
    end.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    futex_waitv words[kMost + 1] = {};
    const auto set = [](futex_waitv& entry, const std::atomic<uint32_t>& on, uint32_t value, uint32_t flags) {
      entry.val = value;
      entry.uaddr = reinterpret_cast<uintptr_t>(&on);
      entry.flags = FUTEX_32 | flags;
    };
    set(words[0], word, expected, FUTEX_PRIVATE_FLAG);
    for (uint32_t i = 0; i < count_; ++i)
      set(words[i + 1], notifiers_[i].notifier->changes, notifiers_[i].changes, 0);
    return syscall(SYS_futex_waitv, words, count_ + 1, 0, &end, CLOCK_MONOTONIC) >= 0 || errno != ENOSYS;
#else
    static_cast<void>(word), static_cast<void>(expected), static_cast<void>(timeout_ns);
    return false;
#endif
  }

 private:
  struct Entry {
    ChangeNotifier* notifier;
    uint32_t changes;
  };
  uint32_t count_ = 0;
  Entry notifiers_[kMost];
};

}  // namespace rigel
