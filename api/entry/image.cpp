// Images and samplers. Implemented in core/image/images.hpp.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

Images& images() {
  return Runtime::current().images();
}

}  // namespace

hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                          const hsa_ext_image_format_t* image_format,
                                          uint32_t* capability_mask) {
  return images().get_capability(agent, geometry, image_format, capability_mask);
}

hsa_status_t hsa_ext_image_get_capability_with_layout(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                                      const hsa_ext_image_format_t* image_format,
                                                      hsa_ext_image_data_layout_t image_data_layout,
                                                      uint32_t* capability_mask) {
  return images().get_capability(agent, geometry, image_format, capability_mask,
                                 ExplicitLayout{image_data_layout});
}

hsa_status_t hsa_ext_image_data_get_info(hsa_agent_t agent,
                                         const hsa_ext_image_descriptor_t* image_descriptor,
                                         hsa_access_permission_t access_permission,
                                         hsa_ext_image_data_info_t* image_data_info) {
  return images().data_get_info(agent, image_descriptor, access_permission, image_data_info);
}

hsa_status_t hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_data_info_t* image_data_info) {
  return images().data_get_info(
      agent, image_descriptor, access_permission, image_data_info,
      ExplicitLayout{image_data_layout, image_data_row_pitch, image_data_slice_pitch});
}

hsa_status_t hsa_ext_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
                                  const void* image_data, hsa_access_permission_t access_permission,
                                  hsa_ext_image_t* image) {
  return images().create(agent, image_descriptor, image_data, access_permission, image);
}

hsa_status_t hsa_ext_image_create_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor, const void* image_data,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_t* image) {
  return images().create(agent, image_descriptor, image_data, access_permission, image,
                         ExplicitLayout{image_data_layout, image_data_row_pitch, image_data_slice_pitch});
}

hsa_status_t hsa_amd_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
                                  const hsa_amd_image_descriptor_t* image_layout, const void* image_data,
                                  hsa_access_permission_t access_permission, hsa_ext_image_t* image) {
  return images().create_foreign(agent, image_descriptor, image_layout, image_data, access_permission, image);
}

hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t image) {
  return images().destroy(agent, image);
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

hsa_status_t hsa_amd_image_create_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                     const hsa_amd_image_descriptor_t* image_layout, const void* image_data,
                                     hsa_access_permission_t access_permission, hsa_ext_image_t* image) {
  return images().create_foreign_v2(agent, image_descriptor, image_layout, image_data, access_permission,
                                    image);
}

hsa_status_t hsa_ext_image_destroy_v2(hsa_agent_t agent, hsa_ext_image_t image) {
  return images().destroy(agent, image);
}

hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void* src_memory, size_t src_row_pitch,
                                  size_t src_slice_pitch, hsa_ext_image_t dst_image,
                                  const hsa_ext_image_region_t* image_region) {
  return images().import(agent, src_memory, src_row_pitch, src_slice_pitch, dst_image, image_region);
}

hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t src_image, void* dst_memory,
                                  size_t dst_row_pitch, size_t dst_slice_pitch,
                                  const hsa_ext_image_region_t* image_region) {
  return images().export_to(agent, src_image, dst_memory, dst_row_pitch, dst_slice_pitch, image_region);
}

hsa_status_t hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t src_image, const hsa_dim3_t* src_offset,
                                hsa_ext_image_t dst_image, const hsa_dim3_t* dst_offset,
                                const hsa_dim3_t* range) {
  return images().copy(agent, src_image, src_offset, dst_image, dst_offset, range);
}

hsa_status_t hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t image, const void* data,
                                 const hsa_ext_image_region_t* image_region) {
  return images().clear(agent, image, data, image_region);
}

hsa_status_t hsa_ext_sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t* sampler_descriptor,
                                    hsa_ext_sampler_t* sampler) {
  return images().sampler_create(agent, sampler_descriptor, sampler);
}

hsa_status_t hsa_ext_sampler_create_v2(hsa_agent_t agent,
                                       const hsa_ext_sampler_descriptor_v2_t* sampler_descriptor,
                                       hsa_ext_sampler_t* sampler) {
  return images().sampler_create_v2(agent, sampler_descriptor, sampler);
}

hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler) {
  return images().sampler_destroy(agent, sampler);
}

hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  return Runtime::current().machine().image_get_info_max_dim(agent, attribute, value);
}

}  // namespace rigel::api
