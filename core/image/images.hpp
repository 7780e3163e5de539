// Images and samplers as the HSA API shows them (hsa_ext_image.h): which an agent has, their handles, and
// copies to, from and between them.
//
// Each function is the API function of the same name, without the check that the runtime is open and without
// the catching of exceptions. What a device's images are like, its backend knows; here are the handles and
// the host's part. Any thread may call any of them; a handle may not be destroyed while it is in use.
//
// Copies and clears are done when they return, and happen after what the caller has seen to be done. They
// move rows of bytes, with the device's copy engine where the memory is the device's.
//
// The runtime owns the object and destroys it after the last queue and before the memory. Handles that are
// left end with it.
#pragma once

#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/image/handle_memory.hpp"
#include "core/image/image_box.hpp"
#include "core/topology/agent.hpp"

namespace rigel {

class Images {
 public:
  Images(CopyEngine& copies, HandleMemory::Source memory);
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  Status get_capability(const Agent& agent, hsa_ext_image_geometry_t geometry,
                        const hsa_ext_image_format_t* format, uint32_t* mask) const;

  /// Of either layout. Pitches of an opaque one are 0.
  Status data_get_info(const Agent& agent, const hsa_ext_image_descriptor_t* image,
                       hsa_access_permission_t permission, hsa_ext_image_data_layout_t data_layout,
                       size_t row_pitch, size_t slice_pitch, hsa_ext_image_data_info_t* info) const;
  Status create(const Agent& agent, const hsa_ext_image_descriptor_t* image, const void* data,
                hsa_access_permission_t permission, hsa_ext_image_data_layout_t data_layout, size_t row_pitch,
                size_t slice_pitch, hsa_ext_image_t* handle);
  /// hsa_amd_image_create. Such an image cannot be copied or cleared here unless it lies in rows.
  Status create_foreign(const Agent& agent, const hsa_ext_image_descriptor_t* image,
                        const hsa_amd_image_descriptor_t* layout, const void* data,
                        hsa_access_permission_t permission, hsa_ext_image_t* handle);
  Status destroy(hsa_ext_image_t handle);

  Status import(const void* memory, size_t row_pitch, size_t slice_pitch, hsa_ext_image_t handle,
                const hsa_ext_image_region_t* region);
  Status export_to(hsa_ext_image_t handle, void* memory, size_t row_pitch, size_t slice_pitch,
                   const hsa_ext_image_region_t* region);
  Status copy(hsa_ext_image_t source, const hsa_dim3_t* source_offset, hsa_ext_image_t destination,
              const hsa_dim3_t* destination_offset, const hsa_dim3_t* range);
  Status clear(hsa_ext_image_t handle, const void* value, const hsa_ext_image_region_t* region);

  Status sampler_create(const Agent& agent, const hsa_ext_sampler_descriptor_t* sampler,
                        hsa_ext_sampler_t* handle);
  Status sampler_create_v2(const Agent& agent, const hsa_ext_sampler_descriptor_v2_t* sampler,
                           hsa_ext_sampler_t* handle);
  Status sampler_destroy(hsa_ext_sampler_t handle);

 private:
  struct Image {
    hsa_ext_image_descriptor_t descriptor{};
    hsabe_image_layout_t layout{};
    void* data = nullptr;
  };

  Status publish(const Image& image, const uint32_t* words, hsa_ext_image_t* handle);
  Result<uint32_t*> take(const uint32_t* words, size_t count);
  /// One that lies in rows. INVALID_ARGUMENT: no live image.
  Result<Image> find(hsa_ext_image_t handle) const;
  static Box box_between(const ImageSteps& destination, void* destination_data,
                         const hsa_dim3_t& destination_offset, const ImageSteps& source, void* source_data,
                         const hsa_dim3_t& source_offset, const hsa_dim3_t& range);

  CopyEngine& copies_;
  const HandleMemory::Source source_;
  HandleMemory memory_;

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Image> images_ RIGEL_GUARDED_BY(mutex_);  // by handle
  std::unordered_set<uint64_t> samplers_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
