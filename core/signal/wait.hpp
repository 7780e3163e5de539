// Waiting until signals' values satisfy conditions.
//
// Any thread may wait, on any number of signals at once; also an asynchronous handler, for what does not
// depend on another handler. A wait has three stages:
//
//   look    at the values, for as long as `Spin` says; a tenth of that where the device computes on processors of
//           the host, which it could do on the one that looks.
//   lend    the thread to the device, between two looks, if the device computes on processors of the host
//           (lent_thread.hpp). As long as the device has work for it, the thread goes on looking and lending, but
//           not for ever: the work may be somebody else's, and without end.
//   sleep   in the kernel until a change that satisfies the wait is announced (signal.hpp says why none is
//           missed). Signals that are kSignalSilent are looked at now and then (poll_interval.hpp).
//
// Time is system_time_ns, which is the tick of HSA_SYSTEM_INFO_TIMESTAMP. Values are looked at with acquire
// order. A value that satisfies only for a moment may be missed, as the specification allows.
//
// A signal that is destroyed while it is waited on is a mistake in the program, and safe: see each function.
#pragma once

#include <cstdint>

#include "core/signal/signal.hpp"

namespace rigel {

constexpr uint64_t kWaitForever = UINT64_MAX;
constexpr uint32_t kWaitTimedOut = UINT32_MAX;

/// How long a wait is awake before it sleeps, in nanoseconds.
struct Spin {
  uint64_t look_ns;      ///< without a change, and without work for the device
  uint64_t lend_ns = 0;  ///< lending the thread, from the beginning of the wait on

  static constexpr uint64_t kLendNs = 20'000'000;

  // To be woken takes a tenth of a millisecond, and several where processors are busy.
  /// HSA_WAIT_STATE_BLOCKED: long enough for copies of some megabytes and for short kernels.
  static constexpr Spin blocked() { return {200'000, kLendNs}; }
  /// HSA_WAIT_STATE_ACTIVE.
  static constexpr Spin active() { return {2'000'000, kLendNs}; }
  static constexpr Spin hinted(hsa_wait_state_t hint) {
    return hint == HSA_WAIT_STATE_ACTIVE ? active() : blocked();
  }
};

/// What is waited for: that the signal's value compares with `compare` as the condition says.
struct WaitTerm {
  Signal* signal;  ///< alive, or null
  SignalCondition condition;
  int64_t compare;
  uint32_t generation = 0;  ///< in which the caller found the signal; a signal of another is gone. 0: any
};

/// Returns the value that satisfied the condition, or, after `timeout_ns`, the last one seen. 0 if the signal
/// is destroyed meanwhile. A condition that is none returns at once.
int64_t wait(Signal& signal, SignalCondition condition, int64_t compare, uint64_t timeout_ns = kWaitForever,
             Spin spin = Spin::blocked()) noexcept;

/// The index of a term that holds, and its value (or null); kWaitTimedOut, and no value, after `timeout_ns`.
/// Terms whose signal is null or destroyed meanwhile are ignored; if none is left, kWaitTimedOut at once.
uint32_t wait_any(const WaitTerm* terms, uint32_t count, uint64_t timeout_ns, Spin spin,
                  int64_t* value) noexcept;

/// True when every term has been seen to hold, though perhaps not all at the same time; false after
/// `timeout_ns`. `values`, of `count` elements or null, receives what was seen, or the last value of terms
/// that do not hold. Terms whose signal is null or destroyed meanwhile hold, with value 0.
bool wait_all(const WaitTerm* terms, uint32_t count, uint64_t timeout_ns, Spin spin,
              int64_t* values) noexcept;

}  // namespace rigel
