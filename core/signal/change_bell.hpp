// How processes that have a signal wake each other: two words in the signal's page, and who sleeps on them.
//
// A change is announced by `ring`, after the change and a full fence. Who waits listens first, then looks at
// the value, and then sleeps until something rings, or until its own word changes:
//
//     changes the value                   waits
//     S1  value = v                       W1  remember `changes`
//     S2  full fence                      W2  listened = 1, full fence
//     S3  if listened:                    W3  look at value
//     S4    listened = 0                  W4  sleep while `changes` is as in W1
//     S5    changes += 1, wake all
//
// The wake-up is lost only if W3 misses S1 and nothing moves `changes` after W1. If S3 comes after W2 it
// either sees the 1 and S5 follows, or a 0 that another signaller has stored after W2, whose S5 follows.
// Otherwise S3 comes before W2, so the fence S2 does too, and W3 sees S1. Nothing counts who listens: a
// process that dies, or whose place for the signal is another signal's by now, leaves at most a 1 behind,
// which costs whoever comes next one needless wake-up.
//
// Any thread of any process that has the page. A listener is its thread's own.
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

#include "core/signal/futex.hpp"

namespace rigel {

struct ChangeBell {
  std::atomic<uint32_t> changes{0};   ///< where listeners sleep
  std::atomic<uint32_t> listened{0};  ///< whether any may

  void ring() noexcept {
    if (listened.load(std::memory_order_relaxed) == 0) return;
    listened.store(0, std::memory_order_release);
    changes.fetch_add(1);
    syscall(SYS_futex, &changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
};

class BellListener {
 public:
  /// Of how many bells one listener can hear. Of others it learns by looking.
  static constexpr uint32_t kMost = 16;

  /// Before the look at what the bell is of.
  void listen(ChangeBell& bell) noexcept {
    if (count_ == kMost) return;
    heard_[count_++] = {&bell, bell.changes.load(std::memory_order_acquire)};
    bell.listened.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// Listens to none any more.
  void forget() noexcept { count_ = 0; }
  bool listens() const noexcept { return count_ != 0; }

  /// Sleeps for at most `timeout_ns` while `word`, private to the process, is `expected` and no bell has rung
  /// since it was listened to. Returns early for any reason or none. False if the kernel cannot do that
  /// (before Linux 5.16), and nothing has been waited for.
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
    for (uint32_t i = 0; i < count_; ++i) set(words[i + 1], heard_[i].bell->changes, heard_[i].changes, 0);
    return syscall(SYS_futex_waitv, words, count_ + 1, 0, &end, CLOCK_MONOTONIC) >= 0 || errno != ENOSYS;
#else
    static_cast<void>(word), static_cast<void>(expected), static_cast<void>(timeout_ns);
    return false;
#endif
  }

 private:
  struct Heard {
    ChangeBell* bell;
    uint32_t changes;
  };
  uint32_t count_ = 0;
  Heard heard_[kMost];
};

}  // namespace rigel
