// Sleeps in the kernel on a 32-bit word, and wakes sleepers (futex(2), private to the process).
//
// *Threads:* any thread. A sleeper may wake without a cause, so it must read its word again. Waking an
// address that has no sleepers or is not mapped has no effect. A thread may therefore wake a word that its
// owner has already freed.
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

/// Maximum length of one sleep, in nanoseconds. Callers that wait longer sleep again.
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
