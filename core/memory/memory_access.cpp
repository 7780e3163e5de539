// Access by agents, pointer queries, and locking of the application's memory.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/support/mutex.hpp"
#include "core/memory/memory_manager.hpp"

namespace rigel {

Status MemoryManager::agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents,
                                          const uint32_t* flags, const void* ptr) {
  if (num_agents == 0 || agents == nullptr || flags != nullptr || ptr == nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Extent* extent = extents_.find(address);
  const auto view = extent == nullptr ? std::nullopt : extent->view(address);
  if (!view) {
    if (const auto status = virtual_memory_.allow_access(address, agents, num_agents)) return *status;
    if (const auto imported = imported_.view(address); imported && imported->base == address) {
      const auto named = agents_named(num_agents, agents);
      if (!named) return named.error();
      ImportedBlock block;
      block.owner = imported->owner;
      block.host_accessible = imported->host_accessible;
      const auto allowed = who_may_reach(block, *named, false);
      if (!allowed) return allowed.error();
      const MutexLock changes(access_mutex_);
      if (const auto status = imported_.set_access(address, *allowed)) return *status;
    }
  }
  if (!view || view->base != address) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of an allocation", ptr);
  }
  PageAllocator* allocator = extent->published.owner.load(std::memory_order_acquire);
  if (allocator == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;

  AgentSet allowed;
  for (uint32_t i = 0; i < num_agents; ++i) {
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

Status MemoryManager::memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to,
                                              bool* result) {
  if (result == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (find_heap(from.handle) == nullptr || find_heap(to.handle) == nullptr) {
    return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  }
  *result = false;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

Status MemoryManager::memory_migrate(const void* ptr, hsa_amd_memory_pool_t pool, uint32_t flags) {
  if (ptr == nullptr || flags != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Heap* heap = find_heap(pool.handle);
  if (heap == nullptr) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  const auto view = extents_.view(reinterpret_cast<uintptr_t>(ptr));
  if (!view || view->base != reinterpret_cast<uintptr_t>(ptr)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (view->heap == heap) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
              "hsa_amd_memory_migrate: memory cannot be moved to another pool");
}

Status MemoryManager::memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access) {
  if (ptr == nullptr || access < HSA_ACCESS_PERMISSION_RO || access > HSA_ACCESS_PERMISSION_RW) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  // Coarse-grained memory is coherent between copies and dispatches of the runtime, which flush caches, so
  // the owner of a buffer makes no difference.
  return agents_.find(agent) == nullptr ? HSA_STATUS_ERROR_INVALID_AGENT : HSA_STATUS_SUCCESS;
}

Status MemoryManager::memory_register(void* ptr, size_t size) {
  if (size == 0 && ptr != nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (size > PTRDIFF_MAX) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address {}: a size of {} bytes exceeds the address space",
                ptr, size);
  }
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::memory_deregister(void*, size_t) {
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type) {
  const auto* entry = agents_.find(agent);
  if (entry == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  if (type == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (entry->facts.type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_ERROR_INVALID_AGENT;
  *type = entry->coherency.load(std::memory_order_relaxed);
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type) {
  auto* entry = agents_.find(agent);
  if (entry == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  if (type != HSA_AMD_COHERENCY_TYPE_COHERENT && type != HSA_AMD_COHERENCY_TYPE_NONCOHERENT) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (entry->facts.type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_ERROR_INVALID_AGENT;
  // Deprecated and without effect on every device since Kaveri, but the value can be read back.
  entry->coherency.store(type, std::memory_order_relaxed);
  return HSA_STATUS_SUCCESS;
}

const Heap* MemoryManager::heap_of_locks() const noexcept {
  const Heap* first = nullptr;
  for (const HeapSlot& slot : heaps_) {
    if (!slot.heap.is_system()) continue;
    if ((slot.heap.facts().global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0)
      return &slot.heap;
    if (first == nullptr) first = &slot.heap;
  }
  return first;
}

Status MemoryManager::memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                  void** agent_ptr) {
  const Heap* heap = heap_of_locks();
  if (heap == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return lock_range(host_ptr, size, agents, num_agent, *heap, agent_ptr);
}

Status MemoryManager::memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                          hsa_amd_memory_pool_t pool, uint32_t flags, void** agent_ptr) {
  if (flags != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Heap* heap = find_heap(pool.handle);
  if (heap == nullptr || !heap->is_system()) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  return lock_range(host_ptr, size, agents, num_agent, *heap, agent_ptr);
}

Status MemoryManager::lock_range(void* host_ptr, size_t size, const hsa_agent_t* agents, int num_agent,
                                 const Heap& heap, void** agent_ptr) {
  const auto start = reinterpret_cast<uintptr_t>(host_ptr);
  if (size == 0 || size > PTRDIFF_MAX || host_ptr == nullptr || agent_ptr == nullptr || num_agent < 0 ||
      (agents == nullptr) != (num_agent == 0) || start + size < start) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *agent_ptr = nullptr;

  AgentSet allowed;
  if (num_agent == 0) {
    for (size_t i = 0; i < agents_.size(); ++i) allowed.add(i);
  }
  bool devices = num_agent == 0 && agents_.size() > agents_.hosts().count();
  for (int i = 0; i < num_agent; ++i) {
    const auto* agent = agents_.find(agents[i]);
    if (agent == nullptr || heap.access(agents_, agent->facts) == HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
      return HSA_STATUS_ERROR_INVALID_AGENT;
    }
    allowed.add(agent->index);
    devices |= agent->facts.type != HSA_DEVICE_TYPE_CPU;
  }

  {
    // Threads that copy from one buffer lock it repeatedly.
    const WriterLock lock(locked_mutex_);
    RangeMap<LockedRange>::Entry* same = nullptr;
    locked_.visit_starting(start, [&](RangeMap<LockedRange>::Entry& entry) {
      if (entry.size == size && entry.value.heap == &heap && entry.value.agents == allowed) same = &entry;
    });
    if (same != nullptr) {
      ++same->value.locks;
      *agent_ptr = same->value.agent_address;
      return HSA_STATUS_SUCCESS;
    }
  }

  LockedRange range{0, host_ptr, &heap, allowed, nullptr, nullptr, 1};
  const auto pinned = pin_range(host_ptr, size, devices ? allowed : AgentSet(), heap);
  if (!pinned) return pinned.error();
  range.pinned = *pinned;
  if (range.pinned != nullptr) range.agent_address = range.pinned->address();
  const WriterLock lock(locked_mutex_);
  range.serial = ++lock_serial_;
  auto& entry = locked_.insert(start, size, range);
  try {
    if (range.agent_address != host_ptr)
      locked_elsewhere_.insert(reinterpret_cast<uintptr_t>(range.agent_address), size, &entry);
  } catch (...) {
    locked_.erase(entry);
    throw;
  }
  *agent_ptr = range.agent_address;
  return HSA_STATUS_SUCCESS;
}

bool MemoryManager::is_mapped(const void* ptr, size_t size) noexcept {
  const uintptr_t start = reinterpret_cast<uintptr_t>(ptr);
  const uintptr_t first_page = start & ~(kPageSize - 1);
  const size_t span = (start + size - first_page + kPageSize - 1) & ~(kPageSize - 1);
  // msync queries the kernel for every mapping of the range and does nothing else.
  return msync(reinterpret_cast<void*>(first_page), span, MS_ASYNC) == 0;
}

/// Returns null if no agent needs an explicit mapping.
Result<std::shared_ptr<const PinnedMemory>> MemoryManager::pin_range(void* host_ptr, size_t size,
                                                                     const AgentSet& agents,
                                                                     const Heap& heap) const {
  // Without this check, an agent's access would be the first to fail.
  if (!is_mapped(host_ptr, size)) {
    return fail(Status(HSA_STATUS_ERROR_OUT_OF_RESOURCES), "address {}: {} bytes cannot be locked: {}",
                host_ptr, size, std::strerror(errno));
  }
  if (agents.count() == 0 || pinner_ == nullptr) return std::shared_ptr<const PinnedMemory>();
  const auto pinned = std::make_shared<PinnedMemory>(*pinner_, host_ptr, size);
  const Status status = pinned->pin(agents, heap.facts().global_flags);
  if (status != HSA_STATUS_SUCCESS) return error(status);
  return pinned;
}

Result<MemoryManager::Reached> MemoryManager::pin(hsa_agent_t agent, void* host_ptr, size_t size) {
  const auto* entry = agents_.find(agent);
  const Heap* heap = heap_of_locks();
  if (entry == nullptr) return error(HSA_STATUS_ERROR_INVALID_AGENT);
  if (heap == nullptr) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  AgentSet allowed;
  allowed.add(entry->index);
  const auto pinned = pin_range(host_ptr, size, allowed, *heap);
  if (!pinned) return error(pinned.error());
  return Reached{*pinned == nullptr ? host_ptr : (*pinned)->address(), *pinned};
}

Status MemoryManager::memory_unlock(void* host_ptr) {
  const auto start = reinterpret_cast<uintptr_t>(host_ptr);
  {
    const WriterLock lock(locked_mutex_);
    RangeMap<LockedRange>::Entry* held = nullptr;
    locked_.visit_starting(start, [&](RangeMap<LockedRange>::Entry& entry) {
      if (entry.value.locks != 0) held = &entry;
    });
    if (held == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not locked", host_ptr);
    --held->value.locks;
  }
  // One after the other, so that memory is unpinned while no thread waits for the lock.
  while (take_unlocked(start)) {
  }
  return HSA_STATUS_SUCCESS;
}

std::optional<MemoryManager::LockedRange> MemoryManager::take_unlocked(uintptr_t start) {
  const WriterLock lock(locked_mutex_);
  RangeMap<LockedRange>::Entry* any = nullptr;
  size_t locks = 0;
  locked_.visit_starting(start, [&](RangeMap<LockedRange>::Entry& entry) {
    locks += entry.value.locks;
    any = &entry;
  });
  if (any == nullptr || locks != 0) return std::nullopt;
  decltype(locked_elsewhere_)::Entry* elsewhere = nullptr;
  locked_elsewhere_.visit_starting(reinterpret_cast<uintptr_t>(any->value.agent_address), [&](auto& entry) {
    if (entry.value == any) elsewhere = &entry;
  });
  if (elsewhere != nullptr) locked_elsewhere_.erase(*elsewhere);
  std::optional<LockedRange> taken(std::move(any->value));
  locked_.erase(*any);
  return taken;
}

std::optional<MemoryManager::LockedView> MemoryManager::locked_around(uintptr_t address, size_t size,
                                                                      std::optional<size_t> agent) const {
  const ReaderLock lock(locked_mutex_);
  std::optional<LockedView> latest;
  const auto look = [&](const RangeMap<LockedRange>::Entry& entry, size_t offset) {
    if (size > entry.size - offset || (agent && !entry.value.agents.has(*agent))) return;
    if (!latest || entry.value.serial > latest->value.serial) latest.emplace(LockedView{entry, offset});
  };
  locked_.visit_around(address, [&](const auto& entry) { look(entry, address - entry.start); });
  if (latest) return latest;
  locked_elsewhere_.visit_around(address,
                                 [&](const auto& entry) { look(*entry.value, address - entry.start); });
  return latest;
}

AgentSet MemoryManager::accessible_agents(const AllocationView& view) const {
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

Status MemoryManager::pointer_info(const void* ptr, hsa_amd_pointer_info_t* info, void* (*alloc)(size_t),
                                   uint32_t* num_agents_accessible, hsa_agent_t** accessible) {
  if (ptr == nullptr || info == nullptr || info->size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const bool list_wanted = alloc != nullptr && num_agents_accessible != nullptr && accessible != nullptr;
  const auto address = reinterpret_cast<uintptr_t>(ptr);

  hsa_amd_pointer_info_t answer{};
  AgentSet reachable;
  bool host_accessible = false;
  if (const auto view = extents_.view(address)) {
    const HeapFacts& facts = view->heap->facts();
    answer.type = HSA_EXT_POINTER_TYPE_HSA;
    answer.agentBaseAddress = reinterpret_cast<void*>(view->base);
    host_accessible = facts.host_accessible;
    answer.hostBaseAddress = host_accessible ? answer.agentBaseAddress : nullptr;
    answer.sizeInBytes = view->size;
    answer.userData = view->user_data;
    answer.agentOwner = facts.owner;
    answer.global_flags = facts.global_flags;
    if (list_wanted) reachable = accessible_agents(*view);
  } else if (const auto mapped = virtual_memory_.view(address)) {
    answer.type = mapped->mapped() ? HSA_EXT_POINTER_TYPE_HSA_VMEM : HSA_EXT_POINTER_TYPE_RESERVED_ADDR;
    host_accessible = mapped->host_reads || mapped->host_writes;
    answer.agentBaseAddress = answer.hostBaseAddress = reinterpret_cast<void*>(mapped->base);
    answer.sizeInBytes = mapped->size;
    answer.userData = mapped->user_data;
    if (mapped->heap != nullptr) {
      answer.agentOwner = mapped->heap->facts().owner;
      answer.global_flags = mapped->heap->facts().global_flags;
    }
    reachable = mapped->agents;
  } else if (const auto imported = imported_.view(address)) {
    answer.type = imported->type;
    answer.agentBaseAddress = reinterpret_cast<void*>(imported->base);
    host_accessible = imported->host_accessible;
    answer.hostBaseAddress = host_accessible ? answer.agentBaseAddress : nullptr;
    answer.sizeInBytes = imported->size;
    answer.userData = imported->user_data;
    if (const Heap* heap = heap_of_imported(imported->owner)) {
      answer.agentOwner = heap->facts().owner;
      answer.global_flags = heap->facts().global_flags;
    }
    reachable = imported->agents;
  } else if (const auto locked = locked_around(address)) {
    answer.type = HSA_EXT_POINTER_TYPE_LOCKED;
    host_accessible = true;
    answer.agentBaseAddress = locked->value.agent_address;
    answer.hostBaseAddress = reinterpret_cast<void*>(locked->start);
    answer.sizeInBytes = locked->size;
    answer.userData = locked->value.user_data;
    answer.agentOwner = locked->value.heap->facts().owner;
    answer.global_flags = locked->value.heap->facts().global_flags;
    reachable = locked->value.agents;
    reachable |= agents_.hosts();
  }

  // Memory is registered only if a driver has mapped it for a device, or for more than the host.
  answer.registered =
      answer.type != HSA_EXT_POINTER_TYPE_UNKNOWN && agents_.hosts().count() != agents_.size();
  if (answer.type == HSA_EXT_POINTER_TYPE_UNKNOWN) {
    // Last, because parts of it may be locked like any host memory.
    if (const auto plain = virtual_memory_.plain_reservation(address)) {
      answer.type = HSA_EXT_POINTER_TYPE_RESERVED_ADDR;
      answer.agentBaseAddress = answer.hostBaseAddress = reinterpret_cast<void*>(plain->base);
      answer.sizeInBytes = plain->size;
    }
  }
  if (host_accessible) answer.alloc_flags = HSA_AMD_POINTER_INFO_ALLOC_FLAG_HOST_ACCESS;

  // The caller's structure may be an older, shorter version.
  answer.size = std::min<uint32_t>(info->size, sizeof answer);
  std::memcpy(info, &answer, answer.size);
  if (!list_wanted) return HSA_STATUS_SUCCESS;

  *num_agents_accessible = 0;
  *accessible = nullptr;
  const size_t count = reachable.count();
  if (count == 0) return HSA_STATUS_SUCCESS;
  auto* list = static_cast<hsa_agent_t*>(alloc(count * sizeof(hsa_agent_t)));
  if (list == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "hsa_amd_pointer_info: the caller's allocator returned NULL");
  size_t next = 0;
  reachable.for_each([&](size_t index) { list[next++] = agents_[index].handle; });
  *num_agents_accessible = static_cast<uint32_t>(count);
  *accessible = list;
  return HSA_STATUS_SUCCESS;
}

Status MemoryManager::pointer_info_set_userdata(const void* ptr, void* user_data) {
  if (ptr == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Extent* extent = extents_.find(address);
  PageAllocator* allocator =
      extent == nullptr ? nullptr : extent->published.owner.load(std::memory_order_acquire);
  if (allocator != nullptr && allocator->set_user_data(*extent, address, user_data))
    return HSA_STATUS_SUCCESS;
  if (virtual_memory_.set_user_data(address, user_data)) return HSA_STATUS_SUCCESS;
  if (imported_.set_user_data(address, user_data)) return HSA_STATUS_SUCCESS;

  const WriterLock lock(locked_mutex_);
  RangeMap<LockedRange>::Entry* latest = nullptr;
  locked_.visit_starting(address, [&](RangeMap<LockedRange>::Entry& entry) {
    if (latest == nullptr || entry.value.serial > latest->value.serial) latest = &entry;
  });
  if (latest == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: not in memory of this runtime", ptr);
  latest->value.user_data = user_data;
  return HSA_STATUS_SUCCESS;
}

std::optional<MemoryManager::Reached> MemoryManager::reach(hsa_agent_t agent, const void* ptr,
                                                           size_t size) const {
  const auto* entry = agents_.find(agent);
  if (entry == nullptr) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  // Memory of `length` bytes from `base` that these agents can access.
  const auto if_reached = [&](uintptr_t base, size_t length, const AgentSet& agents) {
    const bool reached = agents.has(entry->index) && size <= length - (address - base);
    return reached ? std::optional(Reached{const_cast<void*>(ptr), nullptr}) : std::nullopt;
  };
  if (const auto view = extents_.view(address))
    return if_reached(view->base, view->size, accessible_agents(*view));
  if (const auto mapped = virtual_memory_.view(address, size))
    return if_reached(mapped->base, mapped->size, mapped->agents);
  if (const auto imported = imported_.view(address))
    return if_reached(imported->base, imported->size, imported->agents);
  const auto locked = locked_around(address, size, entry->index);
  if (!locked) return std::nullopt;
  return Reached{static_cast<std::byte*>(locked->value.agent_address) + locked->offset, locked->value.pinned};
}

void* MemoryManager::host_address(const void* ptr) const {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  if (!extents_.view(address) && !virtual_memory_.view(address)) {
    if (const auto locked = locked_around(address))
      return reinterpret_cast<void*>(locked->start + locked->offset);
  }
  return const_cast<void*>(ptr);
}

/// For `locate`: addresses outside allocations, and extents that were being changed.
Placement MemoryManager::locate_elsewhere(uintptr_t address, size_t size) const {
  Placement found;
  if (const auto view = extents_.view(address)) {
    const HeapFacts& facts = view->heap->facts();
    found.type = HSA_EXT_POINTER_TYPE_HSA;
    found.base = view->base;
    found.size = view->size;
    found.owner = facts.owner;
    found.host_reads = found.host_writes = facts.host_accessible;
    found.in_host = facts.location == HSA_AMD_MEMORY_POOL_LOCATION_CPU;
  } else if (const auto mapped = virtual_memory_.view(address, size)) {
    found.type = mapped->mapped() ? HSA_EXT_POINTER_TYPE_HSA : HSA_EXT_POINTER_TYPE_RESERVED_ADDR;
    found.base = mapped->base;
    found.size = mapped->size;
    found.host_reads = mapped->host_reads;
    found.host_writes = mapped->host_writes;
    if (mapped->heap != nullptr) {
      found.owner = mapped->heap->facts().owner;
      found.in_host = mapped->heap->is_system();
    }
  } else if (const auto imported = imported_.view(address)) {
    found.type = imported->type;
    found.base = imported->base;
    found.size = imported->size;
    found.host_reads = found.host_writes = imported->host_accessible;
    if (imported->owner != ImportedBlock::kNobody) {
      found.owner = agents_[imported->owner].handle;
      found.in_host = agents_[imported->owner].type == HSA_DEVICE_TYPE_CPU;
    }
  } else if (const auto locked = locked_around(address)) {
    found.type = HSA_EXT_POINTER_TYPE_LOCKED;
    found.base = address - locked->offset;
    found.size = locked->size;
    found.owner = locked->value.heap->facts().owner;
    found.to_host = static_cast<ptrdiff_t>(locked->start - found.base);
  }
  return found;
}

}  // namespace rigel
