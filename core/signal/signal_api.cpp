#include "core/signal/signal_api.hpp"

#include "core/signal/shared_signals.hpp"
#include "core/signal/signal_arguments.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait_terms.hpp"

namespace rigel::signal_api {
namespace {

// Builds terms for the lists of a program. Returns false if they are invalid, or without memory.
bool assemble(WaitTerms& terms, uint32_t count, const hsa_signal_t* signals,
              const hsa_signal_condition_t* conditions, const hsa_signal_value_t* values) noexcept {
  const char* reason = nullptr;
  if (count != 0 && (signals == nullptr || conditions == nullptr || values == nullptr)) {
    reason = "a list is NULL";
  } else if (!terms.resize(count)) {
    reason = "out of memory";
  } else {
    for (uint32_t i = 0; i < count; ++i) {
      terms[i] = {Signal::from_handle(signals[i]), condition_of(conditions[i]), values[i]};
      if (terms[i].condition > HSA_SIGNAL_CONDITION_GTE) reason = "invalid condition";
    }
  }
  if (reason == nullptr) return true;
  log_message(LogLevel::kError, LogTopic::kSignal, "wait on {} signals: {}", count, reason);
  return false;
}

}  // namespace

Status create(hsa_signal_value_t initial_value, uint32_t consumer_count, const hsa_agent_t* consumers,
              uint64_t attributes, hsa_signal_t* signal) noexcept try {
  if (signal == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_signal_create: signal is NULL");
  if ((attributes & ~uint64_t{kSignalApiAttributes}) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_signal_create: invalid attributes {:#x}",
                attributes);
  }
  if (consumer_count != 0) {
    if (consumers == nullptr || has_repeated_handle(consumers, consumer_count)) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_signal_create: {} consumers: {}", consumer_count,
                  consumers == nullptr ? "the list is NULL" : "an agent is listed twice");
    }
  }
  const auto wanted = static_cast<uint32_t>(attributes);
  const Signal* created = (wanted & kSignalIpc) != 0 ? shared_signals::create(initial_value, wanted)
                                                     : signal_pool::create(initial_value, wanted);
  if (created == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *signal = created->handle();
  return HSA_STATUS_SUCCESS;
} catch (...) {
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "hsa_signal_create: out of memory to check {} consumers",
              consumer_count);
}

Status destroy(hsa_signal_t signal) noexcept {
  if (signal.handle == 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_signal_destroy: the handle is 0");
  Signal* found = Signal::from_handle(signal);
  const auto end = [](Signal& candidate) {
    return shared_signals::is_shared(candidate) ? shared_signals::destroy(candidate)
                                                : signal_pool::destroy(candidate);
  };
  const auto is_doorbell = [](const Signal& candidate) {
    // A software queue's doorbell is an ordinary signal, but belongs to the queue.
    return candidate.kind() != AMD_SIGNAL_KIND_USER || candidate.has_attribute(kSignalOfQueue);
  };
  if (found == nullptr || is_doorbell(*found) || !end(*found)) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "hsa_signal_destroy: signal {:#x}: {}", signal.handle,
                found == nullptr ? "invalid handle" : "is a doorbell or already destroyed");
  }
  return HSA_STATUS_SUCCESS;
}

Status value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** value) noexcept {
  if (value == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_signal_value_pointer: value_ptr is NULL");
  Signal* found = Signal::from_handle(signal);
  if (found == nullptr || found->kind() != AMD_SIGNAL_KIND_USER) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "hsa_amd_signal_value_pointer: signal {:#x}: invalid handle",
                signal.handle);
  }
  if (!found->has_attribute(kSignalApiAttributes)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "hsa_amd_signal_value_pointer: signal {:#x}: not created with HSA_AMD_SIGNAL_AMD_GPU_ONLY or "
                "HSA_AMD_SIGNAL_IPC",
                signal.handle);
  }
  *value = &found->abi.value;
  return HSA_STATUS_SUCCESS;
}

Status event_id(hsa_signal_t signal, uint32_t* id) noexcept {
  const Signal* const found = Signal::from_handle(signal);
  if (found == nullptr || id == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *id = found->abi.event_id;
  return HSA_STATUS_SUCCESS;
}

Status ipc_create(hsa_signal_t signal, hsa_amd_ipc_signal_t* handle) {
  if (handle == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_ipc_signal_create: handle is NULL");
  Signal* found = Signal::from_handle(signal);
  if (found == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "hsa_amd_ipc_signal_create: signal {:#x}: invalid handle",
                signal.handle);
  }
  const auto name = shared_signals::name_of(*found);
  if (!name) return name.error();
  *handle = *name;
  return HSA_STATUS_SUCCESS;
}

Status ipc_attach(const hsa_amd_ipc_signal_t* handle, hsa_signal_t* signal) {
  if (handle == nullptr || signal == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_ipc_signal_attach: an argument is NULL");
  }
  const auto attached = shared_signals::attach(*handle);
  if (!attached) return attached.error();
  *signal = (*attached)->handle();
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t wait(hsa_signal_t signal, const hsa_signal_condition_t& condition,
                        hsa_signal_value_t compare_value, uint64_t timeout_hint,
                        hsa_wait_state_t hint) noexcept {
  Signal* found = Signal::from_handle(signal);
  if (found == nullptr) {
    log_message(LogLevel::kError, LogTopic::kSignal, "wait: signal {:#x}: invalid handle", signal.handle);
    return 0;
  }
  return rigel::wait(*found, condition_of(condition), compare_value, timeout_hint, Spin::hinted(hint));
}

uint32_t wait_any(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t hint,
                  hsa_signal_value_t* satisfying_value) noexcept {
  WaitTerms terms;
  if (!assemble(terms, count, signals, conditions, values)) return UINT32_MAX;
  return rigel::wait_any(terms.data(), count, timeout_hint, Spin::hinted(hint), satisfying_value);
}

uint32_t wait_all(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t hint,
                  hsa_signal_value_t* satisfying_values) noexcept {
  WaitTerms terms;
  if (!assemble(terms, count, signals, conditions, values)) return UINT32_MAX;
  return rigel::wait_all(terms.data(), count, timeout_hint, Spin::hinted(hint), satisfying_values)
             ? 0
             : UINT32_MAX;
}

Status watch(AsyncDispatcher& dispatcher, hsa_signal_t signal, const hsa_signal_condition_t& condition,
             hsa_signal_value_t value, hsa_amd_signal_handler handler, void* argument) noexcept {
  if (handler == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_signal_async_handler: handler is NULL");
  const SignalCondition wanted = condition_of(condition);
  Signal* found = Signal::from_handle(signal);
  if (found == nullptr || found->kind() != AMD_SIGNAL_KIND_USER) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "hsa_amd_signal_async_handler: signal {:#x}: {}",
                signal.handle, found == nullptr ? "invalid handle" : "is a doorbell");
  }
  if (found->has_attribute(kSignalGpuOnly)) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL,
                "hsa_amd_signal_async_handler: signal {:#x}: created with HSA_AMD_SIGNAL_AMD_GPU_ONLY",
                signal.handle);
  }
  if (wanted > HSA_SIGNAL_CONDITION_GTE) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_signal_async_handler: invalid condition {}",
                wanted);
  }
  return dispatcher.watch(*found, wanted, value, handler, argument);
}

Status call_aside(AsyncDispatcher& dispatcher, void (*function)(void*), void* argument) noexcept {
  if (function == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_async_function: callback is NULL");
  return dispatcher.post(function, argument);
}

}  // namespace rigel::signal_api
