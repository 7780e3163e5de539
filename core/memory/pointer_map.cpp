#include "core/memory/pointer_map.hpp"

#include <algorithm>
#include <cstring>

namespace rigel {

PointerMap::Found PointerMap::find(uintptr_t address, size_t size, std::optional<size_t> agent) const {
  Found found;
  if (const auto allocation = heaps_.view(address)) {
    found.type = HSA_EXT_POINTER_TYPE_HSA;
    found.base = found.agent_base = allocation->base;
    found.size = allocation->size;
    found.heap = allocation->heap;
    found.host_reads = found.host_writes = found.heap->facts().host_accessible;
    found.user_data = allocation->user_data;
    found.allocation = allocation;
  } else if (const auto mapped = virtual_memory_.view(address, size)) {
    found.type = mapped->mapped() ? HSA_EXT_POINTER_TYPE_HSA_VMEM : HSA_EXT_POINTER_TYPE_RESERVED_ADDR;
    found.base = found.agent_base = mapped->base;
    found.size = mapped->size;
    found.heap = mapped->heap;
    found.host_reads = mapped->host_reads;
    found.host_writes = mapped->host_writes;
    found.agents = mapped->agents;
    found.user_data = mapped->user_data;
  } else if (const auto imported = shared_.imported().view(address)) {
    found.type = imported->type;
    found.base = found.agent_base = imported->base;
    found.size = imported->size;
    found.heap = shared_.heap_of(*imported);
    if (imported->owner != ImportedBlock::kNobody) found.owner = imported->owner;
    found.host_reads = found.host_writes = imported->host_accessible;
    found.agents = imported->agents;
    found.user_data = imported->user_data;
  } else if (auto locked = locked_.view(address, agent ? size : 1, agent)) {
    found.type = HSA_EXT_POINTER_TYPE_LOCKED;
    found.base = address - locked->offset;
    found.size = locked->size;
    found.host_base = locked->host_start;
    found.agent_base = locked->agent_start;
    found.heap = locked->heap;
    found.agents = locked->agents;
    found.user_data = locked->user_data;
    found.pinned = std::move(locked->pinned);
    return found;
  }
  found.host_base = found.base;
  return found;
}

AgentSet PointerMap::agents_with_access(const Found& found) const {
  if (found.allocation) return heaps_.agents_with_access(*found.allocation);
  AgentSet agents = found.agents;
  if (found.type == HSA_EXT_POINTER_TYPE_LOCKED) agents |= agents_.hosts();
  return agents;
}

// Addresses outside allocations, and extents that were being changed.
Placement PointerMap::locate_elsewhere(uintptr_t address, size_t size) const {
  const Found found = find(address, size);
  Placement placement{.type = found.type,
                      .base = found.base,
                      .size = found.size,
                      .host_reads = found.host_reads,
                      .host_writes = found.host_writes,
                      .to_host = static_cast<ptrdiff_t>(found.host_base - found.base)};
  // Copies treat mapped memory as an allocation.
  if (found.type == HSA_EXT_POINTER_TYPE_HSA_VMEM) placement.type = HSA_EXT_POINTER_TYPE_HSA;
  if (found.owner) {
    placement.owner = agents_[*found.owner].handle;
    placement.in_host = agents_[*found.owner].type == HSA_DEVICE_TYPE_CPU;
  } else if (found.heap != nullptr) {
    placement.owner = found.heap->facts().owner;
    placement.in_host = found.heap->facts().location == HSA_AMD_MEMORY_POOL_LOCATION_CPU;
  }
  return placement;
}

void* PointerMap::host_address(const void* ptr) const {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const Found found = find(address);
  return reinterpret_cast<void*>(address + (found.host_base - found.base));
}

std::optional<AgentAddress> PointerMap::reach(hsa_agent_t agent, const void* ptr, size_t size) const {
  const auto* const entry = agents_.find(agent);
  if (entry == nullptr) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  Found found = find(address, size, entry->index);
  const size_t offset = address - found.base;
  if (found.type == HSA_EXT_POINTER_TYPE_UNKNOWN || size > found.size - offset) return std::nullopt;
  // Only locks for the agent were considered.
  if (found.type != HSA_EXT_POINTER_TYPE_LOCKED && !agents_with_access(found).has(entry->index))
    return std::nullopt;
  return AgentAddress{reinterpret_cast<void*>(found.agent_base + offset), std::move(found.pinned)};
}

Status PointerMap::memory_free(void* ptr) {
  if (heaps_.free(ptr)) return HSA_STATUS_SUCCESS;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const auto type = find(address).type;
  const bool other = type != HSA_EXT_POINTER_TYPE_UNKNOWN && type != HSA_EXT_POINTER_TYPE_HSA;
  if (other || locked_.view(address)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "address {}: locked, reserved, mapped or imported memory cannot be freed", ptr);
  }
  return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of an allocation", ptr);
}

Status PointerMap::register_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback,
                                                  void* user_data) {
  if (ptr == nullptr || callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const DeallocationCallback entry{ptr, callback, user_data};
  if (const auto status = heaps_.add_callback(entry)) return *status;
  if (shared_.imported().add_callback(entry)) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not in an allocation", ptr);
}

Status PointerMap::deregister_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback) {
  if (ptr == nullptr || callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (const auto status = heaps_.remove_callbacks(ptr, callback)) return *status;
  return shared_.imported().remove_callbacks(ptr, callback) == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT
                                                                 : HSA_STATUS_SUCCESS;
}

Status PointerMap::agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents, const uint32_t* flags,
                                       const void* ptr) {
  if (num_agents == 0 || agents == nullptr || flags != nullptr || ptr == nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  if (const auto status = heaps_.allow_access(address, agents, num_agents)) return *status;
  if (const auto status = virtual_memory_.allow_access(address, agents, num_agents)) return *status;
  if (const auto status = shared_.allow_access(address, agents, num_agents)) return *status;
  return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: not the start of an allocation", ptr);
}

Status PointerMap::pointer_info(const void* ptr, hsa_amd_pointer_info_t* info, void* (*alloc)(size_t),
                                uint32_t* num_agents_accessible, hsa_agent_t** accessible) const {
  if (ptr == nullptr || info == nullptr || info->size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const bool list_wanted = alloc != nullptr && num_agents_accessible != nullptr && accessible != nullptr;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const Found found = find(address);
  const bool known = found.type != HSA_EXT_POINTER_TYPE_UNKNOWN;
  const bool host_accessible = known && (found.host_reads || found.host_writes);

  hsa_amd_pointer_info_t answer{};
  answer.type = found.type;
  answer.agentBaseAddress = reinterpret_cast<void*>(found.agent_base);
  // Addresses of virtual memory belong to the program, whatever is mapped there.
  const bool has_host_address = host_accessible || found.type == HSA_EXT_POINTER_TYPE_HSA_VMEM ||
                                found.type == HSA_EXT_POINTER_TYPE_RESERVED_ADDR;
  if (has_host_address) answer.hostBaseAddress = reinterpret_cast<void*>(found.host_base);
  answer.sizeInBytes = found.size;
  answer.userData = found.user_data;
  if (found.heap != nullptr) {
    answer.agentOwner = found.heap->facts().owner;
    answer.global_flags = found.heap->facts().global_flags;
  }
  // Memory is registered only if a driver has mapped it for a device, or for more than the host.
  answer.registered = known && agents_.hosts().count() != agents_.size();
  if (host_accessible) answer.alloc_flags = HSA_AMD_POINTER_INFO_ALLOC_FLAG_HOST_ACCESS;
  if (!known) {
    // Last, because parts of it may be locked like any host memory.
    if (const auto plain = virtual_memory_.plain_reservation(address)) {
      answer.type = HSA_EXT_POINTER_TYPE_RESERVED_ADDR;
      answer.agentBaseAddress = answer.hostBaseAddress = reinterpret_cast<void*>(plain->base);
      answer.sizeInBytes = plain->size;
    }
  }

  // The caller's structure may be an older, shorter version.
  answer.size = std::min<uint32_t>(info->size, sizeof answer);
  std::memcpy(info, &answer, answer.size);
  if (!list_wanted) return HSA_STATUS_SUCCESS;

  *num_agents_accessible = 0;
  *accessible = nullptr;
  const AgentSet reachable = agents_with_access(found);
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

Status PointerMap::pointer_info_set_userdata(const void* ptr, void* user_data) {
  if (ptr == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  if (heaps_.set_user_data(address, user_data) || virtual_memory_.set_user_data(address, user_data) ||
      shared_.imported().set_user_data(address, user_data) || locked_.set_user_data(address, user_data)) {
    return HSA_STATUS_SUCCESS;
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: not in memory of this runtime", ptr);
}

}  // namespace rigel
