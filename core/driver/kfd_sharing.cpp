// Sharing memory with other processes and drivers.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <hsa/hsa_ext_amd.h>

#include "core/driver/kfd.hpp"

namespace rigel {
namespace {

Failure refused(int negated_errno, const char* what) {
  Status status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (negated_errno == -ENOTTY || negated_errno == -EOPNOTSUPP)
    status = Status(HSA_STATUS_ERROR_NOT_SUPPORTED);
  if (negated_errno == -EINVAL || negated_errno == -EBADF || negated_errno == -ENOENT) {
    status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return fail(status, "{}: {}", what, std::strerror(-negated_errno));
}

}  // namespace

Result<int> Kfd::export_dmabuf(uint64_t handle) const {
  if (!exports_dmabufs()) {
    return fail(Status(HSA_STATUS_ERROR_NOT_SUPPORTED), "/dev/kfd: interface {}.{} cannot export dmabufs",
                version_.major, version_.minor);
  }
  kfd_export_dmabuf arguments{handle, O_CLOEXEC | O_RDWR, 0};
  const int problem = call(KFD_NR_EXPORT_DMABUF, arguments);
  if (problem != 0) return refused(problem, "EXPORT_DMABUF");
  return static_cast<int>(arguments.dmabuf_fd);
}

Result<Kfd::DmabufInfo> Kfd::dmabuf_info(int descriptor) const {
  DmabufInfo info;
  // The length of the metadata is known only after the call; most buffers have little or none.
  info.metadata.resize(256);
  for (;;) {
    kfd_get_dmabuf_info arguments{};
    arguments.metadata_ptr = reinterpret_cast<uint64_t>(info.metadata.data());
    arguments.metadata_size = static_cast<uint32_t>(info.metadata.size());
    arguments.dmabuf_fd = static_cast<uint32_t>(descriptor);
    const int problem = call(KFD_NR_GET_DMABUF_INFO, arguments);
    if (arguments.metadata_size > info.metadata.size() && (problem == 0 || problem == -EINVAL)) {
      info.metadata.resize(arguments.metadata_size);
      continue;
    }
    if (problem != 0) return refused(problem, "GET_DMABUF_INFO");
    info.metadata.resize(arguments.metadata_size);
    info.size = arguments.size;
    info.gpu_id = arguments.gpu_id;
    info.flags = arguments.flags;
    return info;
  }
}

Result<uint64_t> Kfd::import_dmabuf(const KfdGpu& gpu, int descriptor, const void* address) const {
  kfd_import_dmabuf arguments{};
  arguments.va_addr = reinterpret_cast<uint64_t>(address);
  arguments.gpu_id = gpu.gpu_id;
  arguments.dmabuf_fd = static_cast<uint32_t>(descriptor);
  const int problem = call(KFD_NR_IMPORT_DMABUF, arguments);
  if (problem != 0) return refused(problem, "IMPORT_DMABUF");
  return arguments.handle;
}

Result<Kfd::ShareName> Kfd::share(const KfdGpu& gpu, uint64_t handle) const {
  kfd_ipc_export_handle arguments{};
  arguments.handle = handle;
  arguments.gpu_id = gpu.gpu_id;
  const int problem = call(KFD_NR_IPC_EXPORT_HANDLE, arguments);
  if (problem != 0) return refused(problem, "IPC_EXPORT_HANDLE");
  ShareName name;
  std::copy_n(arguments.share_handle, name.size(), name.begin());
  return name;
}

Result<Kfd::Shared> Kfd::import_shared(const KfdGpu& gpu, const ShareName& name, const void* address) const {
  kfd_ipc_import_handle arguments{};
  arguments.va_addr = reinterpret_cast<uint64_t>(address);
  arguments.gpu_id = gpu.gpu_id;
  std::copy_n(name.begin(), name.size(), arguments.share_handle);
  const int problem = call(KFD_NR_IPC_IMPORT_HANDLE, arguments);
  if (problem != 0) return refused(problem, "IPC_IMPORT_HANDLE");
  return Shared{arguments.handle, arguments.mmap_offset};
}

}  // namespace rigel
