// Images and samplers of the HSA API (hsa_ext_image.h): capabilities of agents, handles, and copies to, from
// and between images.
//
// Each function implements the API function of the same name with its checks of arguments. The exported
// function checks that the runtime is open and catches exceptions. A device's backend implements its images;
// handles and the host's part are here.
//
// *Threads:* any thread; a handle must not be destroyed while it is in use.
// *Memory order:* copies and clears are complete when they return, and happen after operations whose
// completion the caller has seen. They move rows of bytes, with the device's copy engine if the memory is the
// device's.
// *Lifetime:* owned by the runtime, destroyed after the last queue and before the memory. Remaining handles
// become invalid.
#pragma once

#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/image/handle_memory.hpp"
#include "core/image/image_box.hpp"
#include "core/topology/machine.hpp"

namespace rigel {

/// Layout of an image's data that the caller specifies.
struct ExplicitLayout {
  hsa_ext_image_data_layout_t kind{};  ///< LINEAR; others are rejected
  size_t row_pitch = 0, slice_pitch = 0;
};

class Images {
 public:
  Images(const Machine& machine, CopyEngine& copies, HandleMemory::Source memory);
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  // Overloads with a layout are the functions *_with_layout.

  Status get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                        const hsa_ext_image_format_t* format, uint32_t* mask,
                        std::optional<ExplicitLayout> layout = {}) const;
  Status data_get_info(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image,
                       hsa_access_permission_t permission, hsa_ext_image_data_info_t* info,
                       std::optional<ExplicitLayout> layout = {}) const;
  Status create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image, const void* data,
                hsa_access_permission_t permission, hsa_ext_image_t* handle,
                std::optional<ExplicitLayout> layout = {});
  /// hsa_amd_image_create. Such an image can be copied and cleared here only if it consists of rows.
  Status create_foreign(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image,
                        const hsa_amd_image_descriptor_t* layout, const void* data,
                        hsa_access_permission_t permission, hsa_ext_image_t* handle);
  Status destroy(hsa_agent_t agent, hsa_ext_image_t handle);

  // Images with levels: agents support one level only.

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
  /// A handle without an owner.
  using Slot = std::unique_ptr<uint32_t, GiveBack>;
  Result<Slot> take(const uint32_t* words, size_t count);
  /// Returns an image that consists of rows. INVALID_ARGUMENT for a handle that is not live.
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
