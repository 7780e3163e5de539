#include "support/signals.hpp"

namespace conformance {
namespace {

bool holds(hsa_signal_condition_t condition, hsa_signal_value_t left, hsa_signal_value_t right) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return left == right;
    case HSA_SIGNAL_CONDITION_NE:
      return left != right;
    case HSA_SIGNAL_CONDITION_LT:
      return left < right;
    case HSA_SIGNAL_CONDITION_GTE:
      return left >= right;
  }
  return false;
}

}  // namespace

uint64_t ticks(std::chrono::nanoseconds time) {
  uint64_t frequency = 0;
  EXPECT_HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
  return static_cast<uint64_t>(std::chrono::duration<double>(time).count() * static_cast<double>(frequency));
}

bool wait_for(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value,
              hsa_wait_state_t state) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const uint64_t slice = ticks(std::chrono::seconds(5));
  do {  // waits may return spuriously
    if (holds(condition, hsa_signal_wait_scacquire(signal, condition, value, slice, state), value))
      return true;
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace conformance
