#include "core/memory/heap.hpp"

#include <cstring>

namespace rigel {
namespace {

// Attribute buffers of the application may be unaligned.
template <class T>
Status put(void* value, T answer) {
  std::memcpy(value, &answer, sizeof answer);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

Status Heap::region_info(hsa_region_info_t attribute, void* value) const {
  if (value == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_region_get_info: value is NULL");
  // AMD's region attributes are numbers outside the enumeration.
  switch (static_cast<int>(attribute)) {
    case HSA_REGION_INFO_SEGMENT:
      return put(value, static_cast<hsa_region_segment_t>(facts_.segment));
    case HSA_REGION_INFO_GLOBAL_FLAGS:
      return put(value, facts_.global_flags);
    case HSA_REGION_INFO_SIZE:
      return put(value, facts_.size);
    case HSA_REGION_INFO_ALLOC_MAX_SIZE:
      return put(value, facts_.allocation_limit);
    case HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE:
      return put(value, uint32_t{0});
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED:
      return put(value, facts_.allocatable);
    case HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT:
      return put(value, facts_.allocatable ? facts_.granule : size_t{0});
    case HSA_AMD_REGION_INFO_HOST_ACCESSIBLE:
      return put(value, facts_.host_accessible);
    case HSA_AMD_REGION_INFO_BASE:
      return put(value, reinterpret_cast<void*>(facts_.base_address));
    case HSA_AMD_REGION_INFO_BUS_WIDTH:
      return put(value, facts_.bus_width_bits);
    case HSA_AMD_REGION_INFO_MAX_CLOCK_FREQUENCY:
      return put(value, facts_.max_clock_mhz);
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown region attribute {}",
                  static_cast<int>(attribute));
  }
}

Status Heap::pool_info(hsa_amd_memory_pool_info_t attribute, void* value) const {
  if (value == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_memory_pool_get_info: value is NULL");
  switch (static_cast<int>(attribute)) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
      return put(value, facts_.segment);
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      return put(value, facts_.global_flags);
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
      return put(value, facts_.size);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
      return put(value, facts_.allocatable);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
      return put(value, facts_.allocatable ? facts_.granule : size_t{0});
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
      return put(value, is_system());
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
      return put(value, facts_.allocation_limit);
    case HSA_AMD_MEMORY_POOL_INFO_LOCATION:
      // Segments without dedicated memory have no location.
      if (facts_.segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      return put(value, facts_.location);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE:
      return put(value, facts_.allocatable ? facts_.recommended_granule : size_t{0});
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown memory pool attribute {}",
                  static_cast<int>(attribute));
  }
}

hsa_amd_memory_pool_access_t Heap::access(const AgentDirectory& agents, const AgentFacts& agent) const {
  if (agent.handle.handle == facts_.owner.handle) return HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
  if (facts_.segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  if (is_system() && agent.type == HSA_DEVICE_TYPE_CPU) return HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
  if (agent.type == HSA_DEVICE_TYPE_CPU && !facts_.host_accessible)
    return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;

  const auto* owner = agents.find(facts_.owner);
  const LinkFacts* link = owner == nullptr ? nullptr : agents.link(agent.node, owner->facts.node);
  const bool same_node = owner != nullptr && agent.node == owner->facts.node;
  if (!same_node && (link == nullptr || link->hops == 0)) return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  if (is_system()) return HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;

  // Fine-grained memory of a device is coherent with another device only over a coherent fabric.
  const bool fine = (facts_.global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0;
  const bool same_hive = agent.hive != 0 && owner != nullptr && agent.hive == owner->facts.hive;
  const bool is_coherent = same_hive || (agent.type == HSA_DEVICE_TYPE_CPU && facts_.host_coherent);
  return !fine || is_coherent ? HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
                              : HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
}

Status Heap::agent_info(const AgentDirectory& agents, const AgentFacts& agent,
                        hsa_amd_agent_memory_pool_info_t attribute, void* value) const {
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto allowed = access(agents, agent);
  const auto* owner = agents.find(facts_.owner);
  const LinkFacts* link = owner == nullptr || allowed == HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED
                              ? nullptr
                              : agents.link(agent.node, owner->facts.node);
  // The details describe the whole path, so it is reported as one hop.
  const uint32_t hops = link != nullptr && link->hops > 0 ? 1 : 0;
  switch (static_cast<int>(attribute)) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
      return put(value, allowed);
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
      return put(value, hops);
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO:
      // One element per hop. Nothing is written for 0 hops, because the application may have passed no room.
      return hops == 0 ? HSA_STATUS_SUCCESS : put(value, link->info);
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown attribute {} of an agent and a memory pool",
                  static_cast<int>(attribute));
  }
}

}  // namespace rigel
