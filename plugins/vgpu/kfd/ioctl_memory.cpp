// Ioctls about buffers: allocate, free, map, unmap.
#include <algorithm>
#include <cerrno>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

using Kind = MemoryObject::Kind;
using ObjectOr = ErrnoOr<std::shared_ptr<MemoryObject>>;

ObjectOr make_object(Process& process, GpuContext& gpu, const kfd_alloc_memory& a, uint64_t bytes)
    RIGEL_REQUIRES(process.memory_mutex()) {
  // If several kinds are requested, the driver uses the lowest bit.
  switch (a.flags & KFD_MEM_KINDS & (0 - a.flags)) {
    case KFD_MEM_VRAM:
      if (!Process::vram_has_room(gpu, bytes)) return tl::unexpected(ENOMEM);
      return MemoryObject::allocate(Kind::kVram, bytes, a.flags, gpu.index(), gpu.gpu().gpu_id);
    case KFD_MEM_GTT:
      if (!process.host_has_room(Kind::kGtt, bytes)) return tl::unexpected(ENOMEM);
      return MemoryObject::allocate(Kind::kGtt, bytes, a.flags, gpu.index(), gpu.gpu().gpu_id);
    case KFD_MEM_USERPTR:
      if (a.mmap_offset == 0 || a.mmap_offset % kPageBytes != 0) return tl::unexpected(EINVAL);
      if (!process.host_has_room(Kind::kUserptr, bytes)) return tl::unexpected(ENOMEM);
      if (!program_has(a.mmap_offset, bytes)) return tl::unexpected(EFAULT);
      return MemoryObject::of_program(reinterpret_cast<std::byte*>(a.mmap_offset), bytes, a.flags,
                                      gpu.index(), gpu.gpu().gpu_id);
    case KFD_MEM_DOORBELL:
      return gpu.doorbells();
    case KFD_MEM_MMIO_REMAP:
      return gpu.mmio_page();
    default:
      return tl::unexpected(EINVAL);
  }
}

}  // namespace

Errno KfdIoctls::alloc_memory(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_alloc_memory>(call);
  if (a.size == 0) return EINVAL;
  a.flags &= ~MemoryObject::kNoHostAccess;  // bits without a meaning are ignored
  const MutexLock lock(process.memory_mutex_);
  const auto is_shared = [&](uint64_t address) {
    process.forget_unreadable(address, a.size);
    return process.svm_.overlaps(address / kPageBytes, (address + a.size - 1) / kPageBytes + 1);
  };
  const bool needs_no_address = a.va_addr == 0 && (a.flags & KFD_MEM_VRAM) != 0;
  if (!needs_no_address && is_shared(a.va_addr)) return EADDRINUSE;
  if ((a.flags & KFD_MEM_USERPTR) != 0 && is_shared(a.mmap_offset)) return EADDRINUSE;
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  constexpr uint32_t kVisible = KFD_MEM_VRAM | KFD_MEM_PUBLIC;
  if ((a.flags & kVisible) == kVisible && !gpu->gpu().large_bar) return EINVAL;
  if (!gpu->acquired()) return ENODEV;
  // Checked also if another kind is requested too and wins.
  if ((a.flags & KFD_MEM_DOORBELL) != 0) {
    if (a.size != gpu->gpu().board.doorbell_slice_bytes()) return EINVAL;
  } else if ((a.flags & KFD_MEM_MMIO_REMAP) != 0) {
    if (a.size != kPageBytes) return EINVAL;
    if (!gpu->gpu().board.driver().has_remapped_registers) return ENOMEM;
  }

  Buffer buffer;
  buffer.va = a.va_addr;
  buffer.flags = a.flags;
  buffer.gpu_index = gpu->index();
  // The ring of a gfx8 AQL queue: memory of half the size, mapped twice in a row on GPUs.
  const uint64_t bytes = page_up(buffer.double_mapped() ? a.size / 2 : a.size);
  if (bytes == 0) return a.size == 1 ? EINVAL : ENOMEM;
  buffer.va_bytes = buffer.double_mapped() ? bytes * 2 : bytes;
  auto object = make_object(process, *gpu, a, bytes);
  if (!object) return object.error();
  buffer.object = std::move(*object);

  switch (buffer.object->kind()) {
    case Kind::kDoorbell:
      // An offset in the render node, as for other memory, although it cannot be mapped there: doorbells are
      // mapped at the offset that CREATE_QUEUE returns.
      a.mmap_offset = process.make_mmap_offset(buffer.object);
      process.drop_mmap_offset(a.mmap_offset);
      break;
    case Kind::kMmio:
      a.mmap_offset = KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(a.gpu_id);
      break;
    default:
      break;
  }
  const Buffer& added = process.add_buffer(std::move(buffer));
  if (added.mmap_offset != 0) a.mmap_offset = added.mmap_offset;
  a.handle = added.handle;
  return 0;
}

Errno KfdIoctls::free_memory(Process& process, const IoctlCall& call) {
  const uint64_t handle = args<kfd_free_memory>(call).handle;
  const MutexLock lock(process.memory_mutex_);
  if (handle != 0 && handle == process.event_page_handle_) return EPERM;
  Buffer* const buffer = process.find_buffer(handle);
  if (buffer == nullptr) return EINVAL;
  if (buffer->mapped.any()) return EBUSY;
  process.release_buffer(*buffer);
  return 0;
}

Errno KfdIoctls::change_mapping(Process& process, kfd_map_memory& a, bool map) {
  constexpr uint32_t kMaxDevices = 1u << 20;  // the limit of kmalloc
  if (a.n_devices == 0 || a.n_success > a.n_devices) return EINVAL;
  if (a.n_devices > kMaxDevices) return ENOMEM;
  const auto ids = array_from_program<uint32_t>(a.device_ids_array_ptr, a.n_devices);
  if (!ids) return ids.error();
  const MutexLock lock(process.memory_mutex_);
  const GpuContext* const owner = process.gpu_by_id(static_cast<uint32_t>(a.handle >> 32));
  if (owner == nullptr) return EINVAL;
  if (map && !owner->acquired()) return ENODEV;
  Buffer* const buffer = process.find_buffer(a.handle);
  if (buffer == nullptr) return ENOMEM;
  while (a.n_success < a.n_devices) {
    GpuContext* const gpu = process.gpu_by_id((*ids)[a.n_success]);
    if (gpu == nullptr) return EINVAL;
    if (map && !gpu->acquired()) return ENODEV;
    if (!map && !buffer->mapped.test(gpu->index())) return EINVAL;
    if (!map && buffer->queue_uses.contains(gpu->index())) return EBUSY;
    if (map) {
      if (const Errno error = process.map_buffer(*buffer, *gpu); error != 0) return error;
    } else {
      process.unmap_buffer(*buffer, *gpu);
    }
    ++a.n_success;
  }
  return 0;
}

Errno KfdIoctls::map_memory(Process& process, const IoctlCall& call) {
  return change_mapping(process, args<kfd_map_memory>(call), true);
}

Errno KfdIoctls::unmap_memory(Process& process, const IoctlCall& call) {
  return change_mapping(process, args<kfd_map_memory>(call), false);
}

Errno KfdIoctls::available_memory(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_available_memory>(call);
  const MutexLock lock(process.memory_mutex_);
  const GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  a.available = gpu->gpu().vram_bytes - gpu->vram_used;
  return 0;
}

}  // namespace rigel::vgpu
