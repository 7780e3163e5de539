// Sleeps in the kernel on a 32-bit word, and wakes sleepers (futex(2), private to the process).
//
// *Threads:* wake-ups may be spurious, and waking an address without sleepers or mapping is harmless. Callers
// must read their word again, and may wake after the word's owner has continued.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>

namespace rigel {

/// Maximum length of one sleep, in nanoseconds: callers loop until their deadline.
constexpr uint64_t kLongestFutexSleepNs = 3600ull * 1'000'000'000;

/// Sleeps for at most `timeout_ns` while the word is `expected`. May return early.
inline void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected,
                       uint64_t timeout_ns = kLongestFutexSleepNs) noexcept {
  if (timeout_ns > kLongestFutexSleepNs) timeout_ns = kLongestFutexSleepNs;
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

/// Wakes at most `count` threads that sleep on the word at `address`.
inline void futex_wake(const void* address, uint32_t count) noexcept {
  syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, std::min<uint32_t>(count, INT_MAX), nullptr, nullptr, 0);
}
inline void futex_wake_one(const void* address) noexcept {
  futex_wake(address, 1);
}
inline void futex_wake_all(const void* address) noexcept {
  futex_wake(address, INT_MAX);
}

}  // namespace rigel
