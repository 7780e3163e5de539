// Signals: making and ending them, waiting, groups and asynchronous handlers.
#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel::api {
namespace {

Failure no_such_signal(hsa_signal_t signal) {
  return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "{:#x} is no signal", signal.handle);
}

// Consumers are a hint that nothing here needs; a list that cannot be one is refused all the same.
Status check_consumers(uint32_t count, const hsa_agent_t* consumers) {
  if (count == 0) return HSA_STATUS_SUCCESS;
  if (consumers == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} consumers, but no list", count);
  for (uint32_t i = 0; i < count; ++i) {
    if (Runtime::current().find_agent(consumers[i]) == nullptr) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "consumer {} is no agent", i);
    }
    for (uint32_t j = 0; j < i; ++j) {
      if (consumers[i].handle == consumers[j].handle) {
        return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "consumers {} and {} are the same agent", j, i);
      }
    }
  }
  return HSA_STATUS_SUCCESS;
}

Status create(hsa_signal_value_t initial_value, uint32_t attributes, hsa_signal_t* signal) {
  Signal* created = signal_pool::create(initial_value, attributes);
  if (created == nullptr) return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no memory for a signal");
  *signal = created->handle();
  return HSA_STATUS_SUCCESS;
}

using WaitTerms = boost::container::small_vector<WaitTerm, 16>;

WaitTerms make_terms(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                     const hsa_signal_value_t* values) {
  WaitTerms terms;
  terms.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    terms.push_back({Signal::from_handle(signals[i]), conditions[i], values[i]});
  }
  return terms;
}

}  // namespace

hsa_status_t hsa_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                               const hsa_agent_t* consumers, hsa_signal_t* signal) {
  return api::hsa_amd_signal_create(initial_value, num_consumers, consumers, 0, signal);
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                                   const hsa_agent_t* consumers, uint64_t attributes, hsa_signal_t* signal) {
  if (signal == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "signal is NULL");
  if ((attributes & ~uint64_t{kSignalApiAttributes}) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "signal attributes {:#x} are not known", attributes);
  }
  if (const Status status = check_consumers(num_consumers, consumers); status != HSA_STATUS_SUCCESS) return status;
  return create(initial_value, static_cast<uint32_t>(attributes), signal);
}

hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
  if (signal.handle == 0) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "signal handle 0");
  Signal* found = Signal::from_handle(signal);
  // A queue's doorbell is the queue's.
  if (found == nullptr || found->kind() != AMD_SIGNAL_KIND_USER || !signal_pool::destroy(*found)) {
    return no_such_signal(signal);
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** value_ptr) {
  Signal* found = Signal::from_handle(signal);
  if (found == nullptr) return no_such_signal(signal);
  if (value_ptr == nullptr || !found->has_attribute(kSignalApiAttributes)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "only a signal that is polled gives the address of its value");
  }
  *value_ptr = &found->abi.value;
  return HSA_STATUS_SUCCESS;
}

// --- Waiting ---------------------------------------------------------------------------------------------

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                             hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                             hsa_wait_state_t wait_state_hint) noexcept {
  return wait(Signal::of_live(signal), condition, compare_value, timeout_hint, Spin::hinted(wait_state_hint));
}

hsa_signal_value_t hsa_signal_wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                           hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                           hsa_wait_state_t wait_state_hint) noexcept {
  return wait(Signal::of_live(signal), condition, compare_value, timeout_hint, Spin::hinted(wait_state_hint));
}

uint32_t hsa_amd_signal_wait_any(uint32_t signal_count, hsa_signal_t* signals, hsa_signal_condition_t* conds,
                                 hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t wait_hint,
                                 hsa_signal_value_t* satisfying_value) noexcept {
  const WaitTerms terms = make_terms(signal_count, signals, conds, values);
  return wait_any(terms.data(), signal_count, timeout_hint, Spin::hinted(wait_hint), satisfying_value);
}

uint32_t hsa_amd_signal_wait_all(uint32_t signal_count, hsa_signal_t* signals, hsa_signal_condition_t* conds,
                                 hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t wait_hint,
                                 hsa_signal_value_t* satisfying_values) noexcept {
  const WaitTerms terms = make_terms(signal_count, signals, conds, values);
  const bool all = wait_all(terms.data(), signal_count, timeout_hint, Spin::hinted(wait_hint), satisfying_values);
  return all ? 0 : UINT32_MAX;
}

}  // namespace rigel::api
