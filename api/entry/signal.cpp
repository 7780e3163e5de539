// Signals: creation, destruction, waits, groups and asynchronous handlers. Implemented in core/signal.
#include "core/signal/signal_api.hpp"

#include <algorithm>

#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"

namespace rigel::api {
namespace {

/// Adds GPU_ONLY if there are consumers and none of them is a CPU agent, as ROCr does.
uint64_t with_gpu_only(uint64_t attributes, uint32_t count, const hsa_agent_t* consumers) {
  if (count == 0 || consumers == nullptr || (attributes & HSA_AMD_SIGNAL_IPC) != 0) return attributes;
  const bool has_host = std::any_of(consumers, consumers + count, [](hsa_agent_t handle) {
    const Agent* const agent = machine().find_agent(handle);
    return agent != nullptr && agent->is_cpu();
  });
  return has_host ? attributes : attributes | HSA_AMD_SIGNAL_AMD_GPU_ONLY;
}

}  // namespace

hsa_status_t hsa_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                               const hsa_agent_t* consumers, hsa_signal_t* signal) {
  return signal_api::create(initial_value, num_consumers, consumers,
                            with_gpu_only(0, num_consumers, consumers), signal);
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                                   const hsa_agent_t* consumers, uint64_t attributes, hsa_signal_t* signal) {
  return signal_api::create(initial_value, num_consumers, consumers,
                            with_gpu_only(attributes, num_consumers, consumers), signal);
}

// Both orders acquire: a relaxed wait would not save much.
hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                             hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                             hsa_wait_state_t wait_state_hint) noexcept {
  return signal_api::wait(signal, condition, compare_value, timeout_hint, wait_state_hint);
}

hsa_signal_value_t hsa_signal_wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                           hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                           hsa_wait_state_t wait_state_hint) noexcept {
  return signal_api::wait(signal, condition, compare_value, timeout_hint, wait_state_hint);
}

uint32_t hsa_amd_signal_wait_any(uint32_t signal_count, hsa_signal_t* signals, hsa_signal_condition_t* conds,
                                 hsa_signal_value_t* values, uint64_t timeout_hint,
                                 hsa_wait_state_t wait_hint, hsa_signal_value_t* satisfying_value) noexcept {
  return signal_api::wait_any(signal_count, signals, conds, values, timeout_hint, wait_hint,
                              satisfying_value);
}

uint32_t hsa_amd_signal_wait_all(uint32_t signal_count, hsa_signal_t* signals, hsa_signal_condition_t* conds,
                                 hsa_signal_value_t* values, uint64_t timeout_hint,
                                 hsa_wait_state_t wait_hint, hsa_signal_value_t* satisfying_values) noexcept {
  return signal_api::wait_all(signal_count, signals, conds, values, timeout_hint, wait_hint,
                              satisfying_values);
}

hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t cond,
                                          hsa_signal_value_t value, hsa_amd_signal_handler handler,
                                          void* arg) {
  return signal_api::watch(Runtime::current().dispatcher(), signal, cond, value, handler, arg);
}

hsa_status_t hsa_amd_async_function(void (*callback)(void* arg), void* arg) {
  return signal_api::call_aside(Runtime::current().dispatcher(), callback, arg);
}

}  // namespace rigel::api
