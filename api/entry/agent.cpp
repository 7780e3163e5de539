// Agents, their caches, ISAs and wavefronts.
#include "api/entry/extensions.hpp"
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

const Agent* find_agent(hsa_agent_t handle) {
  return Runtime::current().find_agent(handle);
}

Failure no_such_agent(hsa_agent_t agent) {
  return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent", agent.handle);
}

/// Images are the one extension that some agents have and others have not.
const Extension* find_extension_of(const Agent& agent, uint16_t number) {
  return number == HSA_EXTENSION_IMAGES && !agent.backend().has_image() ? nullptr : find_extension(number);
}

/// Makes the agent's queue for copies and fills work, by a fill of memory of its own.
hsa_status_t fill_something(hsa_agent_t agent) {
  MemoryManager& memory = Runtime::current().memory();
  hsa_amd_memory_pool_t pool{};
  const auto take = [](hsa_amd_memory_pool_t one, void* out) {
    bool allocatable = false;
    const hsa_status_t status = Runtime::current().memory().memory_pool_get_info(
        one, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocatable);
    if (status != HSA_STATUS_SUCCESS || !allocatable) return HSA_STATUS_SUCCESS;
    *static_cast<hsa_amd_memory_pool_t*>(out) = one;
    return HSA_STATUS_INFO_BREAK;
  };
  if (memory.agent_iterate_memory_pools(agent, take, &pool) != HSA_STATUS_INFO_BREAK)
    return HSA_STATUS_SUCCESS;  // without memory there is nothing to fill
  constexpr size_t kWords = 16;
  void* block = nullptr;
  hsa_status_t status = memory.memory_pool_allocate(pool, kWords * sizeof(uint32_t), 0, &block);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = Runtime::current().copies().memory_fill(block, 0, kWords);
  memory.memory_pool_free(block);
  return status;
}

Failure no_such_isa(hsa_isa_t isa) {
  return fail(HSA_STATUS_ERROR_INVALID_ISA, "{:#x} is no ISA", isa.handle);
}

}  // namespace

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Agent& agent : Runtime::current().agents()) {
    if (const hsa_status_t status = callback(agent.handle(), data); status != HSA_STATUS_SUCCESS)
      return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  return Runtime::current().agent_info(agent, static_cast<uint32_t>(attribute), value);
}

hsa_status_t hsa_agent_get_exception_policies(hsa_agent_t agent, hsa_profile_t profile, uint16_t* mask) {
  const Agent* found = find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  if (mask == nullptr || (profile != HSA_PROFILE_BASE && profile != HSA_PROFILE_FULL)) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *mask = 0;  // no agent can trap on or record floating-point exceptions for the application
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_iterate_caches(hsa_agent_t agent, hsa_status_t (*callback)(hsa_cache_t, void*),
                                      void* data) {
  const Agent* found = find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Cache& cache : found->caches()) {
    const hsa_status_t status = callback({reinterpret_cast<uint64_t>(&cache)}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_cache_get_info(hsa_cache_t cache, hsa_cache_info_t attribute, void* value) {
  const Cache* found = Runtime::current().find_cache(cache);
  if (found == nullptr) return fail(HSA_STATUS_ERROR_INVALID_CACHE, "{:#x} is no cache", cache.handle);
  return found->info(attribute, value);
}

hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t version_major,
                                           uint16_t version_minor, bool* result) {
  if (result == nullptr || extension_name(extension) == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *result = false;
  const Agent* of = find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  const Extension* found = find_extension_of(*of, extension);
  *result = found != nullptr && found->major == version_major && found->minor >= version_minor;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_major_extension_supported(uint16_t extension, hsa_agent_t agent,
                                                 uint16_t version_major, uint16_t* version_minor,
                                                 bool* result) {
  if (result == nullptr || version_minor == nullptr || extension_name(extension) == nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *result = false;
  const Agent* of = find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  const Extension* found = find_extension_of(*of, extension);
  *result = found != nullptr && found->major == version_major;
  if (*result) *version_minor = found->minor;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_isa_from_name(const char* name, hsa_isa_t* isa) {
  if (name == nullptr || isa == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Isa* found = Runtime::current().find_isa(name);
  if (found == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ISA_NAME, "no agent has the ISA '{}'", name);
  *isa = found->handle();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void*),
                                    void* data) {
  const Agent* found = find_agent(agent);
  if (found == nullptr) return no_such_agent(agent);
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Isa* isa : found->isas()) {
    if (const hsa_status_t status = callback(isa->handle(), data); status != HSA_STATUS_SUCCESS)
      return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value) {
  const Isa* found = Runtime::current().find_isa(isa);
  return found == nullptr ? no_such_isa(isa) : found->info(attribute, value);
}

hsa_status_t hsa_isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index, void* value) {
  const Isa* found = Runtime::current().find_isa(isa);
  if (found == nullptr) return no_such_isa(isa);
  // That of a call convention, of which there is one. ROCr wants it to be right for other attributes, too.
  if (index != 0) return HSA_STATUS_ERROR_INVALID_INDEX;
  return found->info(attribute, value);
}

hsa_status_t hsa_isa_get_exception_policies(hsa_isa_t isa, hsa_profile_t profile, uint16_t* mask) {
  const Isa* found = Runtime::current().find_isa(isa);
  return found == nullptr ? no_such_isa(isa) : found->exception_policies(profile, mask);
}

hsa_status_t hsa_isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t fp_type, hsa_flush_mode_t flush_mode,
                                      hsa_round_method_t* round_method) {
  const Isa* found = Runtime::current().find_isa(isa);
  return found == nullptr ? no_such_isa(isa) : found->round_method(fp_type, flush_mode, round_method);
}

hsa_status_t hsa_isa_iterate_wavefronts(hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t, void*),
                                        void* data) {
  const Isa* found = Runtime::current().find_isa(isa);
  if (found == nullptr) return no_such_isa(isa);
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return callback(found->wavefront(), data);
}

hsa_status_t hsa_wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute, void* value) {
  const Isa* found = Runtime::current().find_isa_of(wavefront);
  if (found == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_WAVEFRONT, "{:#x} is no wavefront", wavefront.handle);
  return found->wavefront_info(attribute, value);
}

hsa_status_t hsa_isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa, bool* result) {
  const Isa* code = Runtime::current().find_isa(code_object_isa);
  const Isa* agent = Runtime::current().find_isa(agent_isa);
  if (code == nullptr) return no_such_isa(code_object_isa);
  if (agent == nullptr) return no_such_isa(agent_isa);
  if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *result = code->runs_on(*agent);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type) {
  return Runtime::current().memory().coherency_get_type(agent, type);
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type) {
  return Runtime::current().memory().coherency_set_type(agent, type);
}

hsa_status_t hsa_amd_agent_preload(hsa_agent_t agent, uint64_t flags) {
  const Agent* found = find_agent(agent);
  if (found == nullptr || found->is_cpu())
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no GPU", agent.handle);
  if ((flags & HSA_AMD_AGENT_PRELOAD_SKIP_CLOCK_SYNC) == 0) found->calibrate();
  if ((flags & HSA_AMD_AGENT_PRELOAD_SKIP_BLITS) != 0) return HSA_STATUS_SUCCESS;
  return fill_something(agent);
}

hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold) {
  const Agent* found = find_agent(agent);
  return found == nullptr ? no_such_agent(agent) : found->set_scratch_limit(threshold);
}

}  // namespace rigel::api
