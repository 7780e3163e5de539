#include "core/memory/kfd_importer.hpp"

#include <sys/mman.h>

#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/undo.hpp"

namespace rigel {
namespace {

// Alignment that allows large pages.
uint64_t alignment_for(uint64_t size) {
  constexpr uint64_t kLarge = 2 << 20;
  return size >= kLarge ? kLarge : 4096;
}

}  // namespace

ImportedBlock KfdImporter::finish(ImportedBlock block, const KfdGpu& gpu, bool host_accessible) {
  block.host_accessible = host_accessible;
  block.owner = agents_.agent_of(gpu.gpu_id);
  const MutexLock lock(mutex_);
  mappings_.try_emplace(block.cookie);
  return block;
}

Result<ImportedBlock> KfdImporter::open(int descriptor, const AgentSet& wanted) {
  Kfd& kfd = agents_.kfd();
  auto info = kfd.dmabuf_info(descriptor);
  if (!info) return error(info.error());
  const KfdGpu* gpu = kfd.find_gpu(info->gpu_id);
  const bool foreign = gpu == nullptr;
  if (foreign) {  // for example of a GPU that this process cannot access: another GPU imports it
    const auto gpus = agents_.gpus_of(wanted);
    gpu = kfd.find_gpu(gpus.empty() ? kfd.gpus().front()->gpu_id : gpus.front());
  }
  ImportedBlock block;
  block.size = info->size;
  block.metadata = std::move(info->metadata);
  block.address = kfd.reserve(block.size, alignment_for(block.size));
  if (block.address == nullptr) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address space: cannot reserve {} bytes for a dmabuf",
                block.size);
  }
  Undo release([&, size = block.size, address = block.address] { kfd.release_addresses(address, size); });
  const auto handle = kfd.import_dmabuf(*gpu, descriptor, block.address);
  if (!handle) return error(handle.error());
  Undo free([&] { kfd.free_handle(*handle); });
  block.cookie = *handle;
  const bool visible = (info->flags & (KFD_MEM_GTT | KFD_MEM_PUBLIC)) != 0;
  const bool mapped =
      visible && kfd.transport().mmap_buffer(block.address, block.size, PROT_READ | PROT_WRITE, descriptor,
                                             0) != nullptr;
  block = finish(std::move(block), *gpu, mapped);
  if (foreign) block.owner = ImportedBlock::kNobody;
  free.cancel();
  release.cancel();
  return block;
}

Result<ImportedBlock> KfdImporter::open(const MemoryProvider::NamedBlock& named, size_t size) {
  Kfd& kfd = agents_.kfd();
  const KfdGpu* gpu = kfd.find_gpu(named.device);
  if (gpu == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "GPU {}: not visible in this process", named.device);
  }
  ImportedBlock block;
  block.size = size;
  block.address = kfd.reserve(size, alignment_for(size));
  if (block.address == nullptr) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "address space: cannot reserve {} bytes for memory of another process", size);
  }
  Undo release([&, address = block.address] { kfd.release_addresses(address, size); });
  const auto shared = kfd.import_shared(*gpu, named.name, block.address);
  if (!shared) return error(shared.error());
  Undo free([&] { kfd.free_handle(shared->handle); });
  block.cookie = shared->handle;
  const bool mapped =
      gpu->host_sees_all && kfd.transport().mmap_buffer(block.address, size, PROT_READ | PROT_WRITE,
                                                        gpu->render_fd, shared->mmap_offset) != nullptr;
  block = finish(std::move(block), *gpu, mapped);
  free.cancel();
  release.cancel();
  return block;
}

Status KfdImporter::set_access(const ImportedBlock& block, const AgentSet& agents) {
  KfdMapping* mapping = nullptr;  // its address is stable
  {
    const MutexLock lock(mutex_);
    mapping = &mappings_[block.cookie];
  }
  return mapping->change(agents_.kfd(), block.cookie, agents_.gpus_of(agents));
}

void KfdImporter::close(const ImportedBlock& block) noexcept {
  {
    const MutexLock lock(mutex_);
    mappings_.erase(block.cookie);
  }
  agents_.kfd().free({block.address, block.size, block.cookie});
}

}  // namespace rigel
