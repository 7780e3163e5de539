// Copies and fills. The work is in core/copy.
#include <algorithm>
#include <atomic>
#include <memory>

#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"
#include "core/signal/signal.hpp"
#include "core/tool/packet_tools.hpp"

namespace rigel::api {
namespace {

// Has tools told of the copy, if there are any who want that.
template <class Submit>
hsa_status_t observed(hsa_agent_t destination, hsa_agent_t source, uint64_t bytes, hsa_signal_t completion,
                      Submit&& submit) {
  if (!packet_tools().wants_copies()) [[likely]]
    return submit(completion);
  const auto times = [](hsa_signal_t signal, uint64_t& begin, uint64_t& end) {
    hsa_amd_profiling_async_copy_time_t time{};
    if (Runtime::current().copies().profiling_get_async_copy_time(signal, &time) != HSA_STATUS_SUCCESS)
      return;
    begin = time.start;
    end = time.end;
  };
  return packet_tools().copy({source, destination, bytes, completion, times}, submit);
}

// --- Batches -----------------------------------------------------------------------------------------------

Failure refuse(uint32_t index, const char* what) {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "operation {} of a batch of copies: {}", index, what);
}

bool has_lists(const hsa_amd_memory_copy_op_t& op) {
  return op.num_entries != 0;
}

size_t bytes_of(const hsa_amd_memory_copy_op_t& op, uint32_t entry) {
  return has_lists(op) && op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR ? op.size_list[entry] : op.size;
}

const void* source_of(const hsa_amd_memory_copy_op_t& op, uint32_t entry) {
  return has_lists(op) && op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR ? op.src_list[entry] : op.src;
}

hsa_status_t check_operation(const hsa_amd_memory_copy_op_t& op, uint32_t index) {
  if (op.version != HSA_AMD_MEMORY_COPY_OP_VERSION) return refuse(index, "its version is unknown");
  if (op.type > HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_SRCDST) return refuse(index, "its type is unknown");
  if (op.traffic_class != 0 || op.reserved1[0] != 0) return refuse(index, "what must be 0 is not");
  if (op.type > HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST || op.wait.function != 0 ||
      op.signal.operation != 0) {
    return fail(static_cast<Status>(HSA_STATUS_ERROR_NOT_SUPPORTED),
                "operation {} of a batch does more than copy", index);
  }
  const bool broadcast = op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST;
  if (broadcast && !has_lists(op)) return refuse(index, "a broadcast without destinations");
  if (has_lists(op)) {
    if (op.dst_list == nullptr || op.dst_agent_list == nullptr) return refuse(index, "a list is NULL");
    if (!broadcast && (op.src_list == nullptr || op.size_list == nullptr))
      return refuse(index, "a list is NULL");
  }
  if (op.unused_size != 0) return refuse(index, "what must be 0 is not");
  if (Runtime::current().machine().find_agent(op.src_agent) == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "operation {}: its source's agent is none", index);
  for (uint32_t entry = 0; entry < std::max<uint32_t>(op.num_entries, 1); ++entry) {
    const void* const destination = has_lists(op) ? op.dst_list[entry] : op.dst;
    const hsa_agent_t agent = has_lists(op) ? op.dst_agent_list[entry] : op.dst_agent;
    if (destination == nullptr || source_of(op, entry) == nullptr) return refuse(index, "a pointer is NULL");
    if (bytes_of(op, entry) == 0) return refuse(index, "no bytes");
    if (Runtime::current().machine().find_agent(agent) == nullptr)
      return fail(HSA_STATUS_ERROR_INVALID_AGENT, "operation {}: its destination's agent is none", index);
  }
  return HSA_STATUS_SUCCESS;
}

// Several copies that complete as one: `joint` counts them.
struct Joint {
  hsa_signal_t joint{};
  hsa_signal_t completion{};
  std::atomic<bool> refused{false};  // one of them was: the caller knows
};

bool complete_joint(hsa_signal_value_t value, void* argument) {
  const std::unique_ptr<Joint> all(static_cast<Joint*>(argument));
  if (value < 0) {
    api::hsa_signal_store_screlease(all->completion, value);
  } else if (!all->refused.load(std::memory_order_relaxed)) {
    api::hsa_signal_subtract_screlease(all->completion, 1);
  }
  api::hsa_signal_destroy(all->joint);
  return false;
}

hsa_status_t submit_operation(const hsa_amd_memory_copy_op_t& op, uint32_t num_dep_signals,
                              const hsa_signal_t* dep_signals) {
  if (op.num_entries <= 1) {
    return api::hsa_amd_memory_async_copy(
        has_lists(op) ? op.dst_list[0] : op.dst, has_lists(op) ? op.dst_agent_list[0] : op.dst_agent,
        source_of(op, 0), op.src_agent, bytes_of(op, 0), num_dep_signals, dep_signals, op.completion_signal);
  }
  auto made = std::make_unique<Joint>();
  made->completion = op.completion_signal;
  hsa_status_t status = api::hsa_signal_create(op.num_entries, 0, nullptr, &made->joint);
  if (status != HSA_STATUS_SUCCESS) return status;
  const hsa_signal_t joint = made->joint;
  status = api::hsa_amd_signal_async_handler(joint, HSA_SIGNAL_CONDITION_LT, 1, &complete_joint, made.get());
  if (status != HSA_STATUS_SUCCESS) {
    api::hsa_signal_destroy(joint);
    return status;
  }
  Joint& all = *made.release();  // the handler's, which has not run while one copy is missing
  for (uint32_t entry = 0; entry < op.num_entries; ++entry) {
    status = api::hsa_amd_memory_async_copy(op.dst_list[entry], op.dst_agent_list[entry],
                                            source_of(op, entry), op.src_agent, bytes_of(op, entry),
                                            num_dep_signals, dep_signals, joint);
    if (status == HSA_STATUS_SUCCESS) continue;
    all.refused.store(true, std::memory_order_relaxed);
    api::hsa_signal_subtract_screlease(joint, op.num_entries - entry);
    return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace

hsa_status_t hsa_memory_copy(void* dst, const void* src, size_t size) {
  return Runtime::current().copies().memory_copy(dst, src, size);
}

hsa_status_t hsa_amd_profiling_async_copy_enable(bool enable) {
  return Runtime::current().copies().profiling_async_copy_enable(enable || packet_tools().wants_copies());
}

hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal,
                                                   hsa_amd_profiling_async_copy_time_t* time) {
  return Runtime::current().copies().profiling_get_async_copy_time(signal, time);
}

hsa_status_t hsa_amd_memory_async_copy(void* dst, hsa_agent_t dst_agent, const void* src,
                                       hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
                                       const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  return observed(dst_agent, src_agent, size, completion_signal, [&](hsa_signal_t completion) {
    return Runtime::current().copies().memory_async_copy(dst, dst_agent, src, src_agent, size,
                                                         num_dep_signals, dep_signals, completion);
  });
}

hsa_status_t hsa_amd_memory_async_copy_on_engine(void* dst, hsa_agent_t dst_agent, const void* src,
                                                 hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
                                                 const hsa_signal_t* dep_signals,
                                                 hsa_signal_t completion_signal,
                                                 hsa_amd_sdma_engine_id_t engine_id,
                                                 bool force_copy_on_sdma) {
  return observed(dst_agent, src_agent, size, completion_signal, [&](hsa_signal_t completion) {
    return Runtime::current().copies().memory_async_copy_on_engine(dst, dst_agent, src, src_agent, size,
                                                                   num_dep_signals, dep_signals, completion,
                                                                   engine_id, force_copy_on_sdma);
  });
}

hsa_status_t hsa_amd_memory_async_batch_copy(const hsa_amd_memory_copy_op_t* copy_ops, uint32_t num_copy_ops,
                                             uint32_t num_dep_signals, const hsa_signal_t* dep_signals) {
  if (copy_ops == nullptr || num_copy_ops == 0 || (num_dep_signals != 0 && dep_signals == nullptr))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < num_copy_ops; ++i) {
    if (const hsa_status_t status = check_operation(copy_ops[i], i); status != HSA_STATUS_SUCCESS)
      return status;
    if (copy_ops[i].completion_signal.handle != copy_ops[0].completion_signal.handle)
      return refuse(i, "its completion signal is another");
  }
  if (Signal::from_handle(copy_ops[0].completion_signal) == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "the completion signal is not a signal");
  for (uint32_t i = 0; i < num_copy_ops; ++i) {
    const hsa_status_t status = submit_operation(copy_ops[i], num_dep_signals, dep_signals);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                               uint32_t* engine_ids_mask) {
  return Runtime::current().copies().memory_copy_engine_status(dst_agent, src_agent, engine_ids_mask);
}

hsa_status_t hsa_amd_memory_fill(void* ptr, uint32_t value, size_t count) {
  return Runtime::current().copies().memory_fill(ptr, value, count);
}

hsa_status_t hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t* dst, const hsa_dim3_t* dst_offset,
                                            const hsa_pitched_ptr_t* src, const hsa_dim3_t* src_offset,
                                            const hsa_dim3_t* range, hsa_agent_t copy_agent,
                                            hsa_amd_copy_direction_t dir, uint32_t num_dep_signals,
                                            const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  // Which agents it is between follows from the direction and the addresses.
  const uint64_t bytes = range == nullptr ? 0 : uint64_t{range->x} * range->y * range->z;
  return observed(copy_agent, copy_agent, bytes, completion_signal, [&](hsa_signal_t completion) {
    return Runtime::current().copies().memory_async_copy_rect(
        dst, dst_offset, src, src_offset, range, copy_agent, dir, num_dep_signals, dep_signals, completion);
  });
}

hsa_status_t hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                                      uint32_t* recommended_ids_mask) {
  return Runtime::current().copies().memory_get_preferred_copy_engine(dst_agent, src_agent,
                                                                      recommended_ids_mask);
}

}  // namespace rigel::api
