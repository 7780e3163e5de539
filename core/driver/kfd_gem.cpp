// Buffers of the render nodes, for mapping memory in pieces.
#include <amdgpu_drm.h>
#include <drm.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "core/driver/kfd.hpp"

namespace rigel {
namespace {

template <class T>
int drm(const Kfd& kfd, const KfdGpu& gpu, uint64_t request, T& arguments) {
  return kfd.transport().ioctl(gpu.render_fd, request, &arguments);
}

}  // namespace

Result<uint64_t> Kfd::allocate_unplaced(const KfdGpu& gpu, uint32_t flags, uint64_t size) const {
  kfd_alloc_memory arguments{};
  arguments.size = size;
  arguments.gpu_id = gpu.gpu_id;
  arguments.flags = flags;
  return alloc_object(arguments);
}

Result<uint32_t> Kfd::gem_import(const KfdGpu& gpu, int dmabuf) const {
  drm_prime_handle arguments{};
  arguments.fd = dmabuf;
  if (const int problem = drm(*this, gpu, DRM_IOCTL_PRIME_FD_TO_HANDLE, arguments); problem != 0) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "DRM_IOCTL_PRIME_FD_TO_HANDLE: failed: {}",
                std::strerror(-problem));
  }
  return arguments.handle;
}

void Kfd::gem_close(const KfdGpu& gpu, uint32_t gem) const {
  drm_gem_close arguments{};
  arguments.handle = gem;
  if (const int problem = drm(*this, gpu, DRM_IOCTL_GEM_CLOSE, arguments); problem != 0) {
    log_message(LogLevel::kWarn, LogTopic::kMemory, "DRM_IOCTL_GEM_CLOSE: failed: {}",
                std::strerror(-problem));
  }
}

Result<int> Kfd::gem_export(const KfdGpu& gpu, uint32_t gem) const {
  drm_prime_handle arguments{};
  arguments.handle = gem;
  arguments.flags = DRM_CLOEXEC | DRM_RDWR;
  if (const int problem = drm(*this, gpu, DRM_IOCTL_PRIME_HANDLE_TO_FD, arguments); problem != 0) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "DRM_IOCTL_PRIME_HANDLE_TO_FD: failed: {}",
                std::strerror(-problem));
  }
  return arguments.fd;
}

Status Kfd::gem_map(const KfdGpu& gpu, uint32_t gem, const void* address, uint64_t size,
                    bool writable) const {
  drm_amdgpu_gem_va arguments{};
  arguments.handle = gem;
  arguments.operation = AMDGPU_VA_OP_REPLACE;
  arguments.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_EXECUTABLE;
  if (writable) arguments.flags |= AMDGPU_VM_PAGE_WRITEABLE;
  arguments.va_address = reinterpret_cast<uint64_t>(address);
  arguments.map_size = size;
  const int problem = drm(*this, gpu, DRM_IOCTL_AMDGPU_GEM_VA, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "DRM_IOCTL_AMDGPU_GEM_VA: mapping {} bytes at {} failed: {}",
              size, address, std::strerror(-problem));
}

void Kfd::gem_unmap(const KfdGpu& gpu, uint32_t gem, const void* address, uint64_t size) const {
  drm_amdgpu_gem_va arguments{};
  arguments.handle = gem;
  arguments.operation = AMDGPU_VA_OP_UNMAP;
  arguments.va_address = reinterpret_cast<uint64_t>(address);
  arguments.map_size = size;
  if (const int problem = drm(*this, gpu, DRM_IOCTL_AMDGPU_GEM_VA, arguments); problem != 0) {
    log_message(LogLevel::kWarn, LogTopic::kMemory,
                "DRM_IOCTL_AMDGPU_GEM_VA: unmapping {} bytes at {} failed: {}", size, address,
                std::strerror(-problem));
  }
}

bool Kfd::gem_show(const KfdGpu& gpu, uint32_t gem, void* address, uint64_t size, int protection) const {
  drm_amdgpu_gem_mmap arguments{};
  arguments.in.handle = gem;
  if (drm(*this, gpu, DRM_IOCTL_AMDGPU_GEM_MMAP, arguments) != 0) return false;
  return transport_->mmap_buffer(address, size, protection, gpu.render_fd, arguments.out.addr_ptr) != nullptr;
}

}  // namespace rigel
