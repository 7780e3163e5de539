// An open DRM node of amdgpu, a render node or a card. Implements the DRM ioctls that libdrm and
// libdrm_amdgpu issue for ROCm (identity, buffers, address space, sharing), not those for graphics. Cards
// have no display; every file that opens one is its master.
//
// Threads: ioctl() from any thread. A separate lock guards the handles; the process's memory lock is taken
// inside it.
// Ownership: a buffer lives until its handle is closed and no other object refers to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/kfd/buffer_metadata.hpp"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/process.hpp"

namespace rigel::vgpu {

class RenderNode;

struct DrmIoctlEntry {
  uint32_t number;
  std::string_view name;
  uint32_t bytes;
  Faithful faithful;
  std::string_view note;
  Errno (*run)(RenderNode&, void* arguments);
};

std::span<const DrmIoctlEntry> drm_ioctls();

class RenderNode {
 public:
  /// `minor`: of the card or of the render node of an existing GPU.
  RenderNode(Process& process, uint32_t minor, uint64_t file_id, OpenFiles& files);
  ~RenderNode();
  RenderNode(const RenderNode&) = delete;
  RenderNode& operator=(const RenderNode&) = delete;

  uint32_t gpu_index() const { return gpu_index_; }
  uint64_t file_id() const { return file_id_; }

  /// Returns 0 or a negated error number.
  int ioctl(uint64_t request, void* argument);

 private:
  friend struct DrmIoctls;
  struct VaMapping {
    uint64_t va, bytes;
  };
  struct Gem {
    std::shared_ptr<MemoryObject> object;
    uint64_t domains = 0;
    uint64_t domain_flags = 0;
    uint64_t alignment = 0;
    uint64_t mmap_offset = 0;
    std::shared_ptr<BufferMetadataTable::Entry> metadata;
    std::vector<VaMapping> mappings;
    bool counted = false;  // included in the GPU's vram_used
  };
  void close_gem(Gem& gem);
  uint32_t add_gem(Gem gem) RIGEL_REQUIRES(mutex_);

  Process& process_;
  OpenFiles& files_;
  const uint32_t gpu_index_;
  const bool card_;
  const uint64_t file_id_;
  std::atomic<bool> has_bus_id_{false};  // whether GET_UNIQUE returns a bus id
  Mutex mutex_;
  std::map<uint32_t, Gem> gems_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
