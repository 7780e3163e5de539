// Images and samplers as the HSA API shows them (hsa_ext_image.h): which an agent has, their handles, and
// copies to, from and between them.
//
// Each function is the API function of the same name, with its checks of arguments, but without the check that
// the runtime is open and the catching of exceptions. What a device's images are like, its backend knows; here are the handles and
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
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/image/handle_memory.hpp"
#include "core/image/image_box.hpp"
#include "core/topology/machine.hpp"

namespace rigel {

/// How an image's data lie where the caller says it, and not the device.
struct ExplicitLayout {
  hsa_ext_image_data_layout_t kind{};  ///< LINEAR; any other is refused
  size_t row_pitch = 0, slice_pitch = 0;
};

class Images {
 public:
  Images(const Machine& machine, CopyEngine& copies, HandleMemory::Source memory);
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  // Those with a layout are the functions *_with_layout.

  Status get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                        const hsa_ext_image_format_t* format, uint32_t* mask,
                        std::optional<ExplicitLayout> layout = {}) const;
  Status data_get_info(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image,
                       hsa_access_permission_t permission, hsa_ext_image_data_info_t* info,
                       std::optional<ExplicitLayout> layout = {}) const;
  Status create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image, const void* data,
                hsa_access_permission_t permission, hsa_ext_image_t* handle,
                std::optional<ExplicitLayout> layout = {});
  /// hsa_amd_image_create. Such an image cannot be copied or cleared here unless it lies in rows.
  Status create_foreign(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image,
                        const hsa_amd_image_descriptor_t* layout, const void* data,
                        hsa_access_permission_t permission, hsa_ext_image_t* handle);
  Status destroy(hsa_agent_t agent, hsa_ext_image_t handle);

  // Of images with levels. Agents have images of one only.

  Status data_get_info_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image,
                          hsa_access_permission_t permission, hsa_ext_image_data_info_t* info) const;
  Status create_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image, const void* data,
                   hsa_access_permission_t permission, hsa_ext_image_t* handle);
  Status create_foreign_v2(hsa_agent_t agent, const hsa_ext_image_descriptor_v2_t* image,
                           const hsa_amd_image_descriptor_t* layout, const void* data,
                           hsa_access_permission_t permission, hsa_ext_image_t* handle);

  Status import(hsa_agent_t agent, const void* memory, size_t row_pitch, size_t slice_pitch,
                hsa_ext_image_t handle, const hsa_ext_image_region_t* region);
  Status export_to(hsa_agent_t agent, hsa_ext_image_t handle, void* memory, size_t row_pitch,
                   size_t slice_pitch, const hsa_ext_image_region_t* region);
  Status copy(hsa_agent_t agent, hsa_ext_image_t source, const hsa_dim3_t* source_offset,
              hsa_ext_image_t destination, const hsa_dim3_t* destination_offset, const hsa_dim3_t* range);
  Status clear(hsa_agent_t agent, hsa_ext_image_t handle, const void* value,
               const hsa_ext_image_region_t* region);

  Status sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t* sampler,
                        hsa_ext_sampler_t* handle);
  Status sampler_create_v2(hsa_agent_t agent, const hsa_ext_sampler_descriptor_v2_t* sampler,
                           hsa_ext_sampler_t* handle);
  Status sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t handle);

 private:
  struct Image {
    hsa_ext_image_descriptor_t descriptor{};
    hsabe_image_layout_t layout{};
    void* data = nullptr;
  };

  Status make_sampler(const Agent& agent, const hsa_ext_sampler_descriptor_v2_t& sampler,
                      hsa_ext_sampler_t* handle);
  Status publish(const Image& image, const uint32_t* words, hsa_ext_image_t* handle);
  struct GiveBack {
    HandleMemory& memory;
    void operator()(uint32_t* slot) const noexcept { memory.give(slot); }
  };
  /// A handle that is nobody's yet.
  using Slot = std::unique_ptr<uint32_t, GiveBack>;
  Result<Slot> take(const uint32_t* words, size_t count);
  /// One that lies in rows. INVALID_ARGUMENT: no live image.
  Result<Image> find(hsa_ext_image_t handle) const;
  static Box box_between(const ImageSteps& destination, void* destination_data,
                         const hsa_dim3_t& destination_offset, const ImageSteps& source, void* source_data,
                         const hsa_dim3_t& source_offset, const hsa_dim3_t& range);

  const Machine& machine_;
  CopyEngine& copies_;
  const HandleMemory::Source source_;
  HandleMemory memory_;

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Image> images_ RIGEL_GUARDED_BY(mutex_);  // by handle
  std::unordered_set<uint64_t> samplers_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
