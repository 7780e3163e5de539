// Addresses and memory objects.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/support/page_size.hpp"
#include "core/driver/kfd.hpp"

namespace rigel {
namespace {

// above the addresses of non-relocatable programs and their heaps
constexpr uint64_t kLowest = uint64_t{4} << 30;

Status status_of(int negated_errno) {
  return negated_errno == -EINVAL ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

}  // namespace

void* Kfd::reserve(uint64_t size, uint64_t alignment) const {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  size = page_up(size);
  alignment = alignment < kPageBytes ? kPageBytes : alignment;
  // The kernel's choice is suitable if GPUs can address as much as the host.
  if (address_limit_ >= (uint64_t{1} << 47) - 1) {
    const uint64_t padded = alignment == kPageBytes ? size : size + alignment;
    if (padded < size) return nullptr;
    auto* const raw = static_cast<std::byte*>(transport_->mmap(nullptr, padded, PROT_NONE, kFlags, -1, 0));
    if (raw == nullptr || padded == size) return raw;
    const uint64_t before = (alignment - reinterpret_cast<uint64_t>(raw) % alignment) % alignment;
    if (before != 0) transport_->munmap(raw, before);
    if (padded - size != before) transport_->munmap(raw + before + size, padded - size - before);
    return raw + before;
  }
  // Otherwise, tries addresses one after the other, once around, from the last one found.
  const uint64_t last = address_limit_ + 1 > size ? (address_limit_ + 1 - size) & ~(alignment - 1) : 0;
  const uint64_t begin = round_up(std::max(low_hint_.load(std::memory_order_relaxed), kLowest), alignment);
  uint64_t step = round_up(size, alignment);
  for (const auto& [from, to] : {std::pair{begin, last}, std::pair{round_up(kLowest, alignment), begin}}) {
    step = round_up(size, alignment);
    for (uint64_t at = from; at <= to && at <= last; at += step) {
      void* const mapped =
          transport_->mmap(reinterpret_cast<void*>(at), size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
      if (mapped == reinterpret_cast<void*>(at)) {
        low_hint_.store(at + size, std::memory_order_relaxed);
        return mapped;
      }
      if (mapped != nullptr) transport_->munmap(mapped, size);  // a kernel that ignores the flag
      if (step < (uint64_t{1} << 32)) step *= 2;                // the obstacle may be large
    }
  }
  return nullptr;
}

void Kfd::release_addresses(void* address, uint64_t size) const {
  transport_->munmap(address, page_up(size));
}

Result<uint64_t> Kfd::alloc_object(kfd_alloc_memory& arguments) const {
  if (const int problem = call(KFD_NR_ALLOC_MEMORY, arguments); problem != 0) {
    return fail(status_of(problem), "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU: {} bytes with flags {:#x} failed: {}",
                arguments.size, arguments.flags, std::strerror(-problem));
  }
  return arguments.handle;
}

Result<KfdBlock> Kfd::allocate(const KfdGpu& gpu, const KfdBlockRequest& request) const {
  KfdBlock block;
  block.size = request.size;
  block.at_reserved = request.address != nullptr;
  block.address = block.at_reserved ? request.address : reserve(request.size, request.alignment);
  if (block.address == nullptr) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address space: cannot reserve {} bytes", request.size);
  }
  kfd_alloc_memory arguments{};
  arguments.va_addr = reinterpret_cast<uint64_t>(block.address);
  arguments.size = request.size;
  arguments.gpu_id = gpu.gpu_id;
  arguments.flags = request.flags;
  const auto object = alloc_object(arguments);
  if (!object) {
    if (!block.at_reserved) release_addresses(block.address, request.size);
    return error(object.error());
  }
  block.handle = *object;
  // A ring that is mapped twice is half as large for the host.
  const uint64_t seen = (request.flags & KFD_MEM_AQL_QUEUE) != 0 ? request.size / 2 : request.size;
  const bool visible = request.host == HostAccess::kReadWrite;
  int problem = 0;
  if (visible && transport_->mmap_buffer(block.address, seen, PROT_READ | PROT_WRITE, gpu.render_fd,
                                         arguments.mmap_offset, &problem) == nullptr) {
    free(block);
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "GPU memory: {} bytes cannot be mapped for the host: {}",
                request.size, std::strerror(-problem));
  }
  return block;
}

Result<uint64_t> Kfd::pin(const KfdGpu& gpu, void* host, uint64_t size, uint32_t flags,
                          uint64_t gpu_address) const {
  kfd_alloc_memory arguments{};
  arguments.va_addr = gpu_address;
  arguments.size = size;
  arguments.gpu_id = gpu.gpu_id;
  arguments.flags = flags | KFD_MEM_USERPTR;
  arguments.mmap_offset = reinterpret_cast<uint64_t>(host);
  return alloc_object(arguments);
}

Status Kfd::map(uint64_t handle, std::span<const uint32_t> gpu_ids) const {
  if (gpu_ids.empty()) return HSA_STATUS_SUCCESS;
  kfd_map_memory arguments{handle, reinterpret_cast<uint64_t>(gpu_ids.data()),
                           static_cast<uint32_t>(gpu_ids.size()), 0};
  const int problem = call(KFD_NR_MAP_MEMORY, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return fail(status_of(problem), "AMDKFD_IOC_MAP_MEMORY_TO_GPU: failed after {} of {} devices: {}",
              arguments.n_success, arguments.n_devices, std::strerror(-problem));
}

Status Kfd::unmap(uint64_t handle, std::span<const uint32_t> gpu_ids) const {
  if (gpu_ids.empty()) return HSA_STATUS_SUCCESS;
  kfd_map_memory arguments{handle, reinterpret_cast<uint64_t>(gpu_ids.data()),
                           static_cast<uint32_t>(gpu_ids.size()), 0};
  const int problem = call(KFD_NR_UNMAP_MEMORY, arguments);
  if (problem == 0) return HSA_STATUS_SUCCESS;
  return fail(status_of(problem), "AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU: failed: {}", std::strerror(-problem));
}

void Kfd::free(const KfdBlock& block) const {
  // GPUs first: another thread may get the addresses as soon as they are released.
  free_handle(block.handle);
  if (!block.at_reserved) {
    release_addresses(block.address, block.size);
  } else {
    transport_->mmap(block.address, block.size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
}

void Kfd::free_handle(uint64_t handle) const {
  // The kernel rejects freeing an object that a GPU has mapped (EBUSY). A GPU that has not mapped it ends the
  // call (EINVAL) and is skipped.
  kfd_map_memory mapped{handle, reinterpret_cast<uint64_t>(gpu_ids_.data()),
                        static_cast<uint32_t>(gpu_ids_.size()), 0};
  while (mapped.n_success < mapped.n_devices && call(KFD_NR_UNMAP_MEMORY, mapped) != 0) ++mapped.n_success;
  kfd_free_memory arguments{handle};
  if (const int problem = call(KFD_NR_FREE_MEMORY, arguments); problem != 0) {
    log_message(LogLevel::kWarn, LogTopic::kMemory, "AMDKFD_IOC_FREE_MEMORY_OF_GPU: handle {:#x} failed: {}",
                handle, std::strerror(-problem));
  }
}

}  // namespace rigel
