// Virtual memory management. Implemented in core/memory/virtual_memory.hpp.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {

hsa_status_t hsa_amd_vmem_address_reserve(void** va, size_t size, uint64_t address, uint64_t flags) {
  return Runtime::current().memory().virtual_memory.address_reserve(va, size, address, flags);
}

hsa_status_t hsa_amd_vmem_address_free(void* va, size_t size) {
  return Runtime::current().memory().virtual_memory.address_free(va, size);
}

hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, hsa_amd_memory_type_t type,
                                        uint64_t flags, hsa_amd_vmem_alloc_handle_t* memory_handle) {
  return Runtime::current().memory().virtual_memory.handle_create(pool, size, type, flags, memory_handle);
}

hsa_status_t hsa_amd_vmem_handle_release(hsa_amd_vmem_alloc_handle_t memory_handle) {
  return Runtime::current().memory().virtual_memory.handle_release(memory_handle);
}

hsa_status_t hsa_amd_vmem_map(void* va, size_t size, size_t in_offset,
                              hsa_amd_vmem_alloc_handle_t memory_handle, uint64_t flags) {
  return Runtime::current().memory().virtual_memory.map(va, size, in_offset, memory_handle, flags);
}

hsa_status_t hsa_amd_vmem_unmap(void* va, size_t size) {
  return Runtime::current().memory().virtual_memory.unmap(va, size);
}

hsa_status_t hsa_amd_vmem_set_access(void* va, size_t size, const hsa_amd_memory_access_desc_t* desc,
                                     size_t desc_cnt) {
  return Runtime::current().memory().virtual_memory.set_access(va, size, desc, desc_cnt);
}

hsa_status_t hsa_amd_vmem_get_access(void* va, hsa_access_permission_t* perms, hsa_agent_t agent_handle) {
  return Runtime::current().memory().virtual_memory.get_access(va, perms, agent_handle);
}

hsa_status_t hsa_amd_vmem_export_shareable_handle(int* dmabuf_fd, hsa_amd_vmem_alloc_handle_t handle,
                                                  uint64_t flags) {
  return Runtime::current().memory().virtual_memory.export_shareable_handle(dmabuf_fd, handle, flags);
}

hsa_status_t hsa_amd_vmem_import_shareable_handle(int dmabuf_fd, hsa_amd_vmem_alloc_handle_t* handle) {
  return Runtime::current().memory().virtual_memory.import_shareable_handle(dmabuf_fd, handle);
}

hsa_status_t hsa_amd_vmem_retain_alloc_handle(hsa_amd_vmem_alloc_handle_t* memory_handle, void* addr) {
  return Runtime::current().memory().virtual_memory.retain_alloc_handle(memory_handle, addr);
}

hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(hsa_amd_vmem_alloc_handle_t memory_handle,
                                                           hsa_amd_memory_pool_t* pool,
                                                           hsa_amd_memory_type_t* type) {
  return Runtime::current().memory().virtual_memory.get_alloc_properties_from_handle(memory_handle, pool,
                                                                                     type);
}

hsa_status_t hsa_amd_vmem_address_reserve_align(void** va, size_t size, uint64_t address, uint64_t alignment,
                                                uint64_t flags) {
  return Runtime::current().memory().virtual_memory.address_reserve_align(va, size, address, alignment,
                                                                          flags);
}

}  // namespace rigel::api
