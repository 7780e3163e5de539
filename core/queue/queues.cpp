#include "core/queue/queues.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <utility>

#include "api/support/query.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

/// Properties of a queue from its first packet on.
struct Queues::Traits {
  bool intercepted = false;  ///< requested by a tool
  bool counted = false;      ///< acquired by hsa_amd_counted_queue_acquire
  uint32_t priority = HSABE_PRIORITY_NORMAL;
  uint32_t cu_mask_bits = 0;
  const uint32_t* cu_mask = nullptr;
};

namespace {

/// Returns the request with its size raised to the agent's minimum.
Result<QueueRequest> fitted(const Agent& agent, QueueRequest request) {
  const hsabe_caps_t& caps = agent.caps();
  if (!agent.dispatches_kernels() && (caps.features & HSABE_FEATURE_AGENT_DISPATCH) == 0) {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, "agent: does not support queues");
  }
  if (!std::has_single_bit(request.size)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue size {}: not a power of two", request.size);
  }
  if (request.size > caps.queue_max_size) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue size {}: exceeds the maximum of {} packets",
                request.size, caps.queue_max_size);
  }
  if (request.type > HSA_QUEUE_TYPE_COOPERATIVE) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown queue type {}", request.type);
  }
  if ((caps.queue_types & 1u << request.type) == 0) {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, "queue type {}: not supported by the agent",
                request.type);
  }
  request.size = std::max(request.size, caps.queue_min_size);
  return request;
}

Status check_cu_mask(uint32_t bits, const uint32_t* mask) {
  if (bits % 32 != 0)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "CU mask: {} bits are not a multiple of 32", bits);
  if (bits != 0 && mask == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "CU mask: is NULL");
  return HSA_STATUS_SUCCESS;
}

std::optional<uint32_t> backend_priority(hsa_amd_queue_priority_t priority) {
  switch (priority) {
    case HSA_AMD_QUEUE_PRIORITY_LOW:
      return HSABE_PRIORITY_LOW;
    case HSA_AMD_QUEUE_PRIORITY_NORMAL:
      return HSABE_PRIORITY_NORMAL;
    case HSA_AMD_QUEUE_PRIORITY_HIGH:
      return HSABE_PRIORITY_HIGH;
  }
  return std::nullopt;
}

Status no_priority(hsa_amd_queue_priority_t priority) {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid queue priority {}", static_cast<int>(priority));
}

Status not_of_counted() {
  return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "counted queue: its priority and CU mask cannot be set");
}

template <class Range>
bool is_zero(const Range& values) {
  return std::all_of(std::begin(values), std::end(values), [](auto value) { return value == 0; });
}

}  // namespace

// Returns the live queue of a handle. NULL is an invalid argument; any other invalid handle may have been a
// queue.
Result<std::shared_ptr<Queue>> Queues::live(const hsa_queue_t* queue) const {
  if (queue == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue: is NULL");
  auto found = table_.find(queue);
  if (!found)
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "queue {}: invalid handle", static_cast<const void*>(queue));
  return found;
}

// AMD's functions return INVALID_QUEUE for NULL, too.
Result<std::shared_ptr<Queue>> Queues::live_or_invalid_queue(const hsa_queue_t* queue) const {
  auto found = live(queue);
  if (!found) return error(HSA_STATUS_ERROR_INVALID_QUEUE);
  return found;
}

// Creates a queue between the application and the agent's queue. Returns null if it is neither required by a
// tool nor requested.
Result<std::shared_ptr<Queue>> Queues::make_intercepted(const Agent& agent, const QueueRequest& request,
                                                        uint64_t cookie, bool asked_for) {
  const auto block = heaps_.allocate_system(intercept_queue_bytes(request.size));
  if (!block) return error(block.error());
  auto created = create_intercept_queue(
      {request, *block, [this](void* memory) { heaps_.free(memory); }, &dispatcher_}, cookie);
  if (!created) return error(created.error());
  if (const Status status = (*created)->start(agent, cookie); status != HSA_STATUS_SUCCESS)
    return error(status);
  const auto wanted = [&] {
    const InQueueCallback tools_are_asked;
    return tools_.add_to(**created, agent);
  }();
  if (!wanted) return error(wanted.error());
  if (!*wanted && !asked_for) return std::shared_ptr<Queue>();
  return std::shared_ptr<Queue>(std::move(*created));
}

Result<std::shared_ptr<Queue>> Queues::make(const Agent& agent, const QueueRequest& request, uint64_t cookie,
                                            bool intercepted) {
  if (intercepted || tools_.wants_queues()) {
    auto between = make_intercepted(agent, request, cookie, intercepted);
    if (!between || *between != nullptr) return between;
  }
  return create_agent_queue(agent, request, cookie);
}

Status Queues::create(hsa_agent_t agent, const QueueRequest& asked, const Traits& traits,
                      hsa_queue_t** queue) {
  if (queue == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_queue_create: queue is NULL");
  const Agent* found = machine_.find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  const auto request = fitted(*found, asked);
  if (!request) return request.error();
  QueueTable::CooperativeChange change(table_);
  if (request->type == HSA_QUEUE_TYPE_COOPERATIVE) {
    const auto shared = table_.share_cooperative(*found, change);
    if (!shared) return shared.error();
    if (*shared != nullptr) {
      *queue = *shared;
      return HSA_STATUS_SUCCESS;
    }
  }
  const uint32_t limit = found->caps().queues_max == 0 ? UINT32_MAX : found->caps().queues_max;
  const auto all_in_use = [limit] {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "agent: all of its {} queues are in use", limit);
  };
  if (table_.count(*found) >= limit) return all_in_use();
  const uint64_t cookie = QueueTable::next_cookie();
  auto created = make(*found, *request, cookie, traits.intercepted);
  if (!created) return created.error();
  if (const Status status = apply(traits, **created); status != HSA_STATUS_SUCCESS) {
    (*created)->close();
    return status;
  }
  (*created)->cooperative = request->type == HSA_QUEUE_TYPE_COOPERATIVE;
  hsa_queue_t* const handle = table_.insert(*created, cookie, limit);
  if (handle == nullptr) {  // Another thread has created the last one meanwhile.
    (*created)->close();
    return all_in_use();
  }
  *queue = handle;
  return HSA_STATUS_SUCCESS;
}

Status Queues::apply(const Traits& traits, Queue& queue) {
  queue.counted = traits.counted;
  if (traits.priority != HSABE_PRIORITY_NORMAL) {
    if (const Status status = queue.set_priority(traits.priority); status != HSA_STATUS_SUCCESS)
      return status;
  }
  if (traits.cu_mask_bits == 0) return HSA_STATUS_SUCCESS;
  const Status status = queue.set_cu_mask(traits.cu_mask_bits, traits.cu_mask);
  return status == static_cast<Status>(HSA_STATUS_CU_MASK_REDUCED) ? HSA_STATUS_SUCCESS : status;
}

Status Queues::create(hsa_agent_t agent, const QueueRequest& request, hsa_queue_t** queue) {
  return create(agent, request, Traits{}, queue);
}

Status Queues::intercept_create(hsa_agent_t agent, const QueueRequest& request, hsa_queue_t** queue) {
  return create(agent, request, Traits{.intercepted = true}, queue);
}

Status Queues::create_one(hsa_agent_t agent, hsa_amd_queue_create_desc_t& wanted) {
  const auto refuse = [](const char* what) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_queue_create: {}", what);
  };
  if (wanted.version != HSA_AMD_QUEUE_CREATE_DESC_VERSION) return refuse("unknown version of a descriptor");
  if (!is_zero(wanted.reserved_header) || !is_zero(wanted.reserved) || wanted.traffic_class != 0)
    return refuse("a reserved field of a descriptor is not 0");
  if (!std::has_single_bit(wanted.queue_size_bytes)) return refuse("the size is not a power of two");
  const auto priority = backend_priority(wanted.priority);
  if (!priority) return no_priority(wanted.priority);
  if (wanted.engine_type > HSA_AMD_QUEUE_ENGINE_AIE) return refuse("unknown engine");
  if (wanted.engine_type != HSA_AMD_QUEUE_ENGINE_COMPUTE) {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
                "hsa_amd_queue_create: only compute engines are supported");
  }
  if (wanted.flags != HSA_AMD_QUEUE_CREATE_SYSTEM_MEM) {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
                "hsa_amd_queue_create: the flags must be HSA_AMD_QUEUE_CREATE_SYSTEM_MEM");
  }
  const hsa_amd_compute_queue_params_t& compute = wanted.engine.compute;
  if (!is_zero(compute.reserved)) return refuse("a reserved field of a descriptor is not 0");
  if (compute.type > HSA_QUEUE_TYPE_COOPERATIVE) return refuse("unknown queue type");
  constexpr uint32_t kPacketBytes = sizeof(hsa_kernel_dispatch_packet_t);
  if (wanted.queue_size_bytes < kPacketBytes) return refuse("the size is less than one packet");
  if (const Status status = check_cu_mask(compute.cu_mask_count, compute.cu_mask);
      status != HSA_STATUS_SUCCESS)
    return status;
  const Traits traits{
      .priority = *priority, .cu_mask_bits = compute.cu_mask_count, .cu_mask = compute.cu_mask};
  return create(agent,
                {wanted.queue_size_bytes / kPacketBytes, compute.type, wanted.callback, wanted.callback_data,
                 compute.private_segment_size, UINT32_MAX},
                traits, &wanted.queue);
}

Status Queues::create_described(hsa_agent_t agent, hsa_amd_queue_create_desc_t* descs, uint32_t num_descs) {
  if (descs == nullptr || num_descs == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  Status first = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < num_descs; ++i) {
    descs[i].queue = nullptr;
    const Status status = create_one(agent, descs[i]);
    if (first == HSA_STATUS_SUCCESS) first = status;
  }
  return first;
}

Status Queues::counted_acquire(hsa_agent_t agent, hsa_queue_type_t type, hsa_amd_queue_priority_t priority,
                               QueueErrorCallback callback, void* data, hsa_queue_t** queue) {
  const Agent* found = machine_.find_agent(agent);
  if (found == nullptr || found->caps().device_type != HSA_DEVICE_TYPE_GPU)
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: not a GPU", agent.handle);
  if (type != HSA_QUEUE_TYPE_MULTI) {
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, "queue type {}: not supported by counted queues",
                static_cast<int>(type));
  }
  const auto wanted = backend_priority(priority);
  if (!wanted) return no_priority(priority);
  constexpr uint32_t kPackets = 16384;  // the size of HIP's queues
  const uint32_t size = std::clamp(kPackets, found->caps().queue_min_size, found->caps().queue_max_size);
  return create(agent, {size, HSA_QUEUE_TYPE_MULTI, callback, data, UINT32_MAX, UINT32_MAX},
                Traits{.counted = true, .priority = *wanted}, queue);
}

Status Queues::counted_release(hsa_queue_t* queue) {
  if (queue == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto found = table_.find(queue);
  if (found == nullptr || !found->counted)
    return fail(HSA_STATUS_ERROR, "queue {}: not a counted queue", static_cast<const void*>(queue));
  return destroy(queue) == HSA_STATUS_SUCCESS ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

Status Queues::intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler callback,
                                  void* user_data) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  auto* const intercepted = dynamic_cast<InterceptQueue*>(found->get());
  if (intercepted == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "queue: not created with hsa_amd_queue_intercept_create");
  if (callback == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_queue_intercept_register: the handler is NULL");
  return intercepted->add_handler({callback, user_data});
}

Status Queues::soft_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type, uint32_t features,
                           hsa_signal_t doorbell, hsa_queue_t** queue) {
  constexpr uint32_t kFeatures = HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH;
  if (queue == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_soft_queue_create: queue is NULL");
  if (!std::has_single_bit(size)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue size {}: not a power of two", size);
  }
  if (type != HSA_QUEUE_TYPE_MULTI && type != HSA_QUEUE_TYPE_SINGLE) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue type {}: not supported by soft queues", type);
  }
  if (features == 0 || (features & ~kFeatures) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue features {:#x}: unknown", features);
  }
  if (doorbell.handle == 0) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "doorbell signal: is 0");
  if (Signal::from_handle(doorbell) == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "doorbell signal {:#x}: invalid handle", doorbell.handle);
  }
  if (const Heap* const heap = heaps_.find_heap(region.handle);
      heap != nullptr && !heap->facts().host_accessible) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "region: not accessible to the host");
  }
  void* block = nullptr;
  const Status status = heaps_.memory_allocate(region, soft_queue_bytes(size), &block);
  if (status != HSA_STATUS_SUCCESS) return status;
  auto created = create_soft_queue({block, size, type, features, doorbell},
                                   [this](void* pointer) { heaps_.free(pointer); });
  *queue = table_.insert(std::move(created), QueueTable::next_cookie());
  return HSA_STATUS_SUCCESS;
}

Status Queues::destroy(hsa_queue_t* queue) {
  const auto found = live(queue);
  if (!found) return found.error();
  QueueTable::CooperativeChange change(table_);
  const auto removed = table_.remove(queue, change);  // one of several threads that destroy it gets it
  if (!removed.found) return HSA_STATUS_ERROR_INVALID_QUEUE;
  if (removed.queue == nullptr || removed.queue->try_close()) return HSA_STATUS_SUCCESS;
  // Waits for a callback. If the callback creates a cooperative queue, it is rejected and does not wait for
  // this thread.
  change.end();
  removed.queue->close();
  return HSA_STATUS_SUCCESS;
}

Status Queues::inactivate(hsa_queue_t* queue) {
  const auto found = live(queue);
  return found ? (*found)->inactivate() : found.error();
}

Status Queues::set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  const auto found = live(queue);
  if (!found) return found.error();
  if ((*found)->counted) return not_of_counted();
  const auto wanted = backend_priority(priority);
  return wanted ? (*found)->set_priority(*wanted) : no_priority(priority);
}

Status Queues::cu_set_mask(const hsa_queue_t* queue, uint32_t bits, const uint32_t* mask) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if ((*found)->counted) return not_of_counted();
  const Status status = check_cu_mask(bits, mask);
  return status == HSA_STATUS_SUCCESS ? (*found)->set_cu_mask(bits, mask) : status;
}

Status Queues::cu_get_mask(const hsa_queue_t* queue, uint32_t bits, uint32_t* mask) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if (bits == 0) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "CU mask: has 0 bits");
  const Status status = check_cu_mask(bits, mask);
  return status == HSA_STATUS_SUCCESS ? (*found)->get_cu_mask(bits, mask) : status;
}

Status Queues::get_info(hsa_queue_t* queue, hsa_queue_info_attribute_t attribute, void* value) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Agent* agent = (*found)->agent();
  if (agent == nullptr) return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "soft queue: has no agent");
  switch (attribute) {
    case HSA_AMD_QUEUE_INFO_AGENT:
      return answer(value, agent->handle());
    case HSA_AMD_QUEUE_INFO_DOORBELL_ID:
      return answer(value, (*found)->doorbell_id());
    case HSA_QUEUE_INFO_USE_COUNT:
      return answer(value, (*found)->counted ? 1u : UINT32_MAX);
    case HSA_QUEUE_INFO_HW_ID:
      return answer(value, static_cast<uint32_t>(queue->id));
    case HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_DISPATCH_PKT_VERSION_MAJOR:
    case HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_DISPATCH_PKT_VERSION_MINOR:
    case HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_BARRIER_PKT_VERSION_MAJOR:
    case HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_BARRIER_PKT_VERSION_MINOR:
      return answer(value, uint8_t{0xff});  // the agent does not accept such packets
    case HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_RING_BUFFER:
      return answer(value, uint64_t{0});
    case HSA_AMD_QUEUE_INFO_PROPERTIES: {
      const uint8_t none[8] = {};
      return answer(value, none);
    }
    case HSA_AMD_QUEUE_INFO_VM_FAULT_STATUS:
      return answer(value, (*found)->faulted());
    case HSA_AMD_QUEUE_INFO_ENGINE_TYPE:
      return answer(value, HSA_AMD_QUEUE_ENGINE_COMPUTE);
    case HSA_AMD_QUEUE_INFO_READ_POINTER:
      return answer(value, reinterpret_cast<uint64_t>(&(*found)->amd_queue()->read_dispatch_id));
    case HSA_AMD_QUEUE_INFO_WRITE_POINTER:
      return answer(value, reinterpret_cast<uint64_t>(&(*found)->amd_queue()->write_dispatch_id));
    case HSA_AMD_QUEUE_INFO_VM_FAULT_ADDRESS:
    case HSA_AMD_QUEUE_INFO_VM_FAULT_REASON:
    case HSA_AMD_QUEUE_INFO_SDMA_ENGINE_ID:
      break;
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown queue attribute {}", static_cast<int>(attribute));
}

Status Queues::profiling_set_profiler_enabled(hsa_queue_t* queue, bool enable) {
  const auto found = live_or_invalid_queue(queue);
  if (!found) return found.error();
  if (const Agent* agent = (*found)->agent()) agent->calibrate();
  return (*found)->set_profiling(enable);
}

Status Queues::profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                           hsa_amd_profiling_dispatch_time_t* time) {
  const Agent* found = machine_.find_agent(agent);
  if (found == nullptr || !found->dispatches_kernels()) {
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: does not dispatch kernels", agent.handle);
  }
  const Signal* completed = Signal::from_handle(signal);
  if (completed == nullptr || completed->kind() != AMD_SIGNAL_KIND_USER) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "signal {:#x}: {}", signal.handle,
                completed == nullptr ? "invalid handle" : "is a doorbell, which has no dispatch times");
  }
  if (time == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  time->start = found->to_system_time(completed->abi.start_ts);
  time->end = found->to_system_time(completed->abi.end_ts);
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
