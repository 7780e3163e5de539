#include "core/memory/virtual_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/support/handle_table.hpp"
#include "api/support/mutex.hpp"
#include "core/memory/extent.hpp"

namespace rigel {
namespace {

constexpr uint64_t kHandleTag = uint64_t{static_cast<uint8_t>(HandleKind::kVirtualMemory)} << 56;

uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}
void* pointer_to(uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

bool is_page_multiple(uint64_t value) {
  return value % kPageBytes == 0;
}

/// Returns the number in an enumeration of the application, which need not be an enumerator.
uint32_t number_of(const hsa_access_permission_t& permission) {
  uint32_t number = 0;
  static_assert(sizeof number == sizeof permission);
  std::memcpy(&number, &permission, sizeof number);
  return number;
}

bool may_read(hsa_access_permission_t permission) {
  return (permission & HSA_ACCESS_PERMISSION_RO) != 0;
}
bool may_write(hsa_access_permission_t permission) {
  return (permission & HSA_ACCESS_PERMISSION_WO) != 0;
}

void* reserve(void* where, size_t size, int flags, bool plain) {
  const int protection = plain ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* address = mmap(where, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void* reserve_aligned(size_t size, size_t alignment, bool plain) {
  if (alignment <= kPageBytes) return reserve(nullptr, size, 0, plain);
  size_t padded = 0;
  if (__builtin_add_overflow(size, alignment - kPageBytes, &padded)) return nullptr;
  void* raw = reserve(nullptr, padded, 0, plain);
  if (raw == nullptr) return nullptr;
  const uintptr_t start = (address_of(raw) + alignment - 1) & ~(alignment - 1);
  const size_t before = start - address_of(raw);
  const size_t after = padded - before - size;
  if (before != 0) munmap(raw, before);
  if (after != 0) munmap(pointer_to(start + size), after);
  return pointer_to(start);
}

/// Returns the mapping or reservation that contains the address, or the end.
template <class Map>
auto around(Map& map, uintptr_t address) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return map.end();
  --after;
  return address - after->first < after->second.size ? after : map.end();
}

}  // namespace

VirtualMemory::~VirtualMemory() {
  while (!mappings_.empty()) unmap_one(mappings_.begin());
  for (const auto& [base, reservation] : reservations_) munmap(pointer_to(base), reservation.size);
}

Status VirtualMemory::address_reserve_align(void** va, size_t size, uint64_t address, uint64_t alignment,
                                            uint64_t flags) {
  if (alignment == 0) alignment = kPageBytes;
  if (va == nullptr || size == 0 || !is_page_multiple(size) || alignment < kPageBytes ||
      (alignment & (alignment - 1)) != 0 || (flags & ~uint64_t{HSA_AMD_VMEM_ADDRESS_NO_REGISTER}) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "address reservation: invalid size {}, alignment {} or flags {:#x}", size, alignment, flags);
  }
  const bool plain = (flags & HSA_AMD_VMEM_ADDRESS_NO_REGISTER) != 0;
  void* start = nullptr;
  const bool everywhere = plain || addresses_from_.reserve == nullptr;
  const bool in_reach =
      everywhere || (address <= addresses_from_.limit && size - 1 <= addresses_from_.limit - address);
  if (address != 0 && address % alignment == 0 && in_reach) {
    start = reserve(pointer_to(address), size, MAP_FIXED_NOREPLACE, plain);
    if (start != nullptr && address_of(start) != address) {
      // A kernel without MAP_FIXED_NOREPLACE treats the address as a hint.
      munmap(start, size);
      start = nullptr;
    }
  }
  if (start == nullptr) {
    start = everywhere ? reserve_aligned(size, alignment, plain)
                       : addresses_from_.reserve(addresses_from_.context, size, alignment);
  }
  if (start == nullptr) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "address space: cannot reserve {} bytes: {}", size,
                std::strerror(errno));
  }
  try {
    const WriterLock lock(mutex_);
    reservations_.emplace(address_of(start), Reservation{size, plain});
  } catch (...) {
    munmap(start, size);
    throw;
  }
  *va = start;
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::address_free(void* va, size_t size) {
  if (va == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const WriterLock lock(mutex_);
  const auto found = reservations_.find(address_of(va));
  if (found == reservations_.end()) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of a reservation", va);
  }
  if (found->second.size != size) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: the reservation has {} bytes, not {}", va,
                found->second.size, size);
  }
  const auto mapped = mappings_.lower_bound(found->first);
  if (mapped != mappings_.end() && mapped->first - found->first < size) {
    return fail(HSA_STATUS_ERROR_RESOURCE_FREE, "address {}: memory is mapped in the reservation",
                pointer_to(mapped->first));
  }
  munmap(va, size);
  reservations_.erase(found);
  return HSA_STATUS_SUCCESS;
}

VirtualMemory::Memory* VirtualMemory::live(hsa_amd_vmem_alloc_handle_t handle) noexcept {
  const auto found = memories_.find(handle.handle);
  return found == memories_.end() || found->second.references == 0 ? nullptr : &found->second;
}

VirtualMemory::Memory& VirtualMemory::add(const Heap& heap, size_t size, hsa_amd_memory_type_t type,
                                          std::unique_ptr<PhysicalMemory> physical) {
  const uint64_t id = kHandleTag | next_id_++;
  Memory& memory = memories_[id];
  memory.id = id;
  memory.heap = &heap;
  memory.size = size;
  memory.type = type;
  memory.physical = std::move(physical);
  memory.references = 1;
  return memory;
}

void VirtualMemory::drop_if_unused(Memory* memory) noexcept {
  if (memory->references == 0 && memory->mappings == 0) memories_.erase(memory->id);
}

Status VirtualMemory::handle_create(hsa_amd_memory_pool_t pool, size_t size, hsa_amd_memory_type_t type,
                                    uint64_t flags, hsa_amd_vmem_alloc_handle_t* memory_handle) {
  const auto [heap, provider] = heaps_.find_entry(pool.handle);
  if (heap == nullptr || memory_handle == nullptr ||
      (flags & ~uint64_t{HSA_AMD_MEMORY_POOL_UNCACHED_FLAG}) != 0 ||
      (type != MEMORY_TYPE_NONE && type != MEMORY_TYPE_PINNED)) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (provider == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "memory pool: does not support allocation");
  if (size == 0 || size % heap->facts().granule != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "memory pool: {} bytes are not a positive multiple of its granule of {} bytes", size,
                heap->facts().granule);
  }
  if (size > heap->facts().allocation_limit) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "memory pool: {} bytes exceed its limit of {} bytes", size,
                heap->facts().allocation_limit);
  }
  auto physical = provider->create_physical(size, static_cast<uint32_t>(flags));
  if (!physical) return physical.error();
  const WriterLock lock(mutex_);
  memory_handle->handle = add(*heap, size, type, std::move(*physical)).id;
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::handle_release(hsa_amd_vmem_alloc_handle_t memory_handle) {
  const WriterLock lock(mutex_);
  Memory* memory = live(memory_handle);
  if (memory == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "memory handle {:#x}: invalid", memory_handle.handle);
  }
  --memory->references;
  drop_if_unused(memory);
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::retain_alloc_handle(hsa_amd_vmem_alloc_handle_t* memory_handle, void* addr) {
  if (memory_handle == nullptr || addr == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const WriterLock lock(mutex_);
  const auto mapping = mapping_around(address_of(addr));
  if (mapping == mappings_.end())
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: no memory is mapped here", addr);
  ++mapping->second.memory->references;
  memory_handle->handle = mapping->second.memory->id;
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::get_alloc_properties_from_handle(hsa_amd_vmem_alloc_handle_t memory_handle,
                                                       hsa_amd_memory_pool_t* pool,
                                                       hsa_amd_memory_type_t* type) {
  if (pool == nullptr || type == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const ReaderLock lock(mutex_);
  const Memory* memory = live(memory_handle);
  if (memory == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  *pool = memory->heap->pool();
  *type = memory->type;
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::export_shareable_handle(int* dmabuf_fd, hsa_amd_vmem_alloc_handle_t handle,
                                              uint64_t flags) {
  if (dmabuf_fd == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *dmabuf_fd = -1;
  if (flags != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const WriterLock lock(mutex_);
  Memory* memory = live(handle);
  if (memory == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  const auto descriptor = memory->physical->export_descriptor();
  if (!descriptor) return descriptor.error();
  struct stat about {};
  if (fstat(*descriptor, &about) == 0) memory->identity = {about.st_dev, about.st_ino};
  *dmabuf_fd = *descriptor;
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::import_shareable_handle(int dmabuf_fd, hsa_amd_vmem_alloc_handle_t* handle) {
  if (handle == nullptr || dmabuf_fd < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  struct stat about {};
  if (fstat(dmabuf_fd, &about) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "file descriptor {}: {}", dmabuf_fd,
                std::strerror(errno));
  }
  const std::pair<uint64_t, uint64_t> identity{about.st_dev, about.st_ino};
  const WriterLock lock(mutex_);
  for (auto& [id, memory] : memories_) {
    if (memory.identity != identity) continue;
    ++memory.references;
    handle->handle = id;
    return HSA_STATUS_SUCCESS;
  }
  // Devices first: they recognise their memory, while the host accepts any similar file.
  auto heaps = heaps_.entries();
  std::stable_partition(heaps.begin(), heaps.end(),
                        [](const Heaps::Entry& entry) { return !entry.heap->is_system(); });
  for (const auto& [heap, provider] : heaps) {
    if (provider == nullptr) continue;
    auto imported = provider->import_physical(dmabuf_fd);
    if (!imported) {
      if (imported.error() == HSA_STATUS_ERROR_INVALID_ALLOCATION) continue;
      return imported.error();
    }
    Memory& memory = add(*heap, imported->size, MEMORY_TYPE_NONE, std::move(imported->memory));
    memory.identity = identity;
    handle->handle = memory.id;
    return HSA_STATUS_SUCCESS;
  }
  return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "file descriptor {}: not memory that an agent can use",
              dmabuf_fd);
}

VirtualMemory::Mappings::iterator VirtualMemory::mapping_around(uintptr_t address) {
  return around(mappings_, address);
}

VirtualMemory::Reservations::const_iterator VirtualMemory::reservation_around(uintptr_t address,
                                                                              size_t size) const {
  const auto found = around(reservations_, address);
  const bool in_one = found != reservations_.end() && size <= found->second.size - (address - found->first);
  return in_one ? found : reservations_.end();
}

Status VirtualMemory::map(void* va, size_t size, size_t in_offset, hsa_amd_vmem_alloc_handle_t memory_handle,
                          uint64_t flags) {
  const uintptr_t start = address_of(va);
  if (va == nullptr || size == 0 || !is_page_multiple(size) || !is_page_multiple(start) || in_offset != 0 ||
      flags != 0) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const WriterLock lock(mutex_);
  Memory* memory = live(memory_handle);
  if (memory == nullptr || size > memory->size) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "memory handle {:#x}: invalid, or of less than {} bytes",
                memory_handle.handle, size);
  }
  if (reservation_around(start, size) == reservations_.end()) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: {} bytes are not in one reservation", va,
                size);
  }
  const auto next = mappings_.lower_bound(start);
  if (mapping_around(start) != mappings_.end() || (next != mappings_.end() && next->first - start < size)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: memory is already mapped within {} bytes", va,
                size);
  }
  // Built first and merged after the map succeeds: merge() allocates no memory.
  Mappings made;
  made.emplace(start, Mapping{size, memory, {}, nullptr});
  const Status status = memory->physical->map(va, size);
  if (status != HSA_STATUS_SUCCESS) return status;
  mappings_.merge(made);
  ++memory->mappings;
  return HSA_STATUS_SUCCESS;
}

void VirtualMemory::unmap_one(Mappings::iterator mapping) noexcept {
  const uintptr_t start = mapping->first;
  const size_t size = mapping->second.size;
  Memory* memory = mapping->second.memory;
  memory->physical->unmap(pointer_to(start), size);
  // The addresses stay reserved.
  const auto reservation = reservation_around(start, size);
  const bool plain = reservation != reservations_.end() && reservation->second.plain;
  if (reserve(pointer_to(start), size, MAP_FIXED, plain) == nullptr) {
    // The process has too many mappings. The memory stays mapped, but inaccessible.
    log_message(LogLevel::kWarn, LogTopic::kMemory, "virtual memory: {} bytes cannot be unmapped: {}", size,
                std::strerror(errno));
    mprotect(pointer_to(start), size, PROT_NONE);
  }
  mappings_.erase(mapping);
  --memory->mappings;
  drop_if_unused(memory);
}

Result<std::vector<VirtualMemory::Mappings::iterator>> VirtualMemory::mappings_of(uintptr_t start,
                                                                                  size_t size) {
  auto at = mappings_.find(start);
  if (at == mappings_.end()) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of a mapping",
                pointer_to(start));
  }
  std::vector<Mappings::iterator> result;
  size_t left = size;
  for (uintptr_t next = start; left > 0; ++at) {
    if (at == mappings_.end() || at->first != next) {
      return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: no memory is mapped here",
                  pointer_to(next));
    }
    if (at->second.size > left) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: {} bytes end inside a mapping",
                  pointer_to(start), size);
    }
    left -= at->second.size;
    next += at->second.size;
    result.push_back(at);
  }
  return result;
}

Status VirtualMemory::unmap(void* va, size_t size) {
  if (va == nullptr || size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const WriterLock lock(mutex_);
  if (!mappings_.contains(address_of(va))) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of a mapping", va);
  }
  const auto mappings = mappings_of(address_of(va), size);
  // the range ends inside a mapping, or contains a gap
  if (!mappings) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const auto& mapping : *mappings) unmap_one(mapping);
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::apply(Mappings::iterator mapping, const Permissions& permissions) const try {
  MappingAccess access;
  for (const auto& [agent, permission] : permissions) {
    if (may_read(permission)) access.readers.add(agent);
    if (may_write(permission)) access.writers.add(agent);
    if (agents_[agent].type != HSA_DEVICE_TYPE_CPU) continue;
    access.host_reads |= may_read(permission);
    access.host_writes |= may_write(permission);
  }
  return mapping->second.memory->physical->set_access(pointer_to(mapping->first), mapping->second.size,
                                                      access);
} catch (const std::bad_alloc&) {
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/// Changes all or none.
Status VirtualMemory::change_access(const std::vector<Mappings::iterator>& mappings,
                                    const std::vector<std::pair<size_t, hsa_access_permission_t>>& changes) {
  std::vector<Permissions> wanted;
  for (const auto& mapping : mappings) {
    Permissions& permissions = wanted.emplace_back(mapping->second.permissions);
    for (const auto& [agent, permission] : changes) permissions[agent] = permission;
  }
  for (size_t i = 0; i < mappings.size(); ++i) {
    const Status status = apply(mappings[i], wanted[i]);
    if (status == HSA_STATUS_SUCCESS) continue;
    while (i-- > 0) apply(mappings[i], mappings[i]->second.permissions);
    return status;
  }
  for (size_t i = 0; i < mappings.size(); ++i) mappings[i]->second.permissions = std::move(wanted[i]);
  return HSA_STATUS_SUCCESS;
}

Status VirtualMemory::set_access(void* va, size_t size, const hsa_amd_memory_access_desc_t* desc,
                                 size_t desc_cnt) {
  if (va == nullptr || size == 0 || desc == nullptr || desc_cnt == 0)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const WriterLock lock(mutex_);
  const uintptr_t start = address_of(va);
  if (reservation_around(start, size) == reservations_.end()) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: {} bytes are not in one reservation", va,
                size);
  }
  const auto inside = mapping_around(start);
  if (inside != mappings_.end() && inside->first != start) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: inside a mapping", va);
  }
  const auto mappings = mappings_of(start, size);
  if (!mappings) return mappings.error();

  std::vector<std::pair<size_t, hsa_access_permission_t>> changes;
  for (size_t i = 0; i < desc_cnt; ++i) {
    const auto* agent = agents_.find(desc[i].agent_handle);
    if (agent == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
    const uint32_t permission = number_of(desc[i].permissions);
    if (permission > HSA_ACCESS_PERMISSION_RW) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const auto& mapping : *mappings) {
      if (mapping->second.memory->heap->access(agents_, agent->facts) ==
          HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
        return HSA_STATUS_ERROR_INVALID_AGENT;
      }
    }
    changes.emplace_back(agent->index, static_cast<hsa_access_permission_t>(permission));
  }
  return change_access(*mappings, changes);
}

Status VirtualMemory::get_access(void* va, hsa_access_permission_t* perms, hsa_agent_t agent_handle) {
  if (perms == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *perms = HSA_ACCESS_PERMISSION_NONE;
  if (va == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto* agent = agents_.find(agent_handle);
  if (agent == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
  const WriterLock lock(mutex_);
  const auto mapping = mapping_around(address_of(va));
  if (mapping == mappings_.end())
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: no memory is mapped here", va);
  const auto found = mapping->second.permissions.find(agent->index);
  if (found != mapping->second.permissions.end()) *perms = found->second;
  return HSA_STATUS_SUCCESS;
}

std::optional<Status> VirtualMemory::allow_access(uintptr_t address, const hsa_agent_t* agents,
                                                  uint32_t count) {
  const WriterLock lock(mutex_);
  auto mapping = mapping_around(address);
  if (mapping == mappings_.end()) return std::nullopt;
  std::vector<Mappings::iterator> mappings;
  for (uintptr_t next = mapping->first; mapping != mappings_.end() && mapping->first == next; ++mapping) {
    mappings.push_back(mapping);
    next += mapping->second.size;
  }
  std::vector<std::pair<size_t, hsa_access_permission_t>> changes;
  for (uint32_t i = 0; i < count; ++i) {
    const auto* agent = agents_.find(agents[i]);
    if (agent == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
    for (const auto& each : mappings) {
      if (each->second.memory->heap->access(agents_, agent->facts) ==
          HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      }
    }
    changes.emplace_back(agent->index, HSA_ACCESS_PERMISSION_RW);
  }
  return change_access(mappings, changes);
}

bool VirtualMemory::set_user_data(uintptr_t address, void* user_data) {
  const WriterLock lock(mutex_);
  const auto mapping = mappings_.find(address);
  if (mapping == mappings_.end()) return false;
  mapping->second.user_data = user_data;
  return true;
}

std::optional<VirtualView> VirtualMemory::view_of_reservation(uintptr_t address, bool plain) const {
  const auto found = reservation_around(address, 1);
  if (found == reservations_.end() || found->second.plain != plain) return std::nullopt;
  VirtualView view;
  view.base = found->first;
  view.size = found->second.size;
  return view;
}

std::optional<VirtualView> VirtualMemory::plain_reservation(uintptr_t address) const {
  const ReaderLock lock(mutex_);
  return view_of_reservation(address, true);
}

VirtualView VirtualMemory::view_of(uintptr_t start, const Mapping& mapping) const {
  VirtualView view;
  view.base = start;
  view.size = mapping.size;
  view.heap = mapping.memory->heap;
  view.user_data = mapping.user_data;
  for (const auto& [agent, permission] : mapping.permissions) {
    if (permission == HSA_ACCESS_PERMISSION_NONE) continue;
    view.agents.add(agent);
    if (agents_[agent].type != HSA_DEVICE_TYPE_CPU) continue;
    view.host_reads |= may_read(permission);
    view.host_writes |= may_write(permission);
  }
  return view;
}

std::optional<VirtualView> VirtualMemory::view(uintptr_t address, size_t size) const {
  const ReaderLock lock(mutex_);
  auto at = around(mappings_, address);
  if (at == mappings_.end()) return view_of_reservation(address, false);
  VirtualView view = view_of(at->first, at->second);
  while (size > view.size - (address - view.base) && ++at != mappings_.end() &&
         at->first == view.base + view.size) {
    const VirtualView next = view_of(at->first, at->second);
    view.size += next.size;
    view.agents &= next.agents;
    view.host_reads &= next.host_reads;
    view.host_writes &= next.host_writes;
  }
  return view;
}

}  // namespace rigel
