// Agents, their caches, ISAs and wavefronts. Implemented in core/topology/machine.hpp.
#include "api/entry/extensions.hpp"
#include "api/entry/functions.hpp"
#include "core/base/query.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

const Machine& machine() {
  return Runtime::current().machine();
}

/// Images are the only extension that not all agents support.
bool has(const Agent& agent, const Extension& extension) {
  return extension.number != HSA_EXTENSION_IMAGES || agent.backend().has_image();
}

const Extension* find_extension_of(const Agent& agent, uint16_t number) {
  const Extension* const found = find_extension(number);
  return found != nullptr && has(agent, *found) ? found : nullptr;
}

}  // namespace

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
  return machine().iterate_agents(callback, data);
}

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  if (attribute != HSA_AGENT_INFO_EXTENSIONS)
    return Runtime::current().agent_get_info(agent, static_cast<uint32_t>(attribute), value);
  const Agent* const of = machine().find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return answer(value, extension_mask([&](const Extension& extension) { return has(*of, extension); }));
}

hsa_status_t hsa_agent_get_exception_policies(hsa_agent_t agent, hsa_profile_t profile, uint16_t* mask) {
  return machine().agent_get_exception_policies(agent, profile, mask);
}

hsa_status_t hsa_agent_iterate_caches(hsa_agent_t agent, hsa_status_t (*callback)(hsa_cache_t, void*),
                                      void* data) {
  return machine().agent_iterate_caches(agent, callback, data);
}

hsa_status_t hsa_cache_get_info(hsa_cache_t cache, hsa_cache_info_t attribute, void* value) {
  return machine().cache_get_info(cache, attribute, value);
}

// The list of extensions is in this directory, and so are the checks against it.

hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent, uint16_t version_major,
                                           uint16_t version_minor, bool* result) {
  if (result == nullptr || extension_name(extension) == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *result = false;
  const Agent* of = machine().find_agent(agent);
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
  const Agent* of = machine().find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  const Extension* found = find_extension_of(*of, extension);
  *result = found != nullptr && found->major == version_major;
  if (*result) *version_minor = found->minor;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_isa_from_name(const char* name, hsa_isa_t* isa) {
  return machine().isa_from_name(name, isa);
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void*),
                                    void* data) {
  return machine().agent_iterate_isas(agent, callback, data);
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value) {
  return machine().isa_get_info_alt(isa, attribute, value);
}

hsa_status_t hsa_isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index, void* value) {
  return machine().isa_get_info(isa, attribute, index, value);
}

hsa_status_t hsa_isa_get_exception_policies(hsa_isa_t isa, hsa_profile_t profile, uint16_t* mask) {
  return machine().isa_get_exception_policies(isa, profile, mask);
}

hsa_status_t hsa_isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t fp_type, hsa_flush_mode_t flush_mode,
                                      hsa_round_method_t* round_method) {
  return machine().isa_get_round_method(isa, fp_type, flush_mode, round_method);
}

hsa_status_t hsa_isa_iterate_wavefronts(hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t, void*),
                                        void* data) {
  return machine().isa_iterate_wavefronts(isa, callback, data);
}

hsa_status_t hsa_wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute, void* value) {
  return machine().wavefront_get_info(wavefront, attribute, value);
}

hsa_status_t hsa_isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa, bool* result) {
  return machine().isa_compatible(code_object_isa, agent_isa, result);
}

hsa_status_t hsa_amd_coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type) {
  return Runtime::current().machine().directory().coherency_get_type(agent, type);
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type) {
  return Runtime::current().machine().directory().coherency_set_type(agent, type);
}

hsa_status_t hsa_amd_agent_preload(hsa_agent_t agent, uint64_t flags) {
  return Runtime::current().agent_preload(agent, flags);
}

hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold) {
  return machine().agent_set_async_scratch_limit(agent, threshold);
}

}  // namespace rigel::api
