#include "core/memory/heap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using testing::kCpu0;
using testing::kCpu1;
using testing::kGpu0;
using testing::kGpu1;
using testing::kNobody;

std::vector<uint32_t> flags_of_pools(testing::TestMemory& memory, hsa_agent_t agent) {
  std::vector<hsa_amd_memory_pool_t> pools;
  EXPECT_EQ(memory.heaps.agent_iterate_memory_pools(
                agent,
                [](hsa_amd_memory_pool_t pool, void* data) {
                  static_cast<std::vector<hsa_amd_memory_pool_t>*>(data)->push_back(pool);
                  return HSA_STATUS_SUCCESS;
                },
                &pools),
            HSA_STATUS_SUCCESS);
  std::vector<uint32_t> flags(pools.size());
  for (size_t i = 0; i < pools.size(); ++i) {
    EXPECT_EQ(memory.heaps.memory_pool_get_info(pools[i], HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags[i]),
              HSA_STATUS_SUCCESS);
  }
  return flags;
}

class Heaps : public ::testing::Test {
 protected:
  Heaps() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
  }

  std::vector<uint32_t> pool_flags(hsa_agent_t agent) { return flags_of_pools(memory, agent); }

  template <class T>
  T ask(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute) {
    T value{};
    EXPECT_EQ(memory.heaps.memory_pool_get_info(pool, attribute, &value), HSA_STATUS_SUCCESS) << attribute;
    return value;
  }

  template <class T>
  T ask_region(hsa_region_t region, int attribute) {
    T value{};
    EXPECT_EQ(memory.heaps.region_get_info(region, static_cast<hsa_region_info_t>(attribute), &value),
              HSA_STATUS_SUCCESS)
        << attribute;
    return value;
  }

  hsa_amd_memory_pool_access_t access(hsa_agent_t agent, hsa_amd_memory_pool_t pool) {
    hsa_amd_memory_pool_access_t value{};
    EXPECT_EQ(
        memory.heaps.agent_memory_pool_get_info(agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value),
        HSA_STATUS_SUCCESS);
    return value;
  }

  hsa_amd_memory_pool_t add_device_heap(hsa_agent_t agent, uint32_t flags,
                                        hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL) {
    HeapFacts facts;
    facts.segment = segment;
    facts.global_flags = flags;
    facts.owner = agent;
    facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
    facts.host_accessible = false;
    facts.size = 64 << 10;
    return memory.heaps.add_heap(facts, nullptr).pool();
  }

  testing::TestMemory memory;
};

// HIP up to 5.x ends the process when it finds a CPU agent's pool of extended scope.
TEST_F(Heaps, CpuAgentListsFineKernargAndCoarsePools) {
  EXPECT_THAT(pool_flags(kCpu0), ElementsAre(2u, 3u, 4u));
  EXPECT_THAT(pool_flags(kCpu1), ElementsAre(2u, 3u, 4u));
}

TEST(HeapsOfExtendedScope, AreListedOnRequest) {
  testing::TestMemory memory;
  testing::add_agents(memory);
  memory.heaps.list_extended_scope();
  testing::add_hosts(memory);
  EXPECT_THAT(flags_of_pools(memory, kCpu0), ElementsAre(2u, 8u, 3u, 4u));
}

TEST_F(Heaps, AgentWithoutMemoryHasNoPools) {
  EXPECT_THAT(pool_flags(kGpu0), ElementsAre());
}

TEST_F(Heaps, EveryAgentListsRegionsOfAllCpuAgents) {
  size_t count = 0;
  const auto visit = [](hsa_region_t, void* data) {
    ++*static_cast<size_t*>(data);
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(memory.heaps.agent_iterate_regions(kCpu1, visit, &count), HSA_STATUS_SUCCESS);
  EXPECT_EQ(count, 6u);
  count = 0;
  EXPECT_EQ(memory.heaps.agent_iterate_regions(kGpu0, visit, &count), HSA_STATUS_SUCCESS);
  EXPECT_EQ(count, 6u);
}

TEST_F(Heaps, IterationStopsWithStatusOfCallback) {
  size_t count = 0;
  const auto stop = [](hsa_amd_memory_pool_t, void* data) {
    return ++*static_cast<size_t*>(data) == 2 ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(memory.heaps.agent_iterate_memory_pools(kCpu0, stop, &count), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(count, 2u);
}

TEST_F(Heaps, IterationChecksArguments) {
  EXPECT_EQ(memory.heaps.agent_iterate_memory_pools(kCpu0, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.agent_iterate_regions(kCpu0, nullptr, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const auto pool = [](hsa_amd_memory_pool_t, void*) { return HSA_STATUS_SUCCESS; };
  const auto region = [](hsa_region_t, void*) { return HSA_STATUS_SUCCESS; };
  EXPECT_EQ(memory.heaps.agent_iterate_memory_pools(kNobody, pool, nullptr), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.heaps.agent_iterate_regions(kNobody, region, nullptr), HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(Heaps, HiddenHeapIsUsableByHandle) {
  HeapFacts facts;
  facts.owner = kGpu0;
  facts.visible = false;
  const auto pool = memory.heaps.add_heap(facts, nullptr).pool();
  EXPECT_THAT(pool_flags(kGpu0), ElementsAre());
  EXPECT_EQ(ask<uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS), 0u);
}

TEST_F(Heaps, PoolInfoReturnsEveryAttribute) {
  const auto pool = testing::fine_pool(memory);
  EXPECT_EQ(ask<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT), HSA_AMD_SEGMENT_GLOBAL);
  EXPECT_EQ(ask<uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS), 2u);
  EXPECT_EQ(ask<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE), testing::kNodeBytes);
  EXPECT_TRUE(ask<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED));
  EXPECT_EQ(ask<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE), 4096u);
  EXPECT_EQ(ask<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT), 4096u);
  EXPECT_EQ(ask<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE), 4096u);
  EXPECT_TRUE(ask<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL));
  EXPECT_EQ(ask<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE), 2 * testing::kNodeBytes);
  EXPECT_EQ(ask<hsa_amd_memory_pool_location_t>(pool, HSA_AMD_MEMORY_POOL_INFO_LOCATION),
            HSA_AMD_MEMORY_POOL_LOCATION_CPU);
}

TEST_F(Heaps, RegionInfoReturnsEveryAttribute) {
  const hsa_region_t region{testing::fine_pool(memory).handle};
  EXPECT_EQ(ask_region<hsa_region_segment_t>(region, HSA_REGION_INFO_SEGMENT), HSA_REGION_SEGMENT_GLOBAL);
  EXPECT_EQ(ask_region<uint32_t>(region, HSA_REGION_INFO_GLOBAL_FLAGS), 2u);
  EXPECT_EQ(ask_region<size_t>(region, HSA_REGION_INFO_SIZE), testing::kNodeBytes);
  EXPECT_EQ(ask_region<size_t>(region, HSA_REGION_INFO_ALLOC_MAX_SIZE), 2 * testing::kNodeBytes);
  EXPECT_EQ(ask_region<uint32_t>(region, HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE), 0u);
  EXPECT_TRUE(ask_region<bool>(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED));
  EXPECT_EQ(ask_region<size_t>(region, HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE), 4096u);
  EXPECT_EQ(ask_region<size_t>(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT), 4096u);
  EXPECT_TRUE(ask_region<bool>(region, HSA_AMD_REGION_INFO_HOST_ACCESSIBLE));
  EXPECT_EQ(ask_region<void*>(region, HSA_AMD_REGION_INFO_BASE), nullptr);
  EXPECT_EQ(ask_region<uint32_t>(region, HSA_AMD_REGION_INFO_BUS_WIDTH), 0u);
  EXPECT_EQ(ask_region<uint32_t>(region, HSA_AMD_REGION_INFO_MAX_CLOCK_FREQUENCY), 0u);
}

TEST_F(Heaps, QueriesRejectUnknownAttributes) {
  const auto pool = testing::fine_pool(memory);
  uint64_t value = 0;
  EXPECT_EQ(memory.heaps.memory_pool_get_info(pool, static_cast<hsa_amd_memory_pool_info_t>(99), &value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.region_get_info({pool.handle}, static_cast<hsa_region_info_t>(99), &value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.region_get_info({pool.handle}, HSA_REGION_INFO_SIZE, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, pool.handle + 1, uint64_t{0xdeadbeef}}) {
    EXPECT_EQ(memory.heaps.memory_pool_get_info({handle}, HSA_AMD_MEMORY_POOL_INFO_SIZE, &value),
              static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
    EXPECT_EQ(memory.heaps.region_get_info({handle}, HSA_REGION_INFO_SIZE, &value),
              HSA_STATUS_ERROR_INVALID_REGION);
  }
}

TEST_F(Heaps, GroupSegmentIsDescribedButNotAllocatable) {
  const auto pool = add_device_heap(kGpu0, 0, HSA_AMD_SEGMENT_GROUP);
  EXPECT_EQ(ask<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT), HSA_AMD_SEGMENT_GROUP);
  EXPECT_FALSE(ask<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED));
  EXPECT_EQ(ask<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE), 0u);
  EXPECT_FALSE(ask<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL));
  hsa_amd_memory_pool_location_t location;
  EXPECT_EQ(memory.heaps.memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_LOCATION, &location),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  void* ptr = nullptr;
  EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, 64, 0, &ptr), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(memory.heaps.memory_allocate({pool.handle}, 64, &ptr), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(access(kGpu0, pool), HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
  EXPECT_EQ(access(kCpu0, pool), HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
}

TEST_F(Heaps, SystemMemoryIsAccessibleToCpuAgentsAndOnRequestToOthers) {
  const auto pool = testing::fine_pool(memory, kCpu0);
  EXPECT_EQ(access(kCpu0, pool), HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
  EXPECT_EQ(access(kCpu1, pool), HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
  EXPECT_EQ(access(kGpu0, pool), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
}

TEST_F(Heaps, AgentWithoutLinkHasNoAccess) {
  memory.agents.add({.handle = kNobody, .type = HSA_DEVICE_TYPE_GPU, .node = 9});
  EXPECT_EQ(access(kNobody, testing::fine_pool(memory)), HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
}

TEST_F(Heaps, FineGrainedDeviceMemoryIsAccessibleInHiveOnly) {
  const auto coarse = add_device_heap(kGpu0, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  const auto extended = add_device_heap(kGpu0, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED);
  const auto fine = add_device_heap(kGpu0, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  EXPECT_EQ(access(kGpu1, coarse), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
  EXPECT_EQ(access(kGpu1, extended), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
  EXPECT_EQ(access(kGpu1, fine), HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);

  testing::TestMemory hive;
  hive.agents.add({.handle = kGpu0, .type = HSA_DEVICE_TYPE_GPU, .node = 2, .hive = 7});
  hive.agents.add({.handle = kGpu1, .type = HSA_DEVICE_TYPE_GPU, .node = 3, .hive = 7});
  hive.agents.add_link(3, 2, {.hops = 1, .info = {}});
  HeapFacts facts;
  facts.global_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  facts.owner = kGpu0;
  facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  const Heap& heap = hive.heaps.add_heap(facts, nullptr);
  EXPECT_EQ(heap.access(hive.agents, hive.agents.find(kGpu1)->facts),
            HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
}

TEST_F(Heaps, HostVisibleDeviceMemoryIsAccessibleToCpuAgents) {
  HeapFacts facts;
  facts.global_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
  facts.owner = kGpu0;
  facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  EXPECT_EQ(access(kCpu0, memory.heaps.add_heap(facts, nullptr).pool()),
            HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
  facts.host_accessible = false;
  EXPECT_EQ(access(kCpu0, memory.heaps.add_heap(facts, nullptr).pool()),
            HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
}

TEST_F(Heaps, HostCoherentFineDeviceMemoryIsAccessibleToCpuAgents) {
  HeapFacts facts;
  facts.global_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  facts.owner = kGpu0;
  facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  EXPECT_EQ(access(kCpu0, memory.heaps.add_heap(facts, nullptr).pool()),
            HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
  facts.host_coherent = true;
  EXPECT_EQ(access(kCpu0, memory.heaps.add_heap(facts, nullptr).pool()),
            HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
}

TEST_F(Heaps, PathToPoolIsOneHop) {
  const auto pool = testing::fine_pool(memory, kCpu0);
  uint32_t hops = 99;
  EXPECT_EQ(memory.heaps.agent_memory_pool_get_info(kGpu0, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS,
                                                    &hops),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hops, 1u);
  hsa_amd_memory_pool_link_info_t link{};
  EXPECT_EQ(
      memory.heaps.agent_memory_pool_get_info(kGpu0, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO, &link),
      HSA_STATUS_SUCCESS);
  EXPECT_EQ(link.link_type, HSA_AMD_LINK_INFO_TYPE_PCIE);
  EXPECT_EQ(link.numa_distance, 20u);

  EXPECT_EQ(memory.heaps.agent_memory_pool_get_info(kCpu0, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS,
                                                    &hops),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hops, 0u) << "an agent's own memory is no hop away";
  link.numa_distance = 12345;
  EXPECT_EQ(
      memory.heaps.agent_memory_pool_get_info(kCpu0, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO, &link),
      HSA_STATUS_SUCCESS);
  EXPECT_EQ(link.numa_distance, 12345u) << "the caller has room for as many elements as there are hops";
}

TEST(Agents, NearestHostHasMinimumDistance) {
  AgentDirectory agents;
  EXPECT_EQ(agents.nearest_host(2), nullptr);
  const auto connect = [&](uint32_t host, uint32_t distance) {
    LinkFacts link{.hops = 1, .info = {}};
    link.info.numa_distance = distance;
    agents.add_link(2, host, link);
  };
  const auto nearest = [&] { return agents.nearest_host(2)->handle.handle; };
  agents.add({.handle = kGpu0, .type = HSA_DEVICE_TYPE_GPU, .node = 2});
  agents.add({.handle = kCpu0, .type = HSA_DEVICE_TYPE_CPU, .node = 0});
  agents.add({.handle = kCpu1, .type = HSA_DEVICE_TYPE_CPU, .node = 1});
  EXPECT_EQ(nearest(), kCpu0.handle) << "no way is known";
  connect(1, 40);
  EXPECT_EQ(nearest(), kCpu1.handle) << "to the other, no way is known";
  connect(0, 40);
  EXPECT_EQ(nearest(), kCpu0.handle) << "the first of two that are as near";
  connect(1, 20);
  EXPECT_EQ(nearest(), kCpu1.handle);
}

TEST_F(Heaps, AgentQueriesCheckArguments) {
  const auto pool = testing::fine_pool(memory);
  uint64_t value = 0;
  EXPECT_EQ(
      memory.heaps.agent_memory_pool_get_info(kNobody, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value),
      HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(
      memory.heaps.agent_memory_pool_get_info(kCpu0, {0}, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value),
      static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  EXPECT_EQ(
      memory.heaps.agent_memory_pool_get_info(kCpu0, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, nullptr),
      HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.agent_memory_pool_get_info(kCpu0, pool,
                                                    static_cast<hsa_amd_agent_memory_pool_info_t>(9), &value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace rigel
