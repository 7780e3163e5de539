// Signal functions of the API that check their arguments. (Loads, stores and arithmetic are members of Signal
// and check nothing.)
//
// *Threads:* any thread. The runtime must be initialised. Pointers may be null and handles invalid.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "api/support/status.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel::signal_api {

/// hsa_signal_create and hsa_amd_signal_create. INVALID_ARGUMENT for a null `signal`, a null list of
/// consumers with a count, a repeated consumer, or unknown attributes; OUT_OF_RESOURCES.
/// HSA_AMD_SIGNAL_AMD_GPU_ONLY takes effect with any consumers, as in ROCr's code; its description differs.
Status create(hsa_signal_value_t initial_value, uint32_t consumer_count, const hsa_agent_t* consumers,
              uint64_t attributes, hsa_signal_t* signal) noexcept;

/// hsa_signal_destroy. INVALID_ARGUMENT for handle 0; INVALID_SIGNAL for any other handle that is not a live
/// signal, and for doorbells, which are destroyed with their queue.
Status destroy(hsa_signal_t signal) noexcept;

/// hsa_amd_signal_value_pointer. INVALID_ARGUMENT for a null pointer, and for a signal without the GPU_ONLY
/// or IPC attribute, because changes through the pointer do not notify. INVALID_SIGNAL for a handle that is
/// not a live signal.
Status value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** value) noexcept;

/// hsa_amd_signal_get_event_id. INVALID_ARGUMENT for a null pointer and for a handle that is not a live
/// signal.
Status event_id(hsa_signal_t signal, uint32_t* id) noexcept;

/// hsa_amd_ipc_signal_create. INVALID_ARGUMENT for a null pointer, and for a signal without the IPC
/// attribute; INVALID_SIGNAL for a handle that is not a live signal.
Status ipc_create(hsa_signal_t signal, hsa_amd_ipc_signal_t* handle);

/// hsa_amd_ipc_signal_attach. INVALID_ARGUMENT for null, for a malformed name, and if the other process has
/// destroyed the signal.
Status ipc_attach(const hsa_amd_ipc_signal_t* handle, hsa_signal_t* signal);

/// hsa_signal_wait_*. `timeout_hint` is in ticks of the system timestamp. Returns 0 at once for an invalid
/// handle.
hsa_signal_value_t wait(hsa_signal_t signal, const hsa_signal_condition_t& condition,
                        hsa_signal_value_t compare_value, uint64_t timeout_hint,
                        hsa_wait_state_t hint) noexcept;

/// hsa_amd_signal_wait_any. Returns the index of a signal that satisfies its condition and stores its value
/// to `satisfying_value` (if not null). Returns UINT32_MAX after the timeout, and at once if no signal is
/// live or the arguments are invalid.
uint32_t wait_any(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t hint,
                  hsa_signal_value_t* satisfying_value) noexcept;

/// hsa_amd_signal_wait_all. Returns 0 when all conditions have held, UINT32_MAX after the timeout, and at
/// once if the arguments are invalid. Signals that are not live count as satisfied, with value 0.
uint32_t wait_all(uint32_t count, const hsa_signal_t* signals, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* values, uint64_t timeout_hint, hsa_wait_state_t hint,
                  hsa_signal_value_t* satisfying_values) noexcept;

/// hsa_amd_signal_async_handler. INVALID_ARGUMENT if the handler is null or the condition unknown;
/// INVALID_SIGNAL for an invalid handle, a doorbell, or a GPU_ONLY signal; otherwise as
/// AsyncDispatcher::watch. IPC signals are accepted, as by ROCr since 2025.
Status watch(AsyncDispatcher& dispatcher, hsa_signal_t signal, const hsa_signal_condition_t& condition,
             hsa_signal_value_t value, hsa_amd_signal_handler handler, void* argument) noexcept;

/// hsa_amd_async_function. INVALID_ARGUMENT if the function is null; otherwise as AsyncDispatcher::post.
Status call_aside(AsyncDispatcher& dispatcher, void (*function)(void*), void* argument) noexcept;

}  // namespace rigel::signal_api
