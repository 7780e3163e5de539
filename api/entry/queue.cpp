// Creation, destruction and properties of queues. Implemented in core/queue/queues.hpp.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

Queues& queues() {
  return Runtime::current().queues();
}

}  // namespace

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                              uint32_t private_segment_size, uint32_t group_segment_size,
                              hsa_queue_t** queue) {
  return queues().create(agent, {size, type, callback, data, private_segment_size, group_segment_size},
                         queue);
}

hsa_status_t hsa_amd_queue_create(hsa_agent_t agent, hsa_amd_queue_create_desc_t* descs, uint32_t num_descs) {
  return queues().create_described(agent, descs, num_descs);
}

hsa_status_t hsa_amd_counted_queue_acquire(hsa_agent_t agent, hsa_queue_type_t type,
                                           hsa_amd_queue_priority_t priority,
                                           void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                           uint64_t, hsa_queue_t** queue) {
  return queues().counted_acquire(agent, type, priority, callback, data, queue);
}

hsa_status_t hsa_amd_counted_queue_release(hsa_queue_t* queue) {
  return queues().counted_release(queue);
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

hsa_status_t hsa_soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                   uint32_t features, hsa_signal_t doorbell_signal, hsa_queue_t** queue) {
  return queues().soft_create(region, size, type, features, doorbell_signal, queue);
}

hsa_status_t hsa_queue_destroy(hsa_queue_t* queue) {
  return queues().destroy(queue);
}

hsa_status_t hsa_queue_inactivate(hsa_queue_t* queue) {
  return queues().inactivate(queue);
}

hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  return queues().set_priority(queue, priority);
}

hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t* queue, uint32_t num_cu_mask_count,
                                       const uint32_t* cu_mask) {
  return queues().cu_set_mask(queue, num_cu_mask_count, cu_mask);
}

hsa_status_t hsa_amd_queue_cu_get_mask(const hsa_queue_t* queue, uint32_t num_cu_mask_count,
                                       uint32_t* cu_mask) {
  return queues().cu_get_mask(queue, num_cu_mask_count, cu_mask);
}

hsa_status_t hsa_amd_queue_get_info(hsa_queue_t* queue, hsa_queue_info_attribute_t attribute, void* value) {
  return queues().get_info(queue, attribute, value);
}

hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* queue, int enable) {
  return queues().profiling_set_profiler_enabled(queue, enable != 0);
}

hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                 hsa_amd_profiling_dispatch_time_t* time) {
  return queues().profiling_get_dispatch_time(agent, signal, time);
}

hsa_status_t hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t agent_tick,
                                                             uint64_t* system_tick) {
  return Runtime::current().machine().profiling_convert_tick_to_system_domain(agent, agent_tick, system_tick);
}

}  // namespace rigel::api
