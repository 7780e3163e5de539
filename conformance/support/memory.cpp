#include "support/memory.hpp"

#include <unistd.h>

#include <fstream>

#include "support/agents.hpp"

namespace conformance {

std::vector<hsa_region_t> regions_of(hsa_agent_t agent) {
  std::vector<hsa_region_t> regions;
  EXPECT_HSA(hsa_agent_iterate_regions(
      agent,
      [](hsa_region_t region, void* data) {
        static_cast<std::vector<hsa_region_t>*>(data)->push_back(region);
        return HSA_STATUS_SUCCESS;
      },
      &regions));
  return regions;
}

std::vector<hsa_amd_memory_pool_t> pools_of(hsa_agent_t agent) {
  std::vector<hsa_amd_memory_pool_t> pools;
  EXPECT_HSA(hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* data) {
        static_cast<std::vector<hsa_amd_memory_pool_t>*>(data)->push_back(pool);
        return HSA_STATUS_SUCCESS;
      },
      &pools));
  return pools;
}

size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

bool host_reaches(hsa_amd_memory_pool_t pool) {
  for (const hsa_agent_t agent : all_agents()) {
    if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_CPU) continue;
    hsa_amd_memory_pool_access_t access{};
    if (hsa_amd_agent_memory_pool_get_info(agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access) ==
            HSA_STATUS_SUCCESS &&
        access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED) {
      return true;
    }
  }
  return false;
}

std::optional<hsa_region_t> find_region(hsa_agent_t agent, uint32_t flags) {
  for (const hsa_region_t region : regions_of(agent)) {
    if (region_info<hsa_region_segment_t>(region, HSA_REGION_INFO_SEGMENT) != HSA_REGION_SEGMENT_GLOBAL)
      continue;
    if ((region_info<uint32_t>(region, HSA_REGION_INFO_GLOBAL_FLAGS) & flags) != flags) continue;
    if (region_info<bool>(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED)) return region;
  }
  return std::nullopt;
}

std::optional<hsa_amd_memory_pool_t> find_pool(hsa_agent_t agent, uint32_t flags) {
  std::vector<hsa_agent_t> owners{agent};
  for (const hsa_agent_t other : all_agents()) {
    if (agent_info<hsa_device_type_t>(other, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU)
      owners.push_back(other);
  }
  for (const hsa_agent_t owner : owners) {
    for (const hsa_amd_memory_pool_t pool : pools_of(owner)) {
      if (pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) != HSA_AMD_SEGMENT_GLOBAL)
        continue;
      if ((pool_info<uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS) & flags) == 0) continue;
      if (pool_info<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED) && host_reaches(pool))
        return pool;
    }
  }
  return std::nullopt;
}

hsa_amd_memory_pool_t local_pool(hsa_agent_t agent) {
  for (const hsa_amd_memory_pool_t pool : pools_of(agent)) {
    if (pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) != HSA_AMD_SEGMENT_GLOBAL)
      continue;
    const auto flags = pool_info<uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0) return pool;
  }
  ADD_FAILURE() << "the agent has no coarse-grained memory";
  return {};
}

PoolMemory allocate(hsa_amd_memory_pool_t pool, size_t size, hsa_agent_t agent) {
  void* pointer = nullptr;
  EXPECT_HSA(hsa_amd_memory_pool_allocate(pool, size, 0, &pointer));
  PoolMemory memory(pointer);
  if (pointer != nullptr) {
    EXPECT_HSA(hsa_amd_agents_allow_access(1, &agent, nullptr, pointer));
  }
  return memory;
}

}  // namespace conformance
