// Waiting until signals' values satisfy conditions.
//
// Any thread may wait, on any number of signals at once; also an asynchronous handler, for what does not
// depend on another handler. A wait looks at the values first, then spins for a while, then sleeps in the
// kernel until a change that satisfies it is announced (signal.hpp says why none is missed). No wait keeps a
// CPU busy for longer than its spinning, whatever its hint, but for a part of a wait of a few milliseconds
// (foresight.hpp), and for up to 20 of them with work of a device that has no processors of its own
// (lent_thread.hpp); the exceptions sleep a millisecond between two looks: signals that are kSignalSilent.
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

/// How long a wait spins before it sleeps, in nanoseconds. Those that follow a hint help devices of software
/// meanwhile; others only look.
struct Spin {
  uint64_t ns;

  /// HSA_WAIT_STATE_BLOCKED: up to 200 us, less in threads whose waits it did not help (blocked_spin.hpp).
  static constexpr Spin blocked() { return {UINT64_MAX}; }
  /// HSA_WAIT_STATE_ACTIVE.
  static constexpr Spin active() { return {1'000'000}; }
  static constexpr Spin hinted(hsa_wait_state_t hint) {
    return hint == HSA_WAIT_STATE_ACTIVE ? active() : blocked();
  }
};

/// What is waited for: that the signal's value compares with `compare` as the condition says.
struct WaitTerm {
  Signal* signal;  ///< alive, or null
  SignalCondition condition;
  int64_t compare;
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
