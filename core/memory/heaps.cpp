#include "core/memory/heaps.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"

namespace rigel {
namespace {

constexpr uint32_t kHostAllocationFlags =
    HSA_AMD_MEMORY_POOL_PCIE_FLAG | HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG | HSA_AMD_MEMORY_POOL_UNCACHED_FLAG;

}  // namespace

const Heap& Heaps::add_heap(const HeapFacts& facts, std::unique_ptr<MemoryProvider> provider) {
  HeapFacts actual = facts;
  actual.allocatable = provider != nullptr;
  Slot& slot = heaps_.emplace_back(actual);
  if (provider) slot.allocator = std::make_unique<PageAllocator>(slot.heap, std::move(provider), extents_);
  return slot.heap;
}

void Heaps::add_host_heaps(const std::vector<HostNode>& nodes, const MakeHostProvider& make_provider) {
  size_t total = 0;
  for (const HostNode& node : nodes) total += page_down(node.size);
  for (const HostNode& node : nodes) {
    HeapFacts facts;
    facts.allocation_flags = kHostAllocationFlags;
    facts.owner = node.agent;
    facts.size = page_down(node.size);
    // When a node is full, pages come from its neighbours.
    facts.allocation_limit = total;
    facts.granule = facts.recommended_granule = kPageBytes;
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

Heaps::Slot* Heaps::find_slot(uint64_t handle) noexcept {
  for (Slot& slot : heaps_) {
    if (slot.heap.region().handle == handle) return &slot;
  }
  return nullptr;
}

Heaps::Entry Heaps::find_entry(uint64_t handle) noexcept {
  Slot* slot = find_slot(handle);
  if (slot == nullptr) return {};
  return {&slot->heap, slot->allocator == nullptr ? nullptr : &slot->allocator->provider()};
}

std::vector<Heaps::Entry> Heaps::entries() {
  std::vector<Entry> all;
  for (Slot& slot : heaps_) all.push_back(find_entry(slot.heap.pool().handle));
  return all;
}

const Heap* Heaps::find_heap(uint64_t handle) const noexcept {
  Slot* slot = const_cast<Heaps*>(this)->find_slot(handle);
  return slot == nullptr ? nullptr : &slot->heap;
}

const Heap* Heaps::find_heap_of(hsa_agent_t agent, uint32_t global_flags) const noexcept {
  for (const Slot& slot : heaps_) {
    const HeapFacts& facts = slot.heap.facts();
    if (facts.visible && facts.segment == HSA_AMD_SEGMENT_GLOBAL && facts.owner.handle == agent.handle &&
        (facts.global_flags & global_flags) == global_flags) {
      return &slot.heap;
    }
  }
  return nullptr;
}

Status Heaps::agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*),
                                    void* data) const {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (agents_.find(agent) == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  for (const bool system : {false, true}) {
    for (const Slot& slot : heaps_) {
      const HeapFacts& facts = slot.heap.facts();
      if (!facts.visible || slot.heap.is_system() != system) continue;
      if (!system && facts.owner.handle != agent.handle) continue;
      const Status status = callback(slot.heap.region(), data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
  }
  return HSA_STATUS_SUCCESS;
}

Status Heaps::agent_iterate_memory_pools(hsa_agent_t agent,
                                         hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                         void* data) const {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (agents_.find(agent) == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  for (const Slot& slot : heaps_) {
    if (!slot.heap.facts().visible || slot.heap.facts().owner.handle != agent.handle) continue;
    const Status status = callback(slot.heap.pool(), data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status Heaps::region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value) const {
  const Heap* heap = find_heap(region.handle);
  return heap == nullptr ? HSA_STATUS_ERROR_INVALID_REGION : heap->region_info(attribute, value);
}

Status Heaps::memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                   void* value) const {
  const Heap* heap = find_heap(pool.handle);
  return heap == nullptr ? Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL) : heap->pool_info(attribute, value);
}

Status Heaps::agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                         hsa_amd_agent_memory_pool_info_t attribute, void* value) const {
  const auto* entry = agents_.find(agent);
  if (entry == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  const Heap* heap = find_heap(pool.handle);
  if (heap == nullptr) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  return heap->agent_info(agents_, entry->facts, attribute, value);
}

Status Heaps::allocate(Slot& slot, size_t size, uint32_t flags, void** ptr) {
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

Status Heaps::memory_allocate(hsa_region_t region, size_t size, void** ptr) {
  if (ptr == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  Slot* slot = find_slot(region.handle);
  if (slot == nullptr) return HSA_STATUS_ERROR_INVALID_REGION;
  const Status status = allocate(*slot, size, 0, ptr);
  if (status != HSA_STATUS_SUCCESS || !slot->heap.is_system()) return status;
  // A system region is accessible to every agent; pools require a call for each agent.
  const Status opened = open_to_devices(*slot, *ptr);
  if (opened != HSA_STATUS_SUCCESS) free(std::exchange(*ptr, nullptr));
  return opened;
}

Status Heaps::open_to_devices(Slot& slot, void* ptr) {
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

Status Heaps::memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** ptr) {
  if (ptr == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  Slot* slot = find_slot(pool.handle);
  if (slot == nullptr) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  if ((flags & ~slot->heap.facts().allocation_flags) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "memory pool: does not support allocation flags {:#x}",
                flags);
  }
  // The routing of writes over PCIe does not affect host memory.
  if (slot->heap.is_system()) flags &= ~uint32_t{HSA_AMD_MEMORY_POOL_PCIE_FLAG};
  return allocate(*slot, size, flags, ptr);
}

bool Heaps::free(void* ptr) {
  if (ptr == nullptr) return true;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Extent* extent = extents_.find(address);
  PageAllocator* allocator =
      extent == nullptr ? nullptr : extent->published.owner.load(std::memory_order_acquire);
  const auto marks = allocator == nullptr ? std::nullopt : allocator->claim(*extent, address);
  if (!marks) return false;
  if (*marks == 0) return true;

  // Callbacks find the memory unchanged, except that they cannot free it again, and may throw.
  const Undo end([&] { end_allocation(*allocator, *extent, address); });
  if ((*marks & kHasCallbacks) == 0) return true;
  for (const DeallocationCallback& callback : take_callbacks(address))
    callback.function(callback.ptr, callback.user_data);
  return true;
}

std::vector<DeallocationCallback> Heaps::take_callbacks(uintptr_t address) {
  const MutexLock lock(aside_mutex_);
  const auto found = aside_.find(address);
  return found == aside_.end() ? std::vector<DeallocationCallback>()
                               : std::exchange(found->second.callbacks, {});
}

void Heaps::end_allocation(PageAllocator& allocator, Extent& extent, uintptr_t address) {
  AllocationData data;
  {
    const MutexLock lock(aside_mutex_);
    // First retires it, so that no further data is added for it.
    allocator.retire(extent, address);
    if (auto found = aside_.extract(address)) data = std::move(found.mapped());
  }
  data.name.reset();  // before the memory is reused
  allocator.reclaim(extent, address);
}

std::optional<Status> Heaps::add_callback(const DeallocationCallback& callback) {
  const auto address = reinterpret_cast<uintptr_t>(callback.ptr);
  Extent* extent = extents_.find(address);
  const MutexLock lock(aside_mutex_);
  const auto view = extent == nullptr ? std::nullopt : extent->view(address);
  if (!view) return std::nullopt;
  // The running callbacks were taken under this lock; no more will be taken.
  if ((view->marks & kBeingFreed) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: its allocation is being freed",
                callback.ptr);
  }
  PageAllocator* allocator = extent->published.owner.load(std::memory_order_acquire);
  auto& callbacks = aside_[view->base].callbacks;
  callbacks.push_back(callback);
  if (allocator != nullptr && allocator->change_marks(*extent, view->base, kHasCallbacks, 0)) {
    return HSA_STATUS_SUCCESS;
  }
  // It was freed after the lookup.
  callbacks.pop_back();
  if (callbacks.empty()) aside_.erase(view->base);
  return HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

std::optional<Status> Heaps::remove_callbacks(const void* ptr, hsa_amd_deallocation_callback_t function) {
  const auto allocation = view(reinterpret_cast<uintptr_t>(ptr));
  if (!allocation) return std::nullopt;
  const MutexLock lock(aside_mutex_);
  const auto found = aside_.find(allocation->base);
  if (found == aside_.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto matches = [&](const DeallocationCallback& entry) {
    return entry.ptr == ptr && entry.function == function;
  };
  return std::erase_if(found->second.callbacks, matches) == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT
                                                              : HSA_STATUS_SUCCESS;
}

bool Heaps::set_user_data(uintptr_t address, void* user_data) {
  Extent* extent = extents_.find(address);
  PageAllocator* allocator =
      extent == nullptr ? nullptr : extent->published.owner.load(std::memory_order_acquire);
  return allocator != nullptr && allocator->set_user_data(*extent, address, user_data);
}

size_t Heaps::available(hsa_agent_t agent) const {
  size_t bytes = 0;
  for (const Slot& slot : heaps_) {
    if (slot.allocator == nullptr || slot.heap.facts().owner.handle != agent.handle) continue;
    const auto footprint = slot.allocator->footprint();
    const size_t used = footprint.mapped_bytes - footprint.reserved_bytes;
    bytes += slot.heap.facts().size - std::min(slot.heap.facts().size, used);
  }
  return bytes;
}

Result<void*> Heaps::allocate_system(size_t size, uint32_t node) {
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

void Heaps::trim() {
  for (Slot& slot : heaps_) {
    if (slot.allocator) slot.allocator->trim();
  }
}

const Heap* Heaps::heap_of_locks() const noexcept {
  const Heap* first = nullptr;
  for (const Slot& slot : heaps_) {
    if (!slot.heap.is_system()) continue;
    if ((slot.heap.facts().global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0)
      return &slot.heap;
    if (first == nullptr) first = &slot.heap;
  }
  return first;
}

AgentSet Heaps::agents_with_access(const AllocationView& view) const {
  AgentSet set;
  for (size_t i = 0; i < agents_.size(); ++i) {
    if (view.heap->access(agents_, agents_[i]) == HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT) set.add(i);
  }
  if ((view.marks & kHasAccessList) != 0) {
    const MutexLock lock(aside_mutex_);
    const auto found = aside_.find(view.base);
    if (found != aside_.end() && found->second.access) set |= *found->second.access;
  }
  return set;
}

std::optional<Status> Heaps::allow_access(uintptr_t address, const hsa_agent_t* agents, uint32_t count) {
  Extent* extent = extents_.find(address);
  const auto view = extent == nullptr ? std::nullopt : extent->view(address);
  if (!view) return std::nullopt;
  if (view->base != address) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {:#x}: not the start of an allocation",
                address);
  }
  PageAllocator* allocator = extent->published.owner.load(std::memory_order_acquire);
  if (allocator == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;

  AgentSet allowed;
  for (uint32_t i = 0; i < count; ++i) {
    const auto* agent = agents_.find(agents[i]);
    if (agent == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (view->heap->access(agents_, agent->facts) == HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "agent {:#x}: can never access this memory pool",
                  agents[i].handle);
    }
    allowed.add(agent->index);
  }

  const MutexLock changes(access_mutex_);
  const Status status = allocator->grant(*extent, address, allowed);
  if (status != HSA_STATUS_SUCCESS) return status;
  const MutexLock lock(aside_mutex_);
  aside_[address].access = allowed;
  if (allocator->change_marks(*extent, address, kHasAccessList, 0)) return HSA_STATUS_SUCCESS;
  aside_.erase(address);
  return HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

Status Heaps::memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access) const {
  if (ptr == nullptr || access < HSA_ACCESS_PERMISSION_RO || access > HSA_ACCESS_PERMISSION_RW) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  // Coarse-grained memory is coherent between copies and dispatches of the runtime, which flush caches, so
  // the owner of a buffer makes no difference.
  return agents_.find(agent) == nullptr ? HSA_STATUS_ERROR_INVALID_AGENT : HSA_STATUS_SUCCESS;
}

Status Heaps::memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to,
                                      bool* result) const {
  if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (find_heap(from.handle) == nullptr || find_heap(to.handle) == nullptr) {
    return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  }
  *result = false;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

Status Heaps::memory_migrate(const void* ptr, hsa_amd_memory_pool_t pool, uint32_t flags) const {
  if (ptr == nullptr || flags != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Heap* heap = find_heap(pool.handle);
  if (heap == nullptr) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  const auto view = this->view(reinterpret_cast<uintptr_t>(ptr));
  if (!view || view->base != reinterpret_cast<uintptr_t>(ptr)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (view->heap == heap) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
              "hsa_amd_memory_migrate: memory cannot be moved to another pool");
}

Result<Heaps::Exposed> Heaps::expose(uintptr_t address) {
  Exposed exposed;
  exposed.extent = extents_.find(address);
  const auto view = exposed.extent == nullptr ? std::nullopt : exposed.extent->view(address);
  if (!view) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {:#x}: not in an allocation from a memory pool",
                address);
  }
  exposed.view = *view;
  exposed.allocator = exposed.extent->published.owner.load(std::memory_order_acquire);
  if (exposed.allocator == nullptr) return error(HSA_STATUS_ERROR_INVALID_ALLOCATION);
  if (!exposed.allocator->provider().is_shareable()) {
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "address {:#x}: the agent cannot share its memory", address);
  }
  const auto backing = exposed.allocator->expose(*exposed.extent, address);
  if (!backing) return error(HSA_STATUS_ERROR_INVALID_ALLOCATION);  // freed by another thread
  exposed.backing = *backing;
  return exposed;
}

Heaps::Name Heaps::name_of(uintptr_t base) const {
  const MutexLock lock(aside_mutex_);
  const auto found = aside_.find(base);
  return found == aside_.end() ? nullptr : found->second.name;
}

Heaps::Name Heaps::keep_name(const Exposed& exposed, Name name) {
  const uintptr_t base = exposed.view.base;
  const MutexLock lock(aside_mutex_);
  if (const auto found = aside_.find(base); found != aside_.end() && found->second.name)
    return found->second.name;
  if (!exposed.allocator->change_marks(*exposed.extent, base, kHasName, 0)) return nullptr;
  return aside_[base].name = std::move(name);
}

}  // namespace rigel
