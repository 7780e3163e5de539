// Ioctls about memory that other processes and other drivers share.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "api/support/mutex.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

// The four words of an IPC handle: pid and fd name the file, seal identifies it. The flags of the exporter
// are returned to importers unchanged: recent thunks store HsaMemFlags there, older ones KFD_MEM_.
struct ShareHandle {
  uint32_t pid, fd;
  uint32_t flags;
  uint32_t seal;  // the lower half of the file's nonce, combined with the flags
};
static_assert(sizeof(ShareHandle) == 16);

// Combines half a nonce with the flags; its own inverse.
uint32_t sealed(uint32_t word, uint32_t flags) {
  return word ^ flags * 0x9e3779b1u;
}

// Creates the buffer of an import. It belongs to the importing GPU.
Buffer imported_buffer(std::shared_ptr<MemoryObject> object, uint64_t va, const GpuContext& gpu) {
  Buffer buffer;
  buffer.va = va;
  buffer.va_bytes = object->bytes();
  buffer.flags = (object->flags() & KFD_MEM_KINDS) | KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE;
  buffer.gpu_index = gpu.index();
  buffer.object = std::move(object);
  return buffer;
}

}  // namespace

Errno KfdIoctls::get_dmabuf_info(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_get_dmabuf_info>(call);
  const auto description = MemoryObject::describe(static_cast<int>(a.dmabuf_fd));
  if (!description) return description.error();
  a.size = description->bytes;
  std::vector<std::byte> metadata;
  if (a.metadata_ptr != 0) {
    metadata = process.metadata().find(description->nonce).bytes;
    // If the size is too small, only the required size is returned.
    const uint32_t capacity = std::exchange(a.metadata_size, static_cast<uint32_t>(metadata.size()));
    if (capacity < metadata.size()) return EINVAL;
  }
  a.gpu_id = process.gpu_by_id(description->gpu_id) != nullptr ? description->gpu_id : 0;
  a.flags = description->flags & (KFD_MEM_KINDS | KFD_MEM_PUBLIC);
  return metadata.empty() ? 0 : copy_to_program(a.metadata_ptr, metadata.data(), metadata.size());
}

Errno KfdIoctls::import_dmabuf(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_import_dmabuf>(call);
  const MutexLock lock(process.memory_mutex_);
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  if (!gpu->acquired()) return ENODEV;
  auto object = MemoryObject::import(static_cast<int>(a.dmabuf_fd));
  if (!object) return object.error();
  a.handle = process.add_buffer(imported_buffer(std::move(*object), a.va_addr, *gpu)).handle;
  return 0;
}

Errno KfdIoctls::export_dmabuf(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_export_dmabuf>(call);
  std::shared_ptr<MemoryObject> object;
  {
    const MutexLock lock(process.memory_mutex_);
    const Buffer* const buffer = process.find_buffer(a.handle);
    if (buffer == nullptr) return EINVAL;
    if (buffer->object->kind() == MemoryObject::Kind::kUserptr) return EPERM;
    if (buffer->object->fd() < 0 || buffer->object->kind() > MemoryObject::Kind::kGtt) return EINVAL;
    object = buffer->object;
  }
  const auto fd = process.files_.give_to_program(object->fd(), (a.flags & O_CLOEXEC) != 0);
  if (!fd) return fd.error();
  a.dmabuf_fd = static_cast<uint32_t>(*fd);
  return 0;
}

Errno KfdIoctls::ipc_export(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_ipc_export_handle>(call);
  const MutexLock lock(process.memory_mutex_);
  const Buffer* const buffer = process.find_buffer(a.handle);
  if (buffer == nullptr || process.gpu_by_id(a.gpu_id) == nullptr) return EINVAL;
  if (buffer->object->fd() < 0 || buffer->object->kind() > MemoryObject::Kind::kGtt) return EINVAL;
  const MemoryObject& object = *buffer->object;
  const ShareHandle handle{static_cast<uint32_t>(getpid()), static_cast<uint32_t>(object.fd()), a.flags,
                           sealed(static_cast<uint32_t>(object.nonce()), a.flags)};
  std::copy_n(reinterpret_cast<const uint32_t*>(&handle), 4, a.share_handle);
  return 0;
}

Errno KfdIoctls::ipc_import(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_ipc_import_handle>(call);
  ShareHandle handle{};
  std::copy_n(a.share_handle, 4, reinterpret_cast<uint32_t*>(&handle));
  const MutexLock lock(process.memory_mutex_);
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr || !gpu->acquired()) return EINVAL;
  const uint32_t nonce = sealed(handle.seal, handle.flags);
  const auto file = MemoryObject::open_of_process(handle.pid, handle.fd, nonce);
  if (!file) return file.error();
  auto object = MemoryObject::import(file->get());
  if (!object || static_cast<uint32_t>((*object)->nonce()) != nonce) return EINVAL;
  a.flags = handle.flags;
  const Buffer& added = process.add_buffer(imported_buffer(std::move(*object), a.va_addr, *gpu));
  a.mmap_offset = added.mmap_offset;
  a.handle = added.handle;
  return 0;
}

}  // namespace rigel::vgpu
