// Waiting until signals' values satisfy conditions.
//
// A wait has three stages (docs/internals/waiting.md lists the steps):
//
//   1. Poll the values for the time in `Spin`; for a tenth of it if the device computes on CPUs of the host,
//      because polling takes CPU time from the device.
//   2. Lend the thread to the device between two polls, if the device computes on CPUs of the host
//      (lent_thread.hpp). The wait continues to poll and lend while the device has work, for at most
//      `lend_ns`: the work may belong to another waiter and be endless.
//   3. Sleep in the kernel until a notification satisfies the wait (signal.hpp proves that none is lost).
//      kSignalSilent signals are polled (poll_interval.hpp).
//
// *Threads:* any thread, on any number of signals. An asynchronous handler may wait for a change that does
// not depend on another handler.
// *Memory order:* values are read with acquire order. A value that satisfies only briefly may be missed, as
// the specification allows.
// *Errors:* destroying a signal that is waited on is an error of the program, but safe: see each function.
//
// Time is system_time_ns, the tick of HSA_SYSTEM_INFO_TIMESTAMP.
#pragma once

#include <cstdint>

#include "core/signal/signal.hpp"

namespace rigel {

constexpr uint64_t kWaitForever = UINT64_MAX;
constexpr uint32_t kWaitTimedOut = UINT32_MAX;

/// Time that a wait is awake before it sleeps, in nanoseconds.
struct Spin {
  uint64_t look_ns;      ///< polling without a change and without work for the device
  uint64_t lend_ns = 0;  ///< lending the thread, from the start of the wait

  static constexpr uint64_t kLendNs = 20'000'000;

  // A wake-up takes 0.1 ms, and several ms on busy CPUs.
  /// HSA_WAIT_STATE_BLOCKED: long enough for copies of some megabytes and for short kernels.
  static constexpr Spin blocked() { return {200'000, kLendNs}; }
  /// HSA_WAIT_STATE_ACTIVE.
  static constexpr Spin active() { return {2'000'000, kLendNs}; }
  static constexpr Spin hinted(hsa_wait_state_t hint) {
    return hint == HSA_WAIT_STATE_ACTIVE ? active() : blocked();
  }
};

/// A condition to wait for: `signal's value <condition> compare`.
struct WaitTerm {
  Signal* signal;  ///< alive, or null
  SignalCondition condition;
  int64_t compare;
  /// generation of the expected signal; another generation counts as destroyed. 0: any
  uint32_t generation = 0;
};

/// Returns the value that satisfied the condition or, after `timeout_ns`, the last value read. Returns 0 if
/// the signal is destroyed during the wait. Returns at once for an unknown condition.
int64_t wait(Signal& signal, SignalCondition condition, int64_t compare, uint64_t timeout_ns = kWaitForever,
             Spin spin = Spin::blocked()) noexcept;

/// Returns the index of a term that holds and stores its value (if `value` is not null). Returns
/// kWaitTimedOut and stores no value after `timeout_ns`. Terms with a null or destroyed signal are ignored;
/// returns kWaitTimedOut at once if no other term remains.
uint32_t wait_any(const WaitTerm* terms, uint32_t count, uint64_t timeout_ns, Spin spin,
                  int64_t* value) noexcept;

/// Returns true if every term held at some time during the wait, not necessarily at the same time; false
/// after `timeout_ns`. `values`, `count` elements or null, receives the satisfying or last values. Terms with
/// a null or destroyed signal hold, with value 0.
bool wait_all(const WaitTerm* terms, uint32_t count, uint64_t timeout_ns, Spin spin,
              int64_t* values) noexcept;

}  // namespace rigel
