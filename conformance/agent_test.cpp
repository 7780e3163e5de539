// Agents, their caches, and the values of their attributes.
#include <bit>
#include <set>
#include <utility>

#include "support/agents.hpp"
#include "support/optional_function.hpp"
#include "support/queries.hpp"

namespace conformance {
namespace {

class AgentList : public HsaTest {};

TEST_F(AgentList, ContainsCpuAgent) {
  bool host = false;
  for (const hsa_agent_t agent : all_agents()) {
    host = host || agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU;
  }
  EXPECT_TRUE(host);
}

TEST_F(AgentList, KeepsOrderAcrossIterations) {
  const auto first = all_agents();
  const auto second = all_agents();
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].handle, second[i].handle);
}

TEST_F(AgentList, HandlesAreDistinct) {
  std::set<uint64_t> handles;
  for (const hsa_agent_t agent : all_agents()) handles.insert(agent.handle);
  EXPECT_EQ(handles.size(), all_agents().size());
}

TEST_F(AgentList, IterationStopsWithCallbackStatus) {
  int calls = 0;
  const auto stop = [](hsa_agent_t, void* data) {
    ++*static_cast<int*>(data);
    return HSA_STATUS_INFO_BREAK;
  };
  EXPECT_STATUS(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(stop, &calls));
  EXPECT_EQ(calls, 1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_iterate_agents(nullptr, nullptr));
}

TEST_F(AgentList, RejectsInvalidAgentHandles) {
  uint64_t value[32];
  uint16_t mask = 0;
  int local = 0;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, UINT64_MAX, reinterpret_cast<uint64_t>(&local)}) {
    const hsa_agent_t agent{handle};
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                  hsa_agent_get_exception_policies(agent, HSA_PROFILE_BASE, &mask));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                  hsa_agent_iterate_caches(
                      agent, [](hsa_cache_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                  hsa_agent_iterate_isas(
                      agent, [](hsa_isa_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                  hsa_agent_iterate_regions(
                      agent, [](hsa_region_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                  hsa_amd_agent_iterate_memory_pools(
                      agent, [](hsa_amd_memory_pool_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr));
  }
}

class Agent : public AgentTest {
 protected:
  auto query() const {
    return Query([agent = agent()](int attribute, void* value) {
      return hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), value);
    });
  }
  bool is_gpu() const {
    return agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU;
  }
};

TEST_P(Agent, HasNames) {
  const auto name = GET(query(), TextField<64>, HSA_AGENT_INFO_NAME);
  EXPECT_TRUE(name.terminated());
  EXPECT_FALSE(name.str().empty());
  const auto vendor = GET(query(), TextField<64>, HSA_AGENT_INFO_VENDOR_NAME);
  EXPECT_TRUE(vendor.terminated());
  EXPECT_FALSE(vendor.str().empty());
  EXPECT_TRUE(GET(query(), TextField<64>, HSA_AMD_AGENT_INFO_PRODUCT_NAME).terminated());
}

TEST_P(Agent, NamesAreStable) {
  EXPECT_EQ(GET(query(), TextField<64>, HSA_AGENT_INFO_NAME).str(),
            GET(query(), TextField<64>, HSA_AGENT_INFO_NAME).str());
}

TEST_P(Agent, ReportsGeneralAttributes) {
  const auto features = GET(query(), uint32_t, HSA_AGENT_INFO_FEATURE);
  EXPECT_EQ(features & ~uint32_t{HSA_AGENT_FEATURE_KERNEL_DISPATCH | HSA_AGENT_FEATURE_AGENT_DISPATCH}, 0u);
  EXPECT_EQ(GET(query(), hsa_machine_model_t, HSA_AGENT_INFO_MACHINE_MODEL), HSA_MACHINE_MODEL_LARGE);
  const auto profile = GET(query(), hsa_profile_t, HSA_AGENT_INFO_PROFILE);
  EXPECT_TRUE(profile == HSA_PROFILE_BASE || profile == HSA_PROFILE_FULL);
  const auto rounding =
      GET(query(), hsa_default_float_rounding_mode_t, HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE);
  EXPECT_LE(rounding, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
  GET(query(), uint32_t, HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES);
  GET(query(), bool, HSA_AGENT_INFO_FAST_F16_OPERATION);
  GET(query(), uint32_t, HSA_AGENT_INFO_NODE);
  EXPECT_LE(GET(query(), hsa_device_type_t, HSA_AGENT_INFO_DEVICE), HSA_DEVICE_TYPE_AIE);
  struct Caches {
    uint32_t bytes[4];
  };
  GET(query(), Caches, HSA_AGENT_INFO_CACHE_SIZE);
  GET(query(), hsa_isa_t, HSA_AGENT_INFO_ISA);
  struct Mask {
    uint8_t bytes[128];
  };
  GET(query(), Mask, HSA_AGENT_INFO_EXTENSIONS);
  EXPECT_EQ(GET(query(), uint16_t, HSA_AGENT_INFO_VERSION_MAJOR), 1);
  GET(query(), uint16_t, HSA_AGENT_INFO_VERSION_MINOR);
}

TEST_P(Agent, QueueLimitsAreConsistent) {
  const auto queues = GET(query(), uint32_t, HSA_AGENT_INFO_QUEUES_MAX);
  const auto smallest = GET(query(), uint32_t, HSA_AGENT_INFO_QUEUE_MIN_SIZE);
  const auto largest = GET(query(), uint32_t, HSA_AGENT_INFO_QUEUE_MAX_SIZE);
  GET(query(), hsa_queue_type32_t, HSA_AGENT_INFO_QUEUE_TYPE);
  if (GET(query(), uint32_t, HSA_AGENT_INFO_FEATURE) == 0) {
    EXPECT_EQ(largest, 0u) << "an agent without features has no queues";
    return;
  }
  EXPECT_GE(queues, 1u);
  EXPECT_TRUE(std::has_single_bit(smallest)) << smallest;
  EXPECT_TRUE(std::has_single_bit(largest)) << largest;
  EXPECT_LE(smallest, largest);
}

TEST_P(Agent, GridLimitsAreConsistent) {
  struct Dimensions {
    uint16_t size[3];
  };
  const auto wavefront = GET(query(), uint32_t, HSA_AGENT_INFO_WAVEFRONT_SIZE);
  const auto group_dim = GET(query(), Dimensions, HSA_AGENT_INFO_WORKGROUP_MAX_DIM);
  const auto group = GET(query(), uint32_t, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
  const auto grid_dim = GET(query(), hsa_dim3_t, HSA_AGENT_INFO_GRID_MAX_DIM);
  const auto grid = GET(query(), uint32_t, HSA_AGENT_INFO_GRID_MAX_SIZE);
  if (!dispatches_kernels(agent()))
    GTEST_SKIP() << "the agent takes no kernel dispatches, so the limits mean nothing";
  EXPECT_TRUE(std::has_single_bit(wavefront)) << wavefront;
  EXPECT_LE(wavefront, 256u);
  EXPECT_GE(group, 256u) << "the manual's least";
  EXPECT_GE(group, wavefront);
  for (const uint16_t size : group_dim.size) {
    EXPECT_GE(size, 1u);
    EXPECT_LE(size, group);
  }
  EXPECT_GE(grid, group);
  EXPECT_GE(grid_dim.x, group_dim.size[0]);
  EXPECT_GE(grid_dim.y, group_dim.size[1]);
  EXPECT_GE(grid_dim.z, group_dim.size[2]);
}

TEST_P(Agent, SupportsFbarriersOfTheManual) {
  const auto fbarriers = GET(query(), uint32_t, HSA_AGENT_INFO_FBARRIER_MAX_SIZE);
  if (!dispatches_kernels(agent())) GTEST_SKIP() << "the agent takes no kernel dispatches";
  EXPECT_GE(fbarriers, 32u);
}

TEST_P(Agent, ReportsAmdAttributes) {
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_CHIP_ID);
  const auto line = GET(query(), uint32_t, HSA_AMD_AGENT_INFO_CACHELINE_SIZE);
  EXPECT_TRUE(line == 0 || std::has_single_bit(line)) << line;
  EXPECT_GE(GET(query(), uint32_t, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 1u);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_BDFID);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_MEMORY_WIDTH);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE);
  GET(query(), hsa_amd_hdp_flush_t, HSA_AMD_AGENT_INFO_HDP_FLUSH);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_DOMAIN);
  GET(query(), bool, HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES);
  const auto uuid = GET(query(), TextField<21>, HSA_AMD_AGENT_INFO_UUID);
  EXPECT_TRUE(uuid.terminated());
  EXPECT_NE(uuid.str().find('-'), std::string::npos) << uuid.str();
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_ASIC_REVISION);
  GET(query(), bool, HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS);
}

// Attributes that ROCr 5.2.3 does not have.
TEST_P(Agent, ReportsNewerAmdAttributes) {
  uint64_t probe[4];
  if (query()(HSA_AMD_AGENT_INFO_MEMORY_AVAIL, probe) == HSA_STATUS_ERROR_INVALID_ARGUMENT) {
    GTEST_SKIP() << "this runtime is older than these attributes";
  }
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT);
  GET(query(), uint64_t, HSA_AMD_AGENT_INFO_MEMORY_AVAIL);
  const auto frequency = GET(query(), uint64_t, HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY);
  if (dispatches_kernels(agent())) {
    EXPECT_GE(frequency, 1'000'000u);
  }
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_UCODE_VERSION);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_NUM_SDMA_ENG);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG);
  GET(query(), hsa_amd_iommu_version_t, HSA_AMD_AGENT_INFO_IOMMU_SUPPORT);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_NUM_XCC);
  GET(query(), uint32_t, HSA_AMD_AGENT_INFO_DRIVER_UID);
  const auto nearest = GET(query(), hsa_agent_t, HSA_AMD_AGENT_INFO_NEAREST_CPU);
  EXPECT_EQ(agent_info<hsa_device_type_t>(nearest, HSA_AGENT_INFO_DEVICE), HSA_DEVICE_TYPE_CPU);
  struct Bits {
    uint8_t bytes[8];
  };
  GET(query(), Bits, HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES);
  GET(query(), Bits, HSA_AMD_AGENT_INFO_AQL_EXTENSIONS);
  const auto limit = GET(query(), uint64_t, HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX);
  EXPECT_LE(GET(query(), uint64_t, HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT), limit);
  const auto clocks = GET(query(), hsa_amd_clock_counters_t, HSA_AMD_AGENT_INFO_CLOCK_COUNTERS);
  EXPECT_NE(clocks.system_clock_frequency, 0u);
}

TEST_P(Agent, RejectsUnknownAttribute) {
  uint64_t value[32];
  for (const int attribute : {25, 0x1000, 0x9fff, 0xa0ff, 0xafff, 0x7fffffff, -1}) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, query()(attribute, value)) << attribute;
  }
}

TEST_P(Agent, ReportsExceptionPoliciesForValidProfilesOnly) {
  uint16_t mask = 0xffff;
  EXPECT_HSA(hsa_agent_get_exception_policies(agent(), HSA_PROFILE_BASE, &mask));
  EXPECT_EQ(mask & ~(HSA_EXCEPTION_POLICY_BREAK | HSA_EXCEPTION_POLICY_DETECT), 0);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_agent_get_exception_policies(agent(), static_cast<hsa_profile_t>(2), &mask));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_agent_get_exception_policies(agent(), HSA_PROFILE_BASE, nullptr));
}

TEST_P(Agent, SupportsOnlyExtensionsOfTheSystem) {
  for (const uint16_t extension : {HSA_EXTENSION_FINALIZER, HSA_EXTENSION_IMAGES, HSA_EXTENSION_AMD_LOADER}) {
    bool of_agent = false;
    bool of_system = false;
    uint16_t minor = 0;
    EXPECT_HSA(hsa_agent_major_extension_supported(extension, agent(), 1, &minor, &of_agent));
    EXPECT_HSA(hsa_system_major_extension_supported(extension, 1, &minor, &of_system));
    EXPECT_LE(of_agent, of_system) << extension;
  }
  bool result = false;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_agent_major_extension_supported(HSA_EXTENSION_AMD_LOADER, agent(), 1, nullptr, &result));
}

// --- Caches ----------------------------------------------------------------------------------------------

std::vector<hsa_cache_t> caches_of(hsa_agent_t agent) {
  std::vector<hsa_cache_t> caches;
  EXPECT_HSA(hsa_agent_iterate_caches(
      agent,
      [](hsa_cache_t cache, void* data) {
        static_cast<std::vector<hsa_cache_t>*>(data)->push_back(cache);
        return HSA_STATUS_SUCCESS;
      },
      &caches));
  return caches;
}

TEST_P(Agent, ListsCachesInOrderOfLevel) {
  int last_level = 0;
  for (const hsa_cache_t cache : caches_of(agent())) {
    const Query info([cache](int attribute, void* value) {
      return hsa_cache_get_info(cache, static_cast<hsa_cache_info_t>(attribute), value);
    });
    const auto length = GET(info, uint32_t, HSA_CACHE_INFO_NAME_LENGTH);
    const auto name = GET(info, const char*, HSA_CACHE_INFO_NAME);
    const auto level = GET(info, uint8_t, HSA_CACHE_INFO_LEVEL);
    const auto size = GET(info, uint32_t, HSA_CACHE_INFO_SIZE);
    ASSERT_NE(name, nullptr);
    EXPECT_EQ(std::strlen(name), length);
    EXPECT_GE(level, 1);
    EXPECT_GE(level, last_level);
    EXPECT_TRUE(size == 0 || size >= 1024) << size;
    last_level = level;
    uint64_t value[4];
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, info(4, value));
  }
}

TEST_P(Agent, CacheIterationStopsWithCallbackStatus) {
  if (caches_of(agent()).empty()) GTEST_SKIP() << "the agent reports no caches";
  const auto stop = [](hsa_cache_t, void*) { return HSA_STATUS_INFO_BREAK; };
  EXPECT_STATUS(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_caches(agent(), stop, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_agent_iterate_caches(agent(), nullptr, nullptr));
}

TEST_P(Agent, PreloadSucceedsOnlyOnGpu) {
  REQUIRE_HSA(hsa_amd_agent_preload);
  const bool is_gpu = agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU;
  EXPECT_STATUS(is_gpu ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_amd_agent_preload(agent(), 0));
}

INSTANTIATE_FOR_AGENTS(Agent);

TEST_F(AgentList, RejectsInvalidCacheHandles) {
  uint64_t value[4];
  int local = 0;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, UINT64_MAX, reinterpret_cast<uint64_t>(&local)}) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_CACHE,
                  hsa_cache_get_info(hsa_cache_t{handle}, HSA_CACHE_INFO_LEVEL, value));
  }
}

}  // namespace
}  // namespace conformance
