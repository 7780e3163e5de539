#include "core/memory/kfd_memory.hpp"

#include <sys/mman.h>

#include <algorithm>

#include <hsa/hsa_ext_amd.h>

#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"
#include "core/memory/kfd_physical.hpp"

namespace rigel {
namespace {

constexpr uint64_t kHostLimit = (uint64_t{1} << 47) - 1;
constexpr uint32_t kEveryRight = KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE | KFD_MEM_NO_SUBSTITUTE;

void* reserve_addresses(void* kfd, size_t size, size_t alignment) {
  return static_cast<Kfd*>(kfd)->reserve(size, alignment);
}

std::vector<uint32_t> without(const std::vector<uint32_t>& all, const std::vector<uint32_t>& gone) {
  std::vector<uint32_t> left;
  std::set_difference(all.begin(), all.end(), gone.begin(), gone.end(), std::back_inserter(left));
  return left;
}

}  // namespace

uint32_t kfd_attributes_of(uint32_t global_flags) {
  if (global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED) return KFD_MEM_EXT_COHERENT;
  return global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED ? 0 : KFD_MEM_COHERENT;
}

// As in AMD's thunk: uncached memory is coherent, whatever its pool specifies.
uint32_t kfd_attributes_with(uint32_t flags, uint32_t attributes) {
  if (flags & HSA_AMD_MEMORY_POOL_UNCACHED_FLAG) {
    attributes = KFD_MEM_COHERENT | KFD_MEM_UNCACHED;
  } else if ((flags & HSA_AMD_MEMORY_POOL_PCIE_FLAG) && attributes == 0) {
    attributes = KFD_MEM_COHERENT;
  }
  return flags & HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG ? attributes | KFD_MEM_CONTIGUOUS : attributes;
}

std::vector<uint32_t> KfdAgents::gpus_of(const AgentSet& agents) const {
  std::vector<uint32_t> gpus;
  for (const auto& [index, gpu] : gpus_) {
    if (agents.has(index)) gpus.push_back(gpu);
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

size_t KfdAgents::agent_of(uint32_t gpu_id) const {
  for (const auto& [index, gpu] : gpus_) {
    if (gpu == gpu_id) return index;
  }
  return SIZE_MAX;
}

KfdGpu* KfdAgents::gpu_of(size_t agent) const {
  const auto found = gpus_.find(agent);
  return found == gpus_.end() ? nullptr : kfd_.find_gpu(found->second);
}

Status KfdMapping::change(const Kfd& kfd, uint64_t handle, const std::vector<uint32_t>& gpus) {
  const auto more = without(gpus, mapped_), gone = without(mapped_, gpus);
  auto mapped = gpus;
  Status status = kfd.map(handle, more);
  if (status == HSA_STATUS_SUCCESS) status = kfd.unmap(handle, gone);
  if (status == HSA_STATUS_SUCCESS) {
    mapped_ = std::move(mapped);
  } else {  // part of it may have been done
    static_cast<void>(kfd.map(handle, gone));
    static_cast<void>(kfd.unmap(handle, more));
  }
  return status;
}

// Host memory --------------------------------------------------------------------------------------------

KfdHostProvider::KfdHostProvider(const KfdAgents& agents, uint32_t attributes, int numa_node)
    // If GPUs address less than the host, memory must be in their range.
    : HostProvider(numa_node, agents.kfd().address_limit() < kHostLimit ? reserve_addresses : nullptr,
                   &agents.kfd()),
      agents_(agents),
      attributes_(attributes) {}

Result<Backing> KfdHostProvider::map(const BlockRequest& request) {
  auto block = HostProvider::map(request);
  const uint32_t attributes = kfd_attributes_with(request.flags, attributes_);
  if (!block || attributes == attributes_) return block;
  Undo unmap([&] { HostProvider::unmap(*block); });
  const MutexLock lock(mutex_);
  known_[block->address].attributes = attributes;  // used for the first agent that gets access
  unmap.cancel();
  return block;
}

void KfdHostProvider::unmap(const Backing& backing) noexcept {
  uint64_t handle = 0;
  {
    const MutexLock lock(mutex_);
    if (const auto found = known_.find(backing.address); found != known_.end()) {
      handle = found->second.handle;
      known_.erase(found);
    }
  }
  if (handle != 0) agents_.kfd().free_handle(handle);
  HostProvider::unmap(backing);
}

Status KfdHostProvider::set_access(const Backing& backing, const AgentSet& agents) {
  const auto gpus = agents_.gpus_of(agents);
  const Kfd& kfd = agents_.kfd();
  // Calls for one block do not overlap, and its entry's address is stable; the lock separates calls for other
  // blocks.
  Known* known = nullptr;
  {
    const MutexLock lock(mutex_);
    if (gpus.empty() && !known_.contains(backing.address)) return HSA_STATUS_SUCCESS;
    known = &known_.try_emplace(backing.address, Known{0, attributes_, {}}).first->second;
  }
  if (known->handle == 0) {
    if (gpus.empty()) return HSA_STATUS_SUCCESS;
    const auto handle = kfd.pin(*kfd.gpus().front(), backing.address, backing.size,
                                kEveryRight | known->attributes, reinterpret_cast<uint64_t>(backing.address));
    if (!handle) return handle.error();
    known->handle = *handle;
    // A forked child that shared the pages would cause a copy of each at its next write, and GPUs would lose
    // the page.
    madvise(backing.address, backing.size, MADV_DONTFORK);
  }
  return known->mapping.change(kfd, known->handle, gpus);
}

Result<std::unique_ptr<PhysicalMemory>> KfdHostProvider::create_physical(size_t size, uint32_t flags) {
  auto file = HostProvider::create_physical(size, flags);
  if (!file) return file;
  return Result<std::unique_ptr<PhysicalMemory>>(std::make_unique<KfdHostPhysicalMemory>(
      agents_, kfd_attributes_with(flags, attributes_), std::move(*file), size));
}

Result<MemoryProvider::Imported> KfdHostProvider::import_physical(int descriptor) {
  auto imported = HostProvider::import_physical(descriptor);
  if (!imported) return imported;
  imported->memory = std::make_unique<KfdHostPhysicalMemory>(agents_, attributes_,
                                                             std::move(imported->memory), imported->size);
  return imported;
}

// A GPU's memory -----------------------------------------------------------------------------------------

uint32_t KfdLocalProvider::flags_with(uint32_t pool_flags) const {
  return KFD_MEM_VRAM | kEveryRight | kfd_attributes_with(pool_flags, attributes_) |
         (gpu_.host_sees_all ? KFD_MEM_PUBLIC : 0);
}

Result<Backing> KfdLocalProvider::map(const BlockRequest& request) {
  const uint32_t flags = flags_with(request.flags);
  const Kfd& kfd = agents_.kfd();
  const auto allocate = [&] {
    return kfd.allocate(gpu_, {.flags = flags,
                               .size = request.size,
                               .alignment = request.alignment,
                               .host = gpu_.host_sees_all ? HostAccess::kReadWrite : HostAccess::kNone});
  };
  auto block = allocate();
  if (!block && reclaim_ && reclaim_()) block = allocate();
  if (!block) return error(block.error());
  Undo free([&] { kfd.free(*block); });
  KfdMapping mapping;
  const Status status = mapping.change(kfd, block->handle, {gpu_.gpu_id});
  if (status != HSA_STATUS_SUCCESS) return error(status);
  const MutexLock lock(mutex_);
  mappings_.emplace(block->handle, std::move(mapping));
  free.cancel();
  return Backing{block->address, block->size, block->handle};
}

void KfdLocalProvider::unmap(const Backing& backing) noexcept {
  {
    const MutexLock lock(mutex_);
    mappings_.erase(backing.cookie);
  }
  agents_.kfd().free({backing.address, backing.size, backing.cookie});
}

Status KfdLocalProvider::set_access(const Backing& backing, const AgentSet& agents) {
  auto gpus = agents_.gpus_of(agents);
  if (!std::binary_search(gpus.begin(), gpus.end(), gpu_.gpu_id)) {
    gpus.insert(std::upper_bound(gpus.begin(), gpus.end(), gpu_.gpu_id), gpu_.gpu_id);
  }
  KfdMapping* mapping = nullptr;  // its address is stable, as in set_access of host memory
  {
    const MutexLock lock(mutex_);
    mapping = &mappings_[backing.cookie];
  }
  return mapping->change(agents_.kfd(), backing.cookie, gpus);
}

Result<int> KfdLocalProvider::export_block(const Backing& backing) {
  return agents_.kfd().export_dmabuf(backing.cookie);
}

Result<MemoryProvider::NamedBlock> KfdLocalProvider::name_block(const Backing& backing) {
  const auto name = agents_.kfd().share(gpu_, backing.cookie);
  if (!name) return error(name.error());
  return NamedBlock{*name, gpu_.gpu_id};
}

Result<std::unique_ptr<PhysicalMemory>> KfdLocalProvider::create_physical(size_t size, uint32_t flags) {
  return KfdPhysicalMemory::create(agents_, gpu_, flags_with(flags), size);
}

Result<MemoryProvider::Imported> KfdLocalProvider::import_physical(int descriptor) {
  return KfdPhysicalMemory::import(agents_, gpu_, descriptor);
}

// The application's memory -------------------------------------------------------------------------------

Result<void*> KfdPinner::pin(void* host, size_t size, const AgentSet& agents, uint32_t global_flags) {
  const auto gpus = agents_.gpus_of(agents);
  if (gpus.empty()) return host;
  const Kfd& kfd = agents_.kfd();
  const auto start = reinterpret_cast<uint64_t>(host);
  const uint64_t page = page_down(start);
  const uint64_t span = page_up(start + size - page);
  const uint32_t flags = kEveryRight | kfd_attributes_of(global_flags);
  // Uses other addresses than the host's: the application can unmap its memory without unlocking it, and the
  // addresses would then be reused while GPUs still map them.
  void* const addresses = kfd.reserve(span, kPageBytes);
  if (addresses == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address space: cannot reserve {} bytes to lock memory",
                span);
  Undo release([&] { kfd.release_addresses(addresses, span); });
  const auto first = reinterpret_cast<uint64_t>(addresses);
  const auto handle = kfd.pin(*kfd.gpus().front(), reinterpret_cast<void*>(page), span, flags, first);
  if (!handle) return error(handle.error());
  Undo free([&] { kfd.free_handle(*handle); });
  if (const Status status = kfd.map(*handle, gpus); status != HSA_STATUS_SUCCESS) return error(status);
  const uint64_t seen = first + (start - page);
  const MutexLock lock(mutex_);
  pins_.emplace(seen, Pin{*handle, addresses, span});
  free.cancel();
  release.cancel();
  return reinterpret_cast<void*>(seen);
}

void KfdPinner::unpin(void*, size_t, void* agent_address) noexcept {
  Pin pin;
  {
    const MutexLock lock(mutex_);
    const auto found = pins_.find(reinterpret_cast<uint64_t>(agent_address));
    if (found == pins_.end()) return;  // no GPU has access
    pin = found->second;
    pins_.erase(found);
  }
  agents_.kfd().free_handle(pin.handle);
  agents_.kfd().release_addresses(pin.addresses, pin.span);
}

}  // namespace rigel
