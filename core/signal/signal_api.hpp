// The signal functions of the API that check their arguments, on handles: what hsa_signal_create and its
// neighbours do once the runtime is known to be initialised. (Loads, stores and arithmetic check nothing and
// are members of Signal.)
//
// Any thread. Pointers may be null and handles wrong: that is what is checked.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "core/base/status.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel::signal_api {

/// hsa_signal_create and hsa_amd_signal_create. INVALID_ARGUMENT for a null `signal`, consumers that are null
/// though there are some, a consumer named twice, or attributes that do not exist; OUT_OF_RESOURCES.
/// HSA_AMD_SIGNAL_AMD_GPU_ONLY counts with any consumers, as in ROCr's code; its description says otherwise.
Status create(hsa_signal_value_t initial_value, uint32_t consumer_count, const hsa_agent_t* consumers,
              uint64_t attributes, hsa_signal_t* signal) noexcept;

/// hsa_signal_destroy. INVALID_ARGUMENT for handle 0, INVALID_SIGNAL for any other that is no live signal,
/// and for doorbells, which end with their queue.
Status destroy(hsa_signal_t signal) noexcept;

/// hsa_amd_signal_value_pointer. INVALID_ARGUMENT for a null pointer, and for a signal without the GPU_ONLY
/// or IPC attribute: changes through the pointer would wake nobody. INVALID_SIGNAL for what is no live
/// signal.
Status value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** value) noexcept;

/// hsa_amd_signal_get_event_id. INVALID_ARGUMENT for a null pointer and for what is no live signal.
Status event_id(hsa_signal_t signal, uint32_t* id) noexcept;

/// hsa_amd_ipc_signal_create. INVALID_ARGUMENT for a null pointer, and for a signal without the IPC
/// attribute; INVALID_SIGNAL for what is no live signal.
Status ipc_create(hsa_signal_t signal, hsa_amd_ipc_signal_t* handle);

/// hsa_amd_ipc_signal_attach. INVALID_ARGUMENT for null, and for a name that is none or of a signal that the
/// other process has destroyed.
Status ipc_attach(const hsa_amd_ipc_signal_t* handle, hsa_signal_t* signal);

/// hsa_signal_wait_*. `timeout_hint` in system timestamp ticks. A wrong handle returns 0 at once.
hsa_signal_value_t wait(hsa_signal_t signal, const hsa_signal_condition_t& condition,
                        hsa_signal_value_t compare_value, uint64_t timeout_hint,
                        hsa_wait_state_t hint) noexcept;

/// hsa_amd_signal_wait_any: the index of a signal that satisfies, and in `satisfying_value`, if not null, its
/// value. UINT32_MAX after the timeout, and at once if no signal is live or the arguments make no sense.
uint32_t wait_any(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t hint,
                  hsa_signal_value_t* satisfying_value) noexcept;

/// hsa_amd_signal_wait_all: 0 when all have satisfied, UINT32_MAX after the timeout, and at once if the
/// arguments make no sense. Signals that are not live count as satisfied, with value 0.
uint32_t wait_all(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t hint,
                  hsa_signal_value_t* satisfying_values) noexcept;

/// hsa_amd_signal_async_handler. INVALID_ARGUMENT if the handler is null or the condition unknown;
/// INVALID_SIGNAL for no signal, a doorbell, and a signal for GPUs only; otherwise as AsyncDispatcher::watch.
/// Signals for several processes are accepted, as by ROCr since 2025.
Status watch(AsyncDispatcher& dispatcher, hsa_signal_t signal, const hsa_signal_condition_t& condition,
             hsa_signal_value_t value, hsa_amd_signal_handler handler, void* argument) noexcept;

/// hsa_amd_async_function. INVALID_ARGUMENT if the function is null; otherwise as AsyncDispatcher::post.
Status call_aside(AsyncDispatcher& dispatcher, void (*function)(void*), void* argument) noexcept;

}  // namespace rigel::signal_api
