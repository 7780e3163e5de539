// Images and samplers. Implemented in core/image/images.hpp.
#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"

namespace rigel::api {
hsa_status_t hsa_ext_image_get_capability_with_layout(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                                      const hsa_ext_image_format_t* image_format,
                                                      hsa_ext_image_data_layout_t image_data_layout,
                                                      uint32_t* capability_mask) {
  return images().get_capability(agent, geometry, image_format, capability_mask,
                                 ExplicitLayout{image_data_layout});
}

hsa_status_t hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_data_info_t* image_data_info) {
  return images().data_get_info(
      agent, image_descriptor, access_permission, image_data_info,
      ExplicitLayout{image_data_layout, image_data_row_pitch, image_data_slice_pitch});
}

hsa_status_t hsa_ext_image_create_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor, const void* image_data,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_t* image) {
  return images().create(agent, image_descriptor, image_data, access_permission, image,
                         ExplicitLayout{image_data_layout, image_data_row_pitch, image_data_slice_pitch});
}

hsa_status_t hsa_ext_image_data_get_info_v2(hsa_agent_t agent,
                                            const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                            hsa_access_permission_t access_permission,
                                            hsa_ext_image_data_info_t* image_data_info) {
  return images().data_get_info_v2(agent, image_descriptor, access_permission, image_data_info);
}

hsa_status_t hsa_ext_image_create_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                     const void* image_data, hsa_access_permission_t access_permission,
                                     hsa_ext_image_t* image) {
  return images().create_v2(agent, image_descriptor, image_data, access_permission, image);
}

hsa_status_t hsa_ext_image_destroy_v2(hsa_agent_t agent, hsa_ext_image_t image) {
  return images().destroy(agent, image);
}

hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  return machine().image_get_info_max_dim(agent, attribute, value);
}

}  // namespace rigel::api
