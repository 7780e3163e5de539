// Images, as far as an agent without them can answer: that it has none.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

Status no_capability(hsa_agent_t agent, const hsa_ext_image_format_t* format, uint32_t* mask) {
  if (Runtime::current().find_agent(agent) == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent", agent.handle);
  }
  if (format == nullptr || mask == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *mask = HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t,
                                          const hsa_ext_image_format_t* image_format,
                                          uint32_t* capability_mask) {
  return no_capability(agent, image_format, capability_mask);
}

hsa_status_t hsa_ext_image_get_capability_with_layout(hsa_agent_t agent, hsa_ext_image_geometry_t,
                                                      const hsa_ext_image_format_t* image_format,
                                                      hsa_ext_image_data_layout_t,
                                                      uint32_t* capability_mask) {
  return no_capability(agent, image_format, capability_mask);
}

hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  const Agent* found = Runtime::current().find_agent(agent);
  if (found == nullptr) return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent", agent.handle);
  return found->image_info(static_cast<uint32_t>(attribute), value);
}

}  // namespace rigel::api
