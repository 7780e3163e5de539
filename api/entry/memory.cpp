// Regions, pools, allocations and pointers. Implemented in core/memory.
#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"

namespace rigel::api {
namespace {

hsa_status_t no_svm() {
  return fail(HSA_STATUS_ERROR, "shared virtual memory: no GPU supports it");
}

}  // namespace

hsa_status_t hsa_amd_portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf, uint64_t* offset) {
  return shared_memory().portable_export_dmabuf(ptr, size, dmabuf, offset, HSA_AMD_DMABUF_MAPPING_TYPE_NONE);
}

// The size is not needed, because a dmabuf reports its size.
hsa_status_t hsa_amd_interop_map_buffer_with_size(uint32_t num_agents, hsa_agent_t* agents,
                                                  hsa_handle_t interop_handle, uint32_t flags, size_t,
                                                  size_t* size, void** ptr, size_t* metadata_size,
                                                  const void** metadata) {
  return shared_memory().interop_map_buffer(num_agents, agents, interop_handle, flags, size, ptr,
                                            metadata_size, metadata);
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
