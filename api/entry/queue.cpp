// Queues: making and ending them, and what can be set on one.
#include <bit>
#include <mutex>

#include "api/entry/functions.hpp"
#include "core/base/query.hpp"
#include "core/queue/intercept_queue.hpp"
#include "core/runtime/runtime.hpp"
#include "core/signal/signal.hpp"
#include "core/tool/packet_tools.hpp"

namespace rigel::api {
namespace {

QueueTable& queues() {
  return Runtime::current().queues();
}

// The live queue of a handle. NULL is an argument that nobody should pass; anything else that is no queue may
// have been one.
Result<std::shared_ptr<Queue>> live(const hsa_queue_t* queue) {
  if (queue == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the queue is NULL");
  auto found = queues().find(queue);
  if (!found) return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "{} is no queue", static_cast<const void*>(queue));
  return found;
}

// AMD's functions give one status to both.
Result<std::shared_ptr<Queue>> live_or_invalid_queue(const hsa_queue_t* queue) {
  auto found = live(queue);
  if (!found) return error(HSA_STATUS_ERROR_INVALID_QUEUE);
  return found;
}

// A queue between the application and the agent's. Empty: no tool wants it, and nobody has asked for it.
Result<std::shared_ptr<Queue>> create_intercepted(const Agent& agent, const QueueRequest& request,
                                                  uint64_t cookie, bool asked_for) {
  Runtime& runtime = Runtime::current();
  const auto memory = runtime.allocate_system_memory(intercept_queue_bytes(request.size), 0);
  if (!memory) return error(memory.error());
  auto created = create_intercept_queue(
      {request, *memory, [&runtime](void* block) { runtime.free_system_memory(block); },
       &runtime.driver_dispatcher()},
      cookie);
  if (!created) return error(created.error());
  if (const Status status = (*created)->start(agent, cookie); status != HSA_STATUS_SUCCESS)
    return error(status);
  const auto wanted = packet_tools().add_to(**created, agent);
  if (!wanted) return error(wanted.error());
  if (!*wanted && !asked_for) return std::shared_ptr<Queue>();
  return std::shared_ptr<Queue>(std::move(*created));
}

Status create_queue(hsa_agent_t agent, const QueueRequest& request, bool intercepted, hsa_queue_t** queue) {
  if (queue == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_queue_create: queue is NULL");
  const Agent* found = Runtime::current().find_agent(agent);
  if (found == nullptr) return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent", agent.handle);
  std::unique_lock<std::mutex> one_at_a_time;
  if (request.type == HSA_QUEUE_TYPE_COOPERATIVE) {
    one_at_a_time = std::unique_lock(queues().cooperative_mutex());
    if (hsa_queue_t* const shared = queues().share_cooperative(*found)) {
      *queue = shared;
      return HSA_STATUS_SUCCESS;
    }
  }
  if (found->caps().queues_max != 0 && queues().count(*found) >= found->caps().queues_max) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the agent's {} queues are all in use",
                found->caps().queues_max);
  }
  if (const Status status = check_queue_request(*found, request); status != HSA_STATUS_SUCCESS) return status;
  const uint64_t cookie = queues().next_cookie();
  std::shared_ptr<Queue> created;
  if (intercepted || packet_tools().wants_queues()) {
    auto between = create_intercepted(*found, request, cookie, intercepted);
    if (!between) return between.error();
    created = std::move(*between);
  }
  if (created == nullptr) {
    auto plain = create_agent_queue(*found, request, cookie);
    if (!plain) return plain.error();
    created = std::move(*plain);
  }
  *queue = created->handle();
  queues().insert(std::move(created), cookie);
  return HSA_STATUS_SUCCESS;
}

Status check_cu_mask(uint32_t bits, const uint32_t* mask) {
  if (bits % 32 != 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} bits are not whole words of a CU mask", bits);
  if (bits != 0 && mask == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the CU mask is NULL");
  return HSA_STATUS_SUCCESS;
}

}  // namespace

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                              uint32_t private_segment_size, uint32_t group_segment_size,
                              hsa_queue_t** queue) {
  return create_queue(agent, {size, type, callback, data, private_segment_size, group_segment_size}, false,
                      queue);
}

hsa_status_t hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                            void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                            uint32_t private_segment_size, uint32_t group_segment_size,
                                            hsa_queue_t** queue) {
  return create_queue(agent, {size, type, callback, data, private_segment_size, group_segment_size}, true,
                      queue);
}

hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler callback,
                                              void* user_data) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  auto* const intercepted = dynamic_cast<InterceptQueue*>(found->get());
  if (intercepted == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "the queue was not created to be intercepted");
  if (callback == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the handler is NULL");
  return intercepted->add_handler({callback, user_data});
}

hsa_status_t hsa_soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                   uint32_t features, hsa_signal_t doorbell_signal, hsa_queue_t** queue) {
  constexpr uint32_t kFeatures = HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH;
  if (queue == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_soft_queue_create: queue is NULL");
  if (!std::has_single_bit(size)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue size {} is not a power of two", size);
  }
  if (type != HSA_QUEUE_TYPE_MULTI && type != HSA_QUEUE_TYPE_SINGLE) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "soft queues have no type {}", type);
  }
  if (features == 0 || (features & ~kFeatures) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue features {:#x} are not known", features);
  }
  if (doorbell_signal.handle == 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the doorbell is no signal");
  if (Signal::from_handle(doorbell_signal) == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "the doorbell {:#x} is no signal", doorbell_signal.handle);
  }
  MemoryManager& memory = Runtime::current().memory();
  void* block = nullptr;
  const Status status = memory.memory_allocate(region, soft_queue_bytes(size), &block);
  if (status != HSA_STATUS_SUCCESS) return status;
  auto created = create_soft_queue({block, size, type, features, doorbell_signal},
                                   [&memory](void* pointer) { memory.memory_free(pointer); });
  *queue = created->handle();
  queues().insert(std::move(created), queues().next_cookie());
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_queue_destroy(hsa_queue_t* queue) {
  const auto found = live(queue);
  if (!found) return found.error();
  const auto removed = queues().remove(queue);  // of two threads that destroy it, one gets it
  if (!removed.found) return HSA_STATUS_ERROR_INVALID_QUEUE;
  if (removed.queue != nullptr) removed.queue->close();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_queue_inactivate(hsa_queue_t* queue) {
  const auto found = live(queue);
  return found ? (*found)->inactivate() : found.error();
}

hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  const auto found = live(queue);
  if (!found) return found.error();
  switch (priority) {
    case HSA_AMD_QUEUE_PRIORITY_LOW:
      return (*found)->set_priority(HSABE_PRIORITY_LOW);
    case HSA_AMD_QUEUE_PRIORITY_NORMAL:
      return (*found)->set_priority(HSABE_PRIORITY_NORMAL);
    case HSA_AMD_QUEUE_PRIORITY_HIGH:
      return (*found)->set_priority(HSABE_PRIORITY_HIGH);
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "there is no priority {}", static_cast<int>(priority));
}

hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t* queue, uint32_t num_cu_mask_count,
                                       const uint32_t* cu_mask) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  const Status status = check_cu_mask(num_cu_mask_count, cu_mask);
  return status == HSA_STATUS_SUCCESS ? (*found)->set_cu_mask(num_cu_mask_count, cu_mask) : status;
}

hsa_status_t hsa_amd_queue_cu_get_mask(const hsa_queue_t* queue, uint32_t num_cu_mask_count,
                                       uint32_t* cu_mask) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if (num_cu_mask_count == 0) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "a CU mask of no bits");
  const Status status = check_cu_mask(num_cu_mask_count, cu_mask);
  return status == HSA_STATUS_SUCCESS ? (*found)->get_cu_mask(num_cu_mask_count, cu_mask) : status;
}

hsa_status_t hsa_amd_queue_get_info(hsa_queue_t* queue, hsa_queue_info_attribute_t attribute, void* value) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Agent* agent = (*found)->agent();
  if (agent == nullptr) return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "a soft queue has no agent");
  switch (attribute) {
    case HSA_AMD_QUEUE_INFO_AGENT:
      return answer(value, agent->handle());
    case HSA_AMD_QUEUE_INFO_DOORBELL_ID:
      return answer(value, (*found)->doorbell_id());
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queues have no attribute {}", static_cast<int>(attribute));
}

hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* queue, int enable) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if (const Agent* agent = (*found)->agent()) agent->calibrate();
  return (*found)->set_profiling(enable != 0);
}

hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                 hsa_amd_profiling_dispatch_time_t* time) {
  const Agent* found = Runtime::current().find_agent(agent);
  if (found == nullptr || !found->dispatches_kernels()) {
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent that dispatches", agent.handle);
  }
  const Signal* completed = Signal::from_handle(signal);
  if (completed == nullptr) return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "{:#x} is no signal", signal.handle);
  if (time == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  time->start = found->to_system_time(completed->abi.start_ts);
  time->end = found->to_system_time(completed->abi.end_ts);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t agent_tick,
                                                             uint64_t* system_tick) {
  const Agent* found = Runtime::current().find_agent(agent);
  if (found == nullptr) return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent", agent.handle);
  if (system_tick == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *system_tick = found->to_system_time(agent_tick);
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::api
