// Look-up of regions and pools, and memory that is freed with the test.
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

/// Returns the resident size of this process in bytes.
size_t resident_bytes();

/// Whether the CPU can access memory of the pool.
bool host_reaches(hsa_amd_memory_pool_t pool);

/// Returns the first allocatable global region of the agent with all these flags.
std::optional<hsa_region_t> find_region(hsa_agent_t agent, uint32_t flags);

/// Returns an allocatable global pool with one of these flags: a pool of the agent that the CPU can access,
/// else a pool of a CPU agent.
std::optional<hsa_amd_memory_pool_t> find_pool(hsa_agent_t agent, uint32_t flags);

/// Returns the agent's coarse-grained pool. If it has none, fails the test and returns zero.
hsa_amd_memory_pool_t local_pool(hsa_agent_t agent);

struct FreePool {
  void operator()(void* pointer) const { EXPECT_HSA(hsa_amd_memory_pool_free(pointer)); }
};
using PoolMemory = std::unique_ptr<void, FreePool>;

/// Allocates memory that `agent` can access. On failure, fails the test and returns null.
PoolMemory allocate(hsa_amd_memory_pool_t pool, size_t size, hsa_agent_t agent);

}  // namespace conformance
