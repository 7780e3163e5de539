#include "core/memory/memory_manager.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "api/support/mutex.hpp"

namespace rigel {
namespace {

constexpr uint32_t kHostAllocationFlags =
    HSA_AMD_MEMORY_POOL_PCIE_FLAG | HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG | HSA_AMD_MEMORY_POOL_UNCACHED_FLAG;

}  // namespace

const Heap& MemoryManager::add_heap(const HeapFacts& facts, std::unique_ptr<MemoryProvider> provider) {
  HeapFacts actual = facts;
  actual.allocatable = provider != nullptr;
  HeapSlot& slot = heaps_.emplace_back(actual);
  if (provider) slot.allocator = std::make_unique<PageAllocator>(slot.heap, std::move(provider), extents_);
  return slot.heap;
}

void MemoryManager::add_host_heaps(const std::vector<HostNode>& nodes,
                                   const MakeHostProvider& make_provider) {
  size_t total = 0;
  for (const HostNode& node : nodes) total += node.size & ~(kPageSize - 1);
  for (const HostNode& node : nodes) {
    HeapFacts facts;
    facts.allocation_flags = kHostAllocationFlags;
    facts.owner = node.agent;
    facts.size = node.size & ~(kPageSize - 1);
    // When a node is full, pages come from its neighbours.
    facts.allocation_limit = total;
    facts.granule = facts.recommended_granule = kPageSize;
    facts.bus_width_bits = node.bus_width_bits;
    facts.max_clock_mhz = node.max_clock_mhz;
    const int numa_node = nodes.size() > 1 ? static_cast<int>(node.numa_node) : HostProvider::kAnyNode;
    constexpr uint32_t kFine = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
    for (const uint32_t flags : {kFine, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED},
                                 kFine | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
                                 uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED}}) {
      facts.global_flags = flags;
      facts.visible =
          flags != HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED || lists_extended_scope_;
      add_heap(facts, make_provider(flags, numa_node));
    }
  }
}

MemoryManager::HeapSlot* MemoryManager::find_slot(uint64_t handle) noexcept {
  for (HeapSlot& slot : heaps_) {
    if (slot.heap.region().handle == handle) return &slot;
  }
  return nullptr;
}

VirtualMemory::HeapSource::Entry MemoryManager::heap(uint64_t handle) noexcept {
  HeapSlot* slot = find_slot(handle);
  if (slot == nullptr) return {};
  return {&slot->heap, slot->allocator == nullptr ? nullptr : &slot->allocator->provider()};
}

std::vector<VirtualMemory::HeapSource::Entry> MemoryManager::heaps() {
  std::vector<Entry> all;
  for (HeapSlot& slot : heaps_) all.push_back(heap(slot.heap.pool().handle));
  return all;
}

const Heap* MemoryManager::find_heap(uint64_t handle) const noexcept {
  HeapSlot* slot = const_cast<MemoryManager*>(this)->find_slot(handle);
  return slot == nullptr ? nullptr : &slot->heap;
}

const Heap* MemoryManager::find_heap_of(hsa_agent_t agent, uint32_t global_flags) const noexcept {
  for (const HeapSlot& slot : heaps_) {
    const HeapFacts& facts = slot.heap.facts();
    if (facts.visible && facts.segment == HSA_AMD_SEGMENT_GLOBAL && facts.owner.handle == agent.handle &&
        (facts.global_flags & global_flags) == global_flags) {
      return &slot.heap;
    }
  }
  return nullptr;
}

Status MemoryManager::agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*),
                                            void* data) {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (agents_.find(agent) == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  for (const bool system : {false, true}) {
    for (const HeapSlot& slot : heaps_) {
      const HeapFacts& facts = slot.heap.facts();
      if (!facts.visible || slot.heap.is_system() != system) continue;
      if (!system && facts.owner.handle != agent.handle) continue;
      const Status status = callback(slot.heap.region(), data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
  }
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::agent_iterate_memory_pools(hsa_agent_t agent,
                                                 hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                                 void* data) {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (agents_.find(agent) == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  for (const HeapSlot& slot : heaps_) {
    if (!slot.heap.facts().visible || slot.heap.facts().owner.handle != agent.handle) continue;
    const Status status = callback(slot.heap.pool(), data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value) {
  const Heap* heap = find_heap(region.handle);
  return heap == nullptr ? HSA_STATUS_ERROR_INVALID_REGION : heap->region_info(attribute, value);
}

Status MemoryManager::memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                           void* value) {
  const Heap* heap = find_heap(pool.handle);
  return heap == nullptr ? Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL) : heap->pool_info(attribute, value);
}

Status MemoryManager::agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                                 hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  const auto* entry = agents_.find(agent);
  if (entry == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  const Heap* heap = find_heap(pool.handle);
  if (heap == nullptr) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  return heap->agent_info(agents_, entry->facts, attribute, value);
}

Status MemoryManager::allocate(HeapSlot& slot, size_t size, uint32_t flags, void** ptr) {
  if (slot.allocator == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "region or memory pool: does not support allocation");
  }
  const HeapFacts& facts = slot.heap.facts();
  if (size > facts.allocation_limit) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "memory pool: {} bytes exceed its limit of {} bytes",
                size, facts.allocation_limit);
  }
  const auto address = slot.allocator->allocate(size, flags);
  if (!address) return address.error();
  *ptr = *address;
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::memory_allocate(hsa_region_t region, size_t size, void** ptr) {
  if (ptr == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  HeapSlot* slot = find_slot(region.handle);
  if (slot == nullptr) return HSA_STATUS_ERROR_INVALID_REGION;
  const Status status = allocate(*slot, size, 0, ptr);
  if (status != HSA_STATUS_SUCCESS || !slot->heap.is_system()) return status;
  // A system region is accessible to every agent; pools require a call for each agent.
  const Status opened = open_to_devices(*slot, *ptr);
  if (opened != HSA_STATUS_SUCCESS) memory_free(std::exchange(*ptr, nullptr));
  return opened;
}

Status MemoryManager::open_to_devices(HeapSlot& slot, void* ptr) {
  AgentSet devices;
  for (size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].type != HSA_DEVICE_TYPE_CPU &&
        slot.heap.access(agents_, agents_[i]) != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
      devices.add(i);
    }
  }
  if (devices.empty()) return HSA_STATUS_SUCCESS;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Extent* extent = extents_.find(address);
  const MutexLock changes(access_mutex_);
  Status status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  try {
    {
      const MutexLock lock(aside_mutex_);
      aside_[address].access = devices;
    }
    status = slot.allocator->grant(*extent, address, devices);
  } catch (const std::bad_alloc&) {  // the status reports it
  }
  const MutexLock lock(aside_mutex_);
  if (status == HSA_STATUS_SUCCESS) {
    slot.allocator->change_marks(*extent, address, kHasAccessList, 0);
  } else {
    aside_.erase(address);
  }
  return status;
}

Status MemoryManager::memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                           void** ptr) {
  if (ptr == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  HeapSlot* slot = find_slot(pool.handle);
  if (slot == nullptr) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  if ((flags & ~slot->heap.facts().allocation_flags) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "memory pool: does not support allocation flags {:#x}",
                flags);
  }
  // The routing of writes over PCIe does not affect host memory.
  if (slot->heap.is_system()) flags &= ~uint32_t{HSA_AMD_MEMORY_POOL_PCIE_FLAG};
  return allocate(*slot, size, flags, ptr);
}

Status MemoryManager::memory_free(void* ptr) {
  if (ptr == nullptr) return HSA_STATUS_SUCCESS;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Extent* extent = extents_.find(address);
  PageAllocator* allocator =
      extent == nullptr ? nullptr : extent->published.owner.load(std::memory_order_acquire);
  const auto marks = allocator == nullptr ? std::nullopt : allocator->claim(*extent, address);
  if (!marks) {
    if (locked_around(address) || virtual_memory_.view(address) || imported_.view(address)) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  "address {}: locked, reserved, mapped or imported memory cannot be freed", ptr);
    }
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of an allocation", ptr);
  }
  if (*marks == 0) return HSA_STATUS_SUCCESS;

  // Callbacks find the memory unchanged, except that they cannot free it again, and may throw.
  struct Ending {
    MemoryManager& manager;
    PageAllocator& allocator;
    Extent& extent;
    uintptr_t address;
    ~Ending() { manager.end_allocation(allocator, extent, address); }
  } const ending{*this, *allocator, *extent, address};
  if ((*marks & kHasCallbacks) == 0) return HSA_STATUS_SUCCESS;
  for (const Callback& callback : take_callbacks(address))
    callback.function(callback.ptr, callback.user_data);
  return HSA_STATUS_SUCCESS;
}

std::vector<MemoryManager::Callback> MemoryManager::take_callbacks(uintptr_t address) {
  const MutexLock lock(aside_mutex_);
  const auto found = aside_.find(address);
  return found == aside_.end() ? std::vector<Callback>() : std::exchange(found->second.callbacks, {});
}

void MemoryManager::end_allocation(PageAllocator& allocator, Extent& extent, uintptr_t address) {
  AllocationData data;
  {
    const MutexLock lock(aside_mutex_);
    // First retires it, so that no further data is added for it.
    allocator.retire(extent, address);
    if (auto found = aside_.extract(address)) data = std::move(found.mapped());
  }
  if (data.name) withdraw_name(*data.name);
  allocator.reclaim(extent, address);
}

Status MemoryManager::register_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback,
                                                     void* user_data) {
  if (ptr == nullptr || callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Extent* extent = extents_.find(address);
  const MutexLock lock(aside_mutex_);
  const auto view = extent == nullptr ? std::nullopt : extent->view(address);
  if (!view) {
    if (imported_.add_callback({ptr, callback, user_data})) return HSA_STATUS_SUCCESS;
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not in an allocation", ptr);
  }
  // The running callbacks were taken under this lock; no more will be taken.
  if ((view->marks & kBeingFreed) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: its allocation is being freed", ptr);
  }
  PageAllocator* allocator = extent->published.owner.load(std::memory_order_acquire);
  auto& callbacks = aside_[view->base].callbacks;
  callbacks.push_back({ptr, callback, user_data});
  if (allocator != nullptr && allocator->change_marks(*extent, view->base, kHasCallbacks, 0)) {
    return HSA_STATUS_SUCCESS;
  }
  // It was freed after the lookup.
  callbacks.pop_back();
  if (callbacks.empty()) aside_.erase(view->base);
  return HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

Status MemoryManager::deregister_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback) {
  if (ptr == nullptr || callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto view = extents_.view(reinterpret_cast<uintptr_t>(ptr));
  if (!view) {
    return imported_.remove_callbacks(ptr, callback) == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT
                                                          : HSA_STATUS_SUCCESS;
  }
  const MutexLock lock(aside_mutex_);
  const auto found = aside_.find(view->base);
  if (found == aside_.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto matches = [&](const Callback& entry) { return entry.ptr == ptr && entry.function == callback; };
  return std::erase_if(found->second.callbacks, matches) == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT
                                                              : HSA_STATUS_SUCCESS;
}

size_t MemoryManager::available(hsa_agent_t agent) const {
  size_t bytes = 0;
  for (const HeapSlot& slot : heaps_) {
    if (slot.allocator == nullptr || slot.heap.facts().owner.handle != agent.handle) continue;
    const auto footprint = slot.allocator->footprint();
    const size_t used = footprint.mapped_bytes - footprint.reserved_bytes;
    bytes += slot.heap.facts().size - std::min(slot.heap.facts().size, used);
  }
  return bytes;
}

Result<void*> MemoryManager::allocate_system(size_t size, uint32_t node) {
  const Heap* heap = nullptr;
  for (size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].type != HSA_DEVICE_TYPE_CPU) continue;
    const Heap* candidate = find_heap_of(agents_[i].handle, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    if (candidate != nullptr && (heap == nullptr || agents_[i].node == node)) heap = candidate;
  }
  if (heap == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "host memory: there is no system memory pool");
  void* memory = nullptr;
  const Status status = memory_allocate(heap->region(), size, &memory);
  if (status != HSA_STATUS_SUCCESS) return error(status);
  std::memset(memory, 0, size);
  return memory;
}

void MemoryManager::trim() {
  for (HeapSlot& slot : heaps_) {
    if (slot.allocator) slot.allocator->trim();
  }
}

}  // namespace rigel
