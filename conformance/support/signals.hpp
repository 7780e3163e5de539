// Signals that are destroyed with the test, and waits with a time limit.
#pragma once

#include <hsa/hsa.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "support/status.hpp"

namespace conformance {

class ScopedSignal {
 public:
  explicit ScopedSignal(hsa_signal_value_t initial = 0) {
    EXPECT_HSA(hsa_signal_create(initial, 0, nullptr, &signal_));
  }
  ~ScopedSignal() {
    if (signal_.handle != 0) {
      EXPECT_HSA(hsa_signal_destroy(signal_));
    }
  }
  ScopedSignal(ScopedSignal&& other) noexcept : signal_(std::exchange(other.signal_, {0})) {}
  ScopedSignal& operator=(ScopedSignal&&) = delete;

  hsa_signal_t get() const { return signal_; }
  operator hsa_signal_t() const {
    return signal_;
  }  // NOLINT(google-explicit-constructor): used like a signal
  hsa_signal_value_t value() const { return hsa_signal_load_scacquire(signal_); }

 private:
  hsa_signal_t signal_{0};
};

/// Converts a duration to ticks of the HSA clock, for timeouts.
uint64_t ticks(std::chrono::nanoseconds time);

/// Time limit of waits: sufficient on a slow, busy machine. Tests fail then instead of hanging.
constexpr std::chrono::seconds kPatience{60};

/// Waits for the condition. Returns false after kPatience.
bool wait_for(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value,
              hsa_wait_state_t state = HSA_WAIT_STATE_BLOCKED);

}  // namespace conformance
