// Regions, pools, allocations and pointers. Implemented in core/memory.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

Memory& memory() {
  return Runtime::current().memory();
}

hsa_status_t no_svm() {
  return fail(HSA_STATUS_ERROR, "shared virtual memory: no GPU supports it");
}

}  // namespace

hsa_status_t hsa_region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value) {
  return memory().heaps.region_get_info(region, attribute, value);
}

hsa_status_t hsa_agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*),
                                       void* data) {
  return memory().heaps.agent_iterate_regions(agent, callback, data);
}

hsa_status_t hsa_memory_allocate(hsa_region_t region, size_t size, void** ptr) {
  return memory().heaps.memory_allocate(region, size, ptr);
}

hsa_status_t hsa_memory_free(void* ptr) {
  return memory().pointers.memory_free(ptr);
}

hsa_status_t hsa_memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access) {
  return memory().heaps.memory_assign_agent(ptr, agent, access);
}

hsa_status_t hsa_memory_register(void* ptr, size_t size) {
  return memory().locked.memory_register(ptr, size);
}

hsa_status_t hsa_memory_deregister(void* ptr, size_t size) {
  return memory().locked.memory_deregister(ptr, size);
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t memory_pool,
                                          hsa_amd_memory_pool_info_t attribute, void* value) {
  return memory().heaps.memory_pool_get_info(memory_pool, attribute, value);
}

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                                void* data) {
  return memory().heaps.agent_iterate_memory_pools(agent, callback, data);
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t memory_pool, size_t size, uint32_t flags,
                                          void** ptr) {
  return memory().heaps.memory_pool_allocate(memory_pool, size, flags, ptr);
}

hsa_status_t hsa_amd_memory_pool_free(void* ptr) {
  return memory().pointers.memory_free(ptr);
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t memory_pool,
                                                hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  return memory().heaps.agent_memory_pool_get_info(agent, memory_pool, attribute, value);
}

hsa_status_t hsa_amd_agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents,
                                         const uint32_t* flags, const void* ptr) {
  return memory().pointers.agents_allow_access(num_agents, agents, flags, ptr);
}

hsa_status_t hsa_amd_memory_pool_can_migrate(hsa_amd_memory_pool_t src_memory_pool,
                                             hsa_amd_memory_pool_t dst_memory_pool, bool* result) {
  return memory().heaps.memory_pool_can_migrate(src_memory_pool, dst_memory_pool, result);
}

hsa_status_t hsa_amd_memory_migrate(const void* ptr, hsa_amd_memory_pool_t memory_pool, uint32_t flags) {
  return memory().heaps.memory_migrate(ptr, memory_pool, flags);
}

hsa_status_t hsa_amd_memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                 void** agent_ptr) {
  return memory().locked.memory_lock(host_ptr, size, agents, num_agent, agent_ptr);
}

hsa_status_t hsa_amd_memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                         hsa_amd_memory_pool_t pool, uint32_t flags, void** agent_ptr) {
  return memory().locked.memory_lock_to_pool(host_ptr, size, agents, num_agent, pool, flags, agent_ptr);
}

hsa_status_t hsa_amd_memory_unlock(void* host_ptr) {
  return memory().locked.memory_unlock(host_ptr);
}

hsa_status_t hsa_amd_pointer_info(const void* ptr, hsa_amd_pointer_info_t* info, void* (*alloc)(size_t),
                                  uint32_t* num_agents_accessible, hsa_agent_t** accessible) {
  return memory().pointers.pointer_info(ptr, info, alloc, num_agents_accessible, accessible);
}

hsa_status_t hsa_amd_pointer_info_set_userdata(const void* ptr, void* userdata) {
  return memory().pointers.pointer_info_set_userdata(ptr, userdata);
}

hsa_status_t hsa_amd_register_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback,
                                                    void* user_data) {
  return memory().pointers.register_deallocation_callback(ptr, callback, user_data);
}

hsa_status_t hsa_amd_deregister_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback) {
  return memory().pointers.deregister_deallocation_callback(ptr, callback);
}

hsa_status_t hsa_amd_portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf, uint64_t* offset) {
  return memory().shared.portable_export_dmabuf(ptr, size, dmabuf, offset, HSA_AMD_DMABUF_MAPPING_TYPE_NONE);
}

hsa_status_t hsa_amd_portable_export_dmabuf_v2(const void* ptr, size_t size, int* dmabuf, uint64_t* offset,
                                               uint64_t flags) {
  return memory().shared.portable_export_dmabuf(ptr, size, dmabuf, offset, flags);
}

hsa_status_t hsa_amd_portable_close_dmabuf(int dmabuf) {
  return memory().shared.portable_close_dmabuf(dmabuf);
}

hsa_status_t hsa_amd_interop_map_buffer(uint32_t num_agents, hsa_agent_t* agents, hsa_handle_t interop_handle,
                                        uint32_t flags, size_t* size, void** ptr, size_t* metadata_size,
                                        const void** metadata) {
  return memory().shared.interop_map_buffer(num_agents, agents, interop_handle, flags, size, ptr,
                                            metadata_size, metadata);
}

// The size is not needed, because a dmabuf reports its size.
hsa_status_t hsa_amd_interop_map_buffer_with_size(uint32_t num_agents, hsa_agent_t* agents,
                                                  hsa_handle_t interop_handle, uint32_t flags, size_t,
                                                  size_t* size, void** ptr, size_t* metadata_size,
                                                  const void** metadata) {
  return memory().shared.interop_map_buffer(num_agents, agents, interop_handle, flags, size, ptr,
                                            metadata_size, metadata);
}

hsa_status_t hsa_amd_interop_unmap_buffer(void* ptr) {
  return memory().shared.interop_unmap_buffer(ptr);
}

hsa_status_t hsa_amd_ipc_memory_create(void* ptr, size_t len, hsa_amd_ipc_memory_t* handle) {
  return memory().shared.ipc_memory_create(ptr, len, handle);
}

hsa_status_t hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t* handle, size_t len, uint32_t num_agents,
                                       const hsa_agent_t* mapping_agents, void** mapped_ptr) {
  return memory().shared.ipc_memory_attach(handle, len, num_agents, mapping_agents, mapped_ptr);
}

hsa_status_t hsa_amd_ipc_memory_detach(void* mapped_ptr) {
  return memory().shared.ipc_memory_detach(mapped_ptr);
}

// Shared virtual memory; not supported without a driver for it.

hsa_status_t hsa_amd_svm_attributes_set(void* ptr, size_t size, hsa_amd_svm_attribute_pair_t* attribute_list,
                                        size_t attribute_count) {
  const KfdSvm* const svm = Runtime::current().svm();
  return svm == nullptr ? no_svm() : svm->attributes_set(ptr, size, attribute_list, attribute_count);
}

hsa_status_t hsa_amd_svm_attributes_get(void* ptr, size_t size, hsa_amd_svm_attribute_pair_t* attribute_list,
                                        size_t attribute_count) {
  const KfdSvm* const svm = Runtime::current().svm();
  return svm == nullptr ? no_svm() : svm->attributes_get(ptr, size, attribute_list, attribute_count);
}

hsa_status_t hsa_amd_svm_prefetch_async(void* ptr, size_t size, hsa_agent_t agent, uint32_t num_dep_signals,
                                        const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  KfdSvm* const svm = Runtime::current().svm();
  if (svm == nullptr) return no_svm();
  return svm->prefetch_async(ptr, size, agent, num_dep_signals, dep_signals, completion_signal);
}

}  // namespace rigel::api
