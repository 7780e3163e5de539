#include "core/memory/locked_memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "api/support/page_size.hpp"

namespace rigel {

Status LockedMemory::memory_register(void* ptr, size_t size) {
  if (size == 0 && ptr != nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (size > PTRDIFF_MAX) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address {}: a size of {} bytes exceeds the address space",
                ptr, size);
  }
  return HSA_STATUS_SUCCESS;
}

Status LockedMemory::memory_deregister(void*, size_t) {
  return HSA_STATUS_SUCCESS;
}

Status LockedMemory::memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                 void** agent_ptr) {
  const Heap* heap = heaps_.heap_of_locks();
  if (heap == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return lock_range(host_ptr, size, agents, num_agent, *heap, agent_ptr);
}

Status LockedMemory::memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                         hsa_amd_memory_pool_t pool, uint32_t flags, void** agent_ptr) {
  if (flags != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Heap* heap = heaps_.find_heap(pool.handle);
  if (heap == nullptr || !heap->is_system()) return Status(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  return lock_range(host_ptr, size, agents, num_agent, *heap, agent_ptr);
}

Status LockedMemory::lock_range(void* host_ptr, size_t size, const hsa_agent_t* agents, int num_agent,
                                const Heap& heap, void** agent_ptr) {
  const auto start = reinterpret_cast<uintptr_t>(host_ptr);
  if (size == 0 || size > PTRDIFF_MAX || host_ptr == nullptr || agent_ptr == nullptr || num_agent < 0 ||
      (agents == nullptr) != (num_agent == 0) || start + size < start) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  *agent_ptr = nullptr;

  AgentSet allowed = num_agent == 0 ? agents_.all() : AgentSet();
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
    const WriterLock lock(mutex_);
    Ranges::Entry* same = nullptr;
    ranges_.visit_starting(start, [&](Ranges::Entry& entry) {
      if (entry.size == size && entry.value.heap == &heap && entry.value.agents == allowed) same = &entry;
    });
    if (same != nullptr) {
      ++same->value.locks;
      *agent_ptr = same->value.agent_address;
      return HSA_STATUS_SUCCESS;
    }
  }

  Range range{0, host_ptr, &heap, allowed, nullptr, nullptr, 1};
  const auto pinned = pin_range(host_ptr, size, devices ? allowed : AgentSet(), heap);
  if (!pinned) return pinned.error();
  range.pinned = *pinned;
  if (range.pinned != nullptr) range.agent_address = range.pinned->address();
  const WriterLock lock(mutex_);
  range.serial = ++serial_;
  auto& entry = ranges_.insert(start, size, range);
  try {
    if (range.agent_address != host_ptr)
      elsewhere_.insert(reinterpret_cast<uintptr_t>(range.agent_address), size, &entry);
  } catch (...) {
    ranges_.erase(entry);
    throw;
  }
  *agent_ptr = range.agent_address;
  return HSA_STATUS_SUCCESS;
}

bool LockedMemory::is_mapped(const void* ptr, size_t size) noexcept {
  const uintptr_t start = reinterpret_cast<uintptr_t>(ptr);
  const uintptr_t first_page = page_down(start);
  const size_t span = page_up(start + size - first_page);
  // msync queries the kernel for every mapping of the range and does nothing else.
  return msync(reinterpret_cast<void*>(first_page), span, MS_ASYNC) == 0;
}

Result<std::shared_ptr<const PinnedMemory>> LockedMemory::pin_range(void* host_ptr, size_t size,
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

Result<AgentAddress> LockedMemory::pin(hsa_agent_t agent, void* host_ptr, size_t size) {
  const auto* entry = agents_.find(agent);
  const Heap* heap = heaps_.heap_of_locks();
  if (entry == nullptr) return error(HSA_STATUS_ERROR_INVALID_AGENT);
  if (heap == nullptr) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  AgentSet allowed;
  allowed.add(entry->index);
  const auto pinned = pin_range(host_ptr, size, allowed, *heap);
  if (!pinned) return error(pinned.error());
  return AgentAddress{*pinned == nullptr ? host_ptr : (*pinned)->address(), *pinned};
}

Status LockedMemory::memory_unlock(void* host_ptr) {
  const auto start = reinterpret_cast<uintptr_t>(host_ptr);
  {
    const WriterLock lock(mutex_);
    Ranges::Entry* held = nullptr;
    ranges_.visit_starting(start, [&](Ranges::Entry& entry) {
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

std::optional<LockedMemory::Range> LockedMemory::take_unlocked(uintptr_t start) {
  const WriterLock lock(mutex_);
  Ranges::Entry* any = nullptr;
  size_t locks = 0;
  ranges_.visit_starting(start, [&](Ranges::Entry& entry) {
    locks += entry.value.locks;
    any = &entry;
  });
  if (any == nullptr || locks != 0) return std::nullopt;
  decltype(elsewhere_)::Entry* elsewhere = nullptr;
  elsewhere_.visit_starting(reinterpret_cast<uintptr_t>(any->value.agent_address), [&](auto& entry) {
    if (entry.value == any) elsewhere = &entry;
  });
  if (elsewhere != nullptr) elsewhere_.erase(*elsewhere);
  std::optional<Range> taken(std::move(any->value));
  ranges_.erase(*any);
  return taken;
}

std::optional<LockedMemory::View> LockedMemory::view(uintptr_t address, size_t size,
                                                     std::optional<size_t> agent) const {
  const ReaderLock lock(mutex_);
  const Ranges::Entry* latest = nullptr;
  size_t offset = 0;
  const auto look = [&](const Ranges::Entry& entry, size_t at) {
    if (size > entry.size - at || (agent && !entry.value.agents.has(*agent))) return;
    if (latest != nullptr && entry.value.serial <= latest->value.serial) return;
    latest = &entry;
    offset = at;
  };
  ranges_.visit_around(address, [&](const auto& entry) { look(entry, address - entry.start); });
  if (latest == nullptr)
    elsewhere_.visit_around(address, [&](const auto& entry) { look(*entry.value, address - entry.start); });
  if (latest == nullptr) return std::nullopt;
  const Range& range = latest->value;
  return View{.offset = offset,
              .host_start = latest->start,
              .agent_start = reinterpret_cast<uintptr_t>(range.agent_address),
              .size = latest->size,
              .heap = range.heap,
              .agents = range.agents,
              .user_data = range.user_data,
              .pinned = range.pinned};
}

bool LockedMemory::set_user_data(uintptr_t address, void* user_data) {
  const WriterLock lock(mutex_);
  Ranges::Entry* latest = nullptr;
  ranges_.visit_starting(address, [&](Ranges::Entry& entry) {
    if (latest == nullptr || entry.value.serial > latest->value.serial) latest = &entry;
  });
  if (latest == nullptr) return false;
  latest->value.user_data = user_data;
  return true;
}

}  // namespace rigel
