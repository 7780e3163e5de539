// Images and samplers: the work is in core/image.
#include <algorithm>
#include <bit>

#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

Images& images() {
  return Runtime::current().images();
}

/// Calls `function` with the agent of a handle, if it is one.
template <class Function>
hsa_status_t with_agent(hsa_agent_t handle, Function function) {
  const Agent* const agent = Runtime::current().machine().find_agent(handle);
  if (agent == nullptr) return fail(HSA_STATUS_ERROR_INVALID_AGENT, "{:#x} is no agent", handle.handle);
  return function(*agent);
}

/// The descriptor without its levels, of which agents have one.
Result<hsa_ext_image_descriptor_t> one_level(const hsa_ext_image_descriptor_v2_t* image) {
  if (image == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the descriptor of an image is NULL");
  if (image->mipmap_levels > 1) {
    const size_t largest = std::max({image->width, image->height, image->depth});
    if (image->mipmap_levels > static_cast<size_t>(std::bit_width(largest))) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  "an image of at most {} elements along an axis has no {} levels", largest,
                  image->mipmap_levels);
    }
    return fail(static_cast<Status>(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED),
                "no agent has images of more than one level");
  }
  return hsa_ext_image_descriptor_t{image->geometry, image->width,      image->height,
                                    image->depth,    image->array_size, image->format};
}

hsa_status_t not_explicit(hsa_ext_image_data_layout_t layout) {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} is no explicit layout", static_cast<uint32_t>(layout));
}

}  // namespace

hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                          const hsa_ext_image_format_t* image_format,
                                          uint32_t* capability_mask) {
  return with_agent(agent, [&](const Agent& of) {
    return images().get_capability(of, geometry, image_format, capability_mask);
  });
}

hsa_status_t hsa_ext_image_get_capability_with_layout(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                                      const hsa_ext_image_format_t* image_format,
                                                      hsa_ext_image_data_layout_t image_data_layout,
                                                      uint32_t* capability_mask) {
  return with_agent(agent, [&](const Agent& of) {
    if (image_data_layout != HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR) return not_explicit(image_data_layout);
    return images().get_capability(of, geometry, image_format, capability_mask);
  });
}

hsa_status_t hsa_ext_image_data_get_info(hsa_agent_t agent,
                                         const hsa_ext_image_descriptor_t* image_descriptor,
                                         hsa_access_permission_t access_permission,
                                         hsa_ext_image_data_info_t* image_data_info) {
  return with_agent(agent, [&](const Agent& of) {
    return images().data_get_info(of, image_descriptor, access_permission, HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE,
                                  0, 0, image_data_info);
  });
}

hsa_status_t hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_data_info_t* image_data_info) {
  return with_agent(agent, [&](const Agent& of) {
    if (image_data_layout != HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR) return not_explicit(image_data_layout);
    return images().data_get_info(of, image_descriptor, access_permission, image_data_layout,
                                  image_data_row_pitch, image_data_slice_pitch, image_data_info);
  });
}

hsa_status_t hsa_ext_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
                                  const void* image_data, hsa_access_permission_t access_permission,
                                  hsa_ext_image_t* image) {
  return with_agent(agent, [&](const Agent& of) {
    return images().create(of, image_descriptor, image_data, access_permission,
                           HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, image);
  });
}

hsa_status_t hsa_ext_image_create_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor, const void* image_data,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_t* image) {
  return with_agent(agent, [&](const Agent& of) {
    if (image_data_layout != HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR) return not_explicit(image_data_layout);
    return images().create(of, image_descriptor, image_data, access_permission, image_data_layout,
                           image_data_row_pitch, image_data_slice_pitch, image);
  });
}

hsa_status_t hsa_amd_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
                                  const hsa_amd_image_descriptor_t* image_layout, const void* image_data,
                                  hsa_access_permission_t access_permission, hsa_ext_image_t* image) {
  return with_agent(agent, [&](const Agent& of) {
    return images().create_foreign(of, image_descriptor, image_layout, image_data, access_permission, image);
  });
}

hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t image) {
  return with_agent(agent, [&](const Agent&) { return images().destroy(image); });
}

hsa_status_t hsa_ext_image_data_get_info_v2(hsa_agent_t agent,
                                            const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                            hsa_access_permission_t access_permission,
                                            hsa_ext_image_data_info_t* image_data_info) {
  const auto image = one_level(image_descriptor);
  return image ? api::hsa_ext_image_data_get_info(agent, &*image, access_permission, image_data_info)
               : image.error();
}

hsa_status_t hsa_ext_image_create_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                     const void* image_data, hsa_access_permission_t access_permission,
                                     hsa_ext_image_t* image) {
  const auto plain = one_level(image_descriptor);
  return plain ? api::hsa_ext_image_create(agent, &*plain, image_data, access_permission, image)
               : plain.error();
}

hsa_status_t hsa_amd_image_create_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                     const hsa_amd_image_descriptor_t* image_layout, const void* image_data,
                                     hsa_access_permission_t access_permission, hsa_ext_image_t* image) {
  const auto plain = one_level(image_descriptor);
  return plain ? api::hsa_amd_image_create(agent, &*plain, image_layout, image_data, access_permission, image)
               : plain.error();
}

hsa_status_t hsa_ext_image_destroy_v2(hsa_agent_t agent, hsa_ext_image_t image) {
  return api::hsa_ext_image_destroy(agent, image);
}

// No image has more than one level, so none is an array of them.
hsa_status_t hsa_ext_image_mipmap_array_get_level(hsa_agent_t agent, const hsa_ext_image_t* mipmapped_array,
                                                  uint32_t, const hsa_ext_image_descriptor_v2_t*,
                                                  hsa_ext_image_t* level_image_out) {
  return with_agent(agent, [&](const Agent&) -> hsa_status_t {
    if (mipmapped_array == nullptr || level_image_out == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the image {:#x} has no levels", mipmapped_array->handle);
  });
}

hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void* src_memory, size_t src_row_pitch,
                                  size_t src_slice_pitch, hsa_ext_image_t dst_image,
                                  const hsa_ext_image_region_t* image_region) {
  return with_agent(agent, [&](const Agent&) {
    return images().import(src_memory, src_row_pitch, src_slice_pitch, dst_image, image_region);
  });
}

hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t src_image, void* dst_memory,
                                  size_t dst_row_pitch, size_t dst_slice_pitch,
                                  const hsa_ext_image_region_t* image_region) {
  return with_agent(agent, [&](const Agent&) {
    return images().export_to(src_image, dst_memory, dst_row_pitch, dst_slice_pitch, image_region);
  });
}

hsa_status_t hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t src_image, const hsa_dim3_t* src_offset,
                                hsa_ext_image_t dst_image, const hsa_dim3_t* dst_offset,
                                const hsa_dim3_t* range) {
  return with_agent(agent, [&](const Agent&) {
    return images().copy(src_image, src_offset, dst_image, dst_offset, range);
  });
}

hsa_status_t hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t image, const void* data,
                                 const hsa_ext_image_region_t* image_region) {
  return with_agent(agent, [&](const Agent&) { return images().clear(image, data, image_region); });
}

hsa_status_t hsa_ext_sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t* sampler_descriptor,
                                    hsa_ext_sampler_t* sampler) {
  return with_agent(
      agent, [&](const Agent& of) { return images().sampler_create(of, sampler_descriptor, sampler); });
}

hsa_status_t hsa_ext_sampler_create_v2(hsa_agent_t agent,
                                       const hsa_ext_sampler_descriptor_v2_t* sampler_descriptor,
                                       hsa_ext_sampler_t* sampler) {
  if (sampler_descriptor == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  // Until 2025 there was no third word, and the modes of addresses began there. Modes that are no filter tell.
  const uint32_t third = sampler_descriptor->mipmap_filter_mode;
  hsa_ext_sampler_descriptor_v2_t descriptor{sampler_descriptor->coordinate_mode,
                                             sampler_descriptor->filter_mode,
                                             HSA_EXT_SAMPLER_FILTER_MODE_NONE,
                                             {third, 0, 0}};
  if (third > HSA_EXT_SAMPLER_FILTER_MODE_NONE) {
    std::copy_n(sampler_descriptor->address_modes, 2, descriptor.address_modes + 1);
  } else {
    descriptor = *sampler_descriptor;
  }
  return with_agent(agent,
                    [&](const Agent& of) { return images().sampler_create_v2(of, &descriptor, sampler); });
}

hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler) {
  return with_agent(agent, [&](const Agent&) { return images().sampler_destroy(sampler); });
}

hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  return with_agent(agent,
                    [&](const Agent& of) { return of.image_info(static_cast<uint32_t>(attribute), value); });
}

}  // namespace rigel::api
