#include "core/memory/kfd_physical.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>

namespace rigel {
namespace {

int protection_of(const MappingAccess& access) {
  return (access.host_reads ? PROT_READ : 0) | (access.host_writes ? PROT_WRITE : 0);
}

}  // namespace

// A GPU's memory -----------------------------------------------------------------------------------------

Result<std::unique_ptr<PhysicalMemory>> KfdPhysicalMemory::create(const KfdAgents& agents, const KfdGpu& gpu,
                                                                  uint32_t flags, size_t size) {
  const Kfd& kfd = agents.kfd();
  if (!kfd.manages_virtual_memory()) {
    return fail(Status(HSA_STATUS_ERROR_NOT_SUPPORTED),
                "/dev/kfd: the driver does not support virtual memory management of GPU memory");
  }
  std::unique_ptr<KfdPhysicalMemory> memory(new KfdPhysicalMemory(agents, gpu));
  const auto handle = kfd.allocate_unplaced(gpu, flags, size);
  if (!handle) return error(handle.error());
  memory->handle_ = *handle;
  const auto dmabuf = kfd.export_dmabuf(*handle);
  if (!dmabuf) return error(dmabuf.error());
  const auto gem = kfd.gem_import(gpu, *dmabuf);
  close(*dmabuf);
  if (!gem) return error(gem.error());
  memory->gems_.at(gpu.gpu_id) = *gem;
  return Result<std::unique_ptr<PhysicalMemory>>(std::move(memory));
}

Result<MemoryProvider::Imported> KfdPhysicalMemory::import(const KfdAgents& agents, const KfdGpu& gpu,
                                                           int descriptor) {
  const Kfd& kfd = agents.kfd();
  const auto info = kfd.dmabuf_info(descriptor);
  if (!info || info->gpu_id != gpu.gpu_id || !kfd.manages_virtual_memory()) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "file descriptor {}: not memory of GPU {}", descriptor,
                gpu.gpu_id);
  }
  std::unique_ptr<KfdPhysicalMemory> memory(new KfdPhysicalMemory(agents, gpu));
  const auto gem = kfd.gem_import(gpu, descriptor);
  if (!gem) return error(gem.error());
  memory->gems_.at(gpu.gpu_id) = *gem;
  return MemoryProvider::Imported{std::move(memory), info->size};
}

KfdPhysicalMemory::~KfdPhysicalMemory() {
  Kfd& kfd = agents_.kfd();
  for (const auto& [gpu, gem] : gems_) {
    if (gem != 0) kfd.gem_close(*kfd.find_gpu(gpu), gem);
  }
  if (handle_ != 0) kfd.free_handle(handle_);
}

Result<uint32_t> KfdPhysicalMemory::gem_of(const KfdGpu& gpu) {
  uint32_t& own = gems_[gpu.gpu_id];  // inserted early, because an unused entry is harmless
  if (own != 0) return own;
  const auto dmabuf = export_descriptor();
  if (!dmabuf) return error(dmabuf.error());
  const auto gem = agents_.kfd().gem_import(gpu, *dmabuf);
  close(*dmabuf);
  if (gem) own = *gem;
  return gem;
}

// Reserved addresses are already inaccessible.
Status KfdPhysicalMemory::map(void* address, size_t) {
  mappings_.try_emplace(address);
  return HSA_STATUS_SUCCESS;
}

void KfdPhysicalMemory::unmap(void* address, size_t size) noexcept {
  const auto found = mappings_.find(address);
  if (found == mappings_.end()) return;
  Kfd& kfd = agents_.kfd();
  for (const auto& [gpu, writes] : found->second.rights) {
    kfd.gem_unmap(*kfd.find_gpu(gpu), gems_.at(gpu), address, size);
  }
  mappings_.erase(found);  // the caller replaces the host's mapping by a reservation
}

Status KfdPhysicalMemory::set_rights(void* address, size_t size, Rights& now, const Rights& wanted) try {
  Kfd& kfd = agents_.kfd();
  for (const auto& [gpu, writes] : wanted) {
    const auto known = now.find(gpu);
    if (known != now.end() && known->second == writes) continue;
    const auto gem = gem_of(*kfd.find_gpu(gpu));
    if (!gem) return gem.error();
    const auto [right, is_new] = now.try_emplace(gpu, writes);
    const Status status = kfd.gem_map(*kfd.find_gpu(gpu), *gem, address, size, writes);
    if (status != HSA_STATUS_SUCCESS) {
      if (is_new) now.erase(right);
      return status;
    }
    right->second = writes;
  }
  std::erase_if(now, [&](const auto& entry) {
    if (wanted.contains(entry.first)) return false;
    kfd.gem_unmap(*kfd.find_gpu(entry.first), gems_.at(entry.first), address, size);
    return true;
  });
  return HSA_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

Status KfdPhysicalMemory::show_host(void* address, size_t size, Mapping& mapping, int protection) {
  if (protection == mapping.protection) return HSA_STATUS_SUCCESS;
  const bool done = mapping.protection != 0
                        ? mprotect(address, size, protection) == 0
                        : agents_.kfd().gem_show(gpu_, gems_.at(gpu_.gpu_id), address, size, protection);
  if (!done)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "GPU memory: {} bytes cannot be mapped for the host",
                size);
  mapping.protection = protection;
  return HSA_STATUS_SUCCESS;
}

Status KfdPhysicalMemory::set_access(void* address, size_t size, const MappingAccess& access) {
  Rights wanted;
  for (const uint32_t gpu : agents_.gpus_of(access.readers)) wanted[gpu] = false;
  for (const uint32_t gpu : agents_.gpus_of(access.writers)) wanted[gpu] = true;
  Mapping& mapping = mappings_[address];
  const Rights before = mapping.rights;
  Status status = set_rights(address, size, mapping.rights, wanted);
  if (status == HSA_STATUS_SUCCESS) status = show_host(address, size, mapping, protection_of(access));
  if (status != HSA_STATUS_SUCCESS) static_cast<void>(set_rights(address, size, mapping.rights, before));
  return status;
}

// Host memory --------------------------------------------------------------------------------------------

KfdHostPhysicalMemory::~KfdHostPhysicalMemory() {
  if (alias_ != nullptr) agents_.kfd().transport().munmap(alias_, size_);
}

void KfdHostPhysicalMemory::forget(Pinned& pinned) noexcept {
  if (pinned.handle != 0) agents_.kfd().free_handle(pinned.handle);
  pinned = {};
}

void KfdHostPhysicalMemory::unmap(void* address, size_t size) noexcept {
  if (const auto found = mappings_.find(address); found != mappings_.end()) {
    forget(found->second.writers);
    forget(found->second.readers);
    mappings_.erase(found);
  }
  file_->unmap(address, size);
}

Status KfdHostPhysicalMemory::pin(Pinned& pinned, void* address, size_t size, bool writable) {
  if (pinned.handle != 0) return HSA_STATUS_SUCCESS;
  Kfd& kfd = agents_.kfd();
  if (alias_ == nullptr) {
    const auto descriptor = file_->export_descriptor();
    if (!descriptor) return descriptor.error();
    alias_ = kfd.transport().mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
    close(*descriptor);
    if (alias_ == nullptr) {
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address space: cannot reserve {} bytes for GPUs",
                  size_);
    }
  }
  const uint32_t flags =
      KFD_MEM_EXECUTABLE | KFD_MEM_NO_SUBSTITUTE | attributes_ | (writable ? KFD_MEM_WRITABLE : 0);
  const auto handle = kfd.pin(*kfd.gpus().front(), alias_, size, flags, reinterpret_cast<uint64_t>(address));
  if (!handle) return handle.error();
  pinned.handle = *handle;
  return HSA_STATUS_SUCCESS;
}

Status KfdHostPhysicalMemory::let_in(Mapping& mapping, void* address, size_t size, const Gpus& writers,
                                     const Gpus& readers) try {
  const Kfd& kfd = agents_.kfd();
  const auto change = [&](Pinned& pinned, const Gpus& gpus, bool writable) -> Status {
    if (gpus.empty() && pinned.handle == 0) return HSA_STATUS_SUCCESS;
    const Status status = pin(pinned, address, size, writable);
    return status != HSA_STATUS_SUCCESS ? status : pinned.mapping.change(kfd, pinned.handle, gpus);
  };
  // A GPU has at most one of the two objects: GPUs that change leave theirs first. Others are not
  // interrupted.
  Gpus stay;
  const Gpus& before = mapping.readers.mapping.mapped();
  std::set_intersection(before.begin(), before.end(), readers.begin(), readers.end(),
                        std::back_inserter(stay));
  Status status = change(mapping.readers, stay, false);
  if (status == HSA_STATUS_SUCCESS) status = change(mapping.writers, writers, true);
  if (status == HSA_STATUS_SUCCESS) status = change(mapping.readers, readers, false);
  return status;
} catch (const std::bad_alloc&) {
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

Status KfdHostPhysicalMemory::set_access(void* address, size_t size, const MappingAccess& access) {
  const Gpus writers = agents_.gpus_of(access.writers);
  const Gpus all = agents_.gpus_of(access.readers);
  Gpus readers;
  std::set_difference(all.begin(), all.end(), writers.begin(), writers.end(), std::back_inserter(readers));
  if (writers.empty() && readers.empty() && !mappings_.contains(address))
    return file_->set_access(address, size, access);
  Mapping& mapping = mappings_[address];
  const Gpus writers_before = mapping.writers.mapping.mapped(),
             readers_before = mapping.readers.mapping.mapped();
  Status status = let_in(mapping, address, size, writers, readers);
  if (status == HSA_STATUS_SUCCESS) status = file_->set_access(address, size, access);
  if (status != HSA_STATUS_SUCCESS)
    static_cast<void>(let_in(mapping, address, size, writers_before, readers_before));
  return status;
}

}  // namespace rigel
