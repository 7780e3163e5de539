#include "core/signal/backend_signals.hpp"

#include "api/support/log.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait_terms.hpp"

namespace rigel {
namespace {

hsabe_status_t create(void*, int64_t initial_value, uint64_t* out) {
  if (out == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  // Each queue's exception signal is waited for permanently.
  const Signal* signal = signal_pool::create(initial_value, kSignalException);
  if (signal == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *out = signal->handle().handle;
  return HSA_STATUS_SUCCESS;
}

void destroy(void*, uint64_t signal) {
  Signal* found = Signal::from_handle({signal});
  if (found == nullptr || !signal_pool::destroy(*found)) {
    log_message(LogLevel::kError, LogTopic::kSignal, "signal {:#x}: a backend destroys an invalid handle",
                signal);
  }
}

void store(void*, uint64_t signal, int64_t value) {
  Signal::of_live({signal}).store<std::memory_order_release>(value);
}

void subtract(void*, uint64_t signal, int64_t value) {
  Signal::of_live({signal}).subtract<std::memory_order_release>(value);
}

uint32_t wait_any(void*, const hsabe_wait_t* waits, uint32_t count, uint64_t timeout_ns, uint64_t spin_ns) {
  static_assert(HSABE_WAIT_TIMED_OUT == kWaitTimedOut && HSABE_WAIT_FOREVER == kWaitForever);
  WaitTerms terms;
  if (!terms.resize(count)) {
    log_message(LogLevel::kError, LogTopic::kSignal, "backend: out of memory to wait for {} signals", count);
    return HSABE_WAIT_TIMED_OUT;
  }
  for (uint32_t i = 0; i < count; ++i) {
    Signal* signal = waits[i].signal == 0 ? nullptr : &Signal::of_live({waits[i].signal});
    terms[i] = {signal, waits[i].condition, waits[i].value};
  }
  return rigel::wait_any(terms.data(), count, timeout_ns, Spin{spin_ns}, nullptr);
}

constexpr hsabe_host_signal_t kServices{
    sizeof(hsabe_host_signal_t), create, destroy, store, subtract, wait_any, nullptr, nullptr};

}  // namespace

const hsabe_host_signal_t& host_signal_services() noexcept {
  return kServices;
}

}  // namespace rigel
