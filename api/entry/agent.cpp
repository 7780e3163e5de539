// Agents, their caches, ISAs and wavefronts. Implemented in core/topology/machine.hpp.
#include "api/entry/extensions.hpp"
#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"
#include "api/support/query.hpp"

namespace rigel::api {
namespace {

/// Whether the agent's backend or driver provides what the extension needs.
bool has(const Agent& agent, const Extension& extension) {
  switch (extension.number) {
    case HSA_EXTENSION_IMAGES:
      return agent.backend().has_image();
    case HSA_EXTENSION_AMD_AQLPROFILE:
      return agent.backend().has_counters();
    case HSA_EXTENSION_AMD_PC_SAMPLING:
      return pc_sampling_service().supports(agent);
    default:
      return true;
  }
}

const Extension* find_extension_of(const Agent& agent, uint16_t number) {
  const Extension* const found = find_extension(number);
  return found != nullptr && has(agent, *found) ? found : nullptr;
}

}  // namespace

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  if (attribute != HSA_AGENT_INFO_EXTENSIONS)
    return Runtime::current().agent_get_info(agent, static_cast<uint32_t>(attribute), value);
  const Agent* const of = machine().find_agent(agent);
  if (of == nullptr) return no_such_agent(agent);
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return answer(value, extension_mask([&](const Extension& extension) { return has(*of, extension); }));
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

}  // namespace rigel::api
