// Creation, destruction and properties of queues. Implemented in core/queue/queues.hpp.
#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"

namespace rigel::api {
hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                              uint32_t private_segment_size, uint32_t group_segment_size,
                              hsa_queue_t** queue) {
  return queues().create(agent, {size, type, callback, data, private_segment_size, group_segment_size},
                         queue);
}

hsa_status_t hsa_amd_counted_queue_acquire(hsa_agent_t agent, hsa_queue_type_t type,
                                           hsa_amd_queue_priority_t priority,
                                           void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                           uint64_t, hsa_queue_t** queue) {
  return queues().counted_acquire(agent, type, priority, callback, data, queue);
}

hsa_status_t hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                            void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                            uint32_t private_segment_size, uint32_t group_segment_size,
                                            hsa_queue_t** queue) {
  return queues().intercept_create(
      agent, {size, type, callback, data, private_segment_size, group_segment_size}, queue);
}

hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler callback,
                                              void* user_data) {
  return queues().intercept_register(queue, callback, user_data);
}

hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* queue, int enable) {
  return queues().profiling_set_profiler_enabled(queue, enable != 0);
}

hsa_status_t hsa_amd_runtime_queue_create_register(hsa_amd_runtime_queue_notifier callback, void* user_data) {
  return system_events().set_queue_notifier(callback, user_data);
}

}  // namespace rigel::api
