// Copies and fills. Implemented in core/copy.
#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"
#include "core/tool/packet_tools.hpp"

namespace rigel::api {
namespace {

// Reports the copy to subscribed tools. Zero-byte copies are not reported: they complete without a signal.
template <class Submit>
hsa_status_t observed(hsa_agent_t destination, hsa_agent_t source, uint64_t bytes, hsa_signal_t completion,
                      Submit&& submit) {
  if (!packet_tools().wants_copies() || bytes == 0) [[likely]]
    return submit(completion);
  const auto times = [](hsa_signal_t signal, uint64_t& begin, uint64_t& end) {
    hsa_amd_profiling_async_copy_time_t time{};
    if (copies().profiling_get_async_copy_time(signal, &time) != HSA_STATUS_SUCCESS) return;
    begin = time.start;
    end = time.end;
  };
  return packet_tools().copy({source, destination, bytes, completion, times}, submit);
}

}  // namespace

hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable) {
  return copies().profiling_async_copy_enable(enable || packet_tools().wants_copies());
}

hsa_status_t hsa_amd_memory_async_copy(void* dst, hsa_agent_t dst_agent, const void* src,
                                       hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
                                       const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  return observed(dst_agent, src_agent, size, completion_signal, [&](hsa_signal_t completion) {
    return copies().memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals,
                                      completion);
  });
}

hsa_status_t hsa_amd_memory_async_copy_on_engine(void* dst, hsa_agent_t dst_agent, const void* src,
                                                 hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
                                                 const hsa_signal_t* dep_signals,
                                                 hsa_signal_t completion_signal,
                                                 hsa_amd_sdma_engine_id_t engine_id,
                                                 bool force_copy_on_sdma) {
  return observed(dst_agent, src_agent, size, completion_signal, [&](hsa_signal_t completion) {
    return copies().memory_async_copy_on_engine(dst, dst_agent, src, src_agent, size, num_dep_signals,
                                                dep_signals, completion, engine_id, force_copy_on_sdma);
  });
}

hsa_status_t hsa_amd_memory_async_batch_copy(const hsa_amd_memory_copy_op_t* copy_ops, uint32_t num_copy_ops,
                                             uint32_t num_dep_signals, const hsa_signal_t* dep_signals) {
  return Runtime::current().copy_batches().copy(machine().directory(), api::hsa_amd_memory_async_copy,
                                                copy_ops, num_copy_ops, num_dep_signals, dep_signals);
}

hsa_status_t hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t* dst, const hsa_dim3_t* dst_offset,
                                            const hsa_pitched_ptr_t* src, const hsa_dim3_t* src_offset,
                                            const hsa_dim3_t* range, hsa_agent_t copy_agent,
                                            hsa_amd_copy_direction_t dir, uint32_t num_dep_signals,
                                            const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  // The direction and the addresses determine the agents.
  const uint64_t bytes = range == nullptr ? 0 : uint64_t{range->x} * range->y * range->z;
  return observed(copy_agent, copy_agent, bytes, completion_signal, [&](hsa_signal_t completion) {
    return copies().memory_async_copy_rect(dst, dst_offset, src, src_offset, range, copy_agent, dir,
                                           num_dep_signals, dep_signals, completion);
  });
}

}  // namespace rigel::api
