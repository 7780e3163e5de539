// Regions and pools by what they are for, and memory that is freed with the test.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "support/status.hpp"

namespace conformance {

std::vector<hsa_region_t> regions_of(hsa_agent_t agent);
std::vector<hsa_amd_memory_pool_t> pools_of(hsa_agent_t agent);

template <class T>
T region_info(hsa_region_t region, int attribute) {
  T value{};
  EXPECT_HSA(hsa_region_get_info(region, static_cast<hsa_region_info_t>(attribute), &value));
  return value;
}

template <class T>
T pool_info(hsa_amd_memory_pool_t pool, int attribute) {
  T value{};
  EXPECT_HSA(hsa_amd_memory_pool_get_info(pool, static_cast<hsa_amd_memory_pool_info_t>(attribute), &value));
  return value;
}

/// How much of this process is in memory now.
size_t resident_bytes();

/// Whether the host's loads and stores reach what is allocated there.
bool host_reaches(hsa_amd_memory_pool_t pool);

/// The first allocatable global region of the agent with all these flags.
std::optional<hsa_region_t> find_region(hsa_agent_t agent, uint32_t flags);

/// An allocatable global pool with one of these flags: the agent's own that the host reaches, else a host
/// agent's.
std::optional<hsa_amd_memory_pool_t> find_pool(hsa_agent_t agent, uint32_t flags);

/// The agent's own coarse-grained pool; the test fails, and the handle is zero, if it has none.
hsa_amd_memory_pool_t local_pool(hsa_agent_t agent);

struct FreePool {
  void operator()(void* pointer) const { EXPECT_HSA(hsa_amd_memory_pool_free(pointer)); }
};
using PoolMemory = std::unique_ptr<void, FreePool>;

/// Memory of a pool that `agent` may use; null (and a failed test) if there is none.
PoolMemory allocate(hsa_amd_memory_pool_t pool, size_t size, hsa_agent_t agent);

}  // namespace conformance
