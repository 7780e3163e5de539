// Memory regions and the functions hsa_memory_*.
#include <bit>
#include <cstring>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/queries.hpp"

namespace conformance {
namespace {

constexpr size_t kHuge = size_t{1} << 63;

class Region : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    regions_ = regions_of(agent());
    if (regions_.empty()) GTEST_SKIP() << "the agent has no regions";
  }

  std::vector<hsa_region_t> regions_;
};

TEST_P(Region, ReportsEveryAttribute) {
  for (const hsa_region_t region : regions_) {
    const Query query([region](int attribute, void* value) {
      return hsa_region_get_info(region, static_cast<hsa_region_info_t>(attribute), value);
    });
    const auto segment = GET(query, hsa_region_segment_t, HSA_REGION_INFO_SEGMENT);
    EXPECT_LE(segment, HSA_REGION_SEGMENT_KERNARG);
    const auto size = GET(query, size_t, HSA_REGION_INFO_SIZE);
    EXPECT_GT(size, 0u);
    if (segment == HSA_REGION_SEGMENT_GLOBAL) {
      const auto flags = GET(query, uint32_t, HSA_REGION_INFO_GLOBAL_FLAGS);
      constexpr uint32_t kGrains = HSA_REGION_GLOBAL_FLAG_FINE_GRAINED |
                                   HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED |
                                   HSA_REGION_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED;
      EXPECT_EQ(std::popcount(flags & kGrains), 1) << "one grain, not " << flags;
    }
    const bool allocates = GET(query, bool, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED);
    if (segment == HSA_REGION_SEGMENT_GROUP || segment == HSA_REGION_SEGMENT_PRIVATE) {
      EXPECT_FALSE(allocates);
    }
    EXPECT_GT(GET(query, size_t, HSA_REGION_INFO_ALLOC_MAX_SIZE), 0u);
    if (allocates) {
      EXPECT_GT(GET(query, size_t, HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE), 0u);
      EXPECT_TRUE(std::has_single_bit(GET(query, size_t, HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT)));
    }
    uint64_t value[4];
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, query(0x7777, value));
  }
}

// Programs for HSA 1.0 do not use pools. They search the regions of the agent that runs their kernels.
TEST_P(Region, DispatchAgentListsKernargAndSharedMemory) {
  if ((agent_info<uint32_t>(agent(), HSA_AGENT_INFO_FEATURE) & HSA_AGENT_FEATURE_KERNEL_DISPATCH) == 0)
    GTEST_SKIP() << "the agent does not dispatch";
  EXPECT_TRUE(find_region(agent(), HSA_REGION_GLOBAL_FLAG_KERNARG).has_value());
  EXPECT_TRUE(find_region(agent(), HSA_REGION_GLOBAL_FLAG_FINE_GRAINED).has_value());
}

TEST_P(Region, AllocatesAlignedMemoryOfAnySize) {
  for (const hsa_region_t region : regions_) {
    if (!region_info<bool>(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED)) continue;
    const auto alignment = region_info<size_t>(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT);
    const auto segment = region_info<hsa_region_segment_t>(region, HSA_REGION_INFO_SEGMENT);
    for (const size_t size :
         {size_t{1}, size_t{64}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{1} << 20}) {
      void* pointer = nullptr;
      ASSERT_HSA(hsa_memory_allocate(region, size, &pointer)) << size;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % alignment, 0u);
      if (segment == HSA_REGION_SEGMENT_GLOBAL &&
          agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) {
        std::memset(pointer, 0x5a, size);
      }
      EXPECT_HSA(hsa_memory_free(pointer));
    }
  }
}

TEST_P(Region, LiveAllocationsDoNotOverlap) {
  const auto region = find_region(agent(), 0);
  if (!region) GTEST_SKIP() << "no region of the agent allocates";
  struct Block {
    uint64_t* words;
    size_t count;
  };
  std::vector<Block> blocks;
  for (size_t i = 1; i <= 200; ++i) {
    void* pointer = nullptr;
    ASSERT_HSA(hsa_memory_allocate(*region, i * 64, &pointer));
    blocks.push_back({static_cast<uint64_t*>(pointer), i * 8});
    std::vector<uint64_t> fill(i * 8, i);
    ASSERT_HSA(hsa_memory_copy(pointer, fill.data(), i * 64));
  }
  for (size_t i = 1; i <= blocks.size(); ++i) {
    std::vector<uint64_t> content(blocks[i - 1].count);
    ASSERT_HSA(hsa_memory_copy(content.data(), blocks[i - 1].words, i * 64));
    for (const uint64_t word : content) ASSERT_EQ(word, i);
  }
  for (const Block& block : blocks) EXPECT_HSA(hsa_memory_free(block.words));
}

TEST_P(Region, RejectsInvalidSizes) {
  for (const hsa_region_t region : regions_) {
    void* pointer = nullptr;
    if (!region_info<bool>(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED)) {
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_memory_allocate(region, 64, &pointer));
      continue;
    }
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_memory_allocate(region, 0, &pointer));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_memory_allocate(region, 64, nullptr));
    const auto largest = region_info<size_t>(region, HSA_REGION_INFO_ALLOC_MAX_SIZE);
    for (const size_t size : {kHuge, SIZE_MAX, SIZE_MAX - 4094}) {
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_memory_allocate(region, size, &pointer)) << size;
    }
    if (largest < SIZE_MAX - 4096) {
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                    hsa_memory_allocate(region, largest + 4096, &pointer));
    }
    EXPECT_EQ(pointer, nullptr) << "nothing is written on failure";
  }
}

TEST_P(Region, IterationStopsWithCallbackStatus) {
  const auto stop = [](hsa_region_t, void*) { return HSA_STATUS_INFO_BREAK; };
  EXPECT_STATUS(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_regions(agent(), stop, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_agent_iterate_regions(agent(), nullptr, nullptr));
}

TEST_P(Region, MemoryIsAssignedToAgent) {
  const auto region = find_region(agent(), 0);
  if (!region) GTEST_SKIP() << "no region of the agent allocates";
  void* pointer = nullptr;
  ASSERT_HSA(hsa_memory_allocate(*region, 4096, &pointer));
  for (const auto access : {HSA_ACCESS_PERMISSION_RO, HSA_ACCESS_PERMISSION_WO, HSA_ACCESS_PERMISSION_RW}) {
    EXPECT_HSA(hsa_memory_assign_agent(pointer, agent(), access));
  }
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_memory_assign_agent(pointer, agent(), static_cast<hsa_access_permission_t>(9)));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_memory_assign_agent(nullptr, agent(), HSA_ACCESS_PERMISSION_RW));
  EXPECT_HSA(hsa_memory_free(pointer));
}

INSTANTIATE_FOR_AGENTS(Region);

class HostMemory : public HsaTest {};

TEST_F(HostMemory, RegistersAndDeregisters) {
  std::vector<char> memory(10000);
  EXPECT_HSA(hsa_memory_register(memory.data(), memory.size()));
  EXPECT_HSA(hsa_memory_deregister(memory.data(), memory.size()));
  EXPECT_HSA(hsa_memory_register(nullptr, 0));
  EXPECT_HSA(hsa_memory_deregister(nullptr, 0));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_memory_register(memory.data(), 0));
}

TEST_F(HostMemory, CopiesAnySize) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{1} << 20, (size_t{9} << 20) + 5}) {
    std::vector<unsigned char> from(size + 1);
    std::vector<unsigned char> to(size + 1, 0xee);
    for (size_t i = 0; i < size; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
    ASSERT_HSA(hsa_memory_copy(to.data(), from.data(), size));
    EXPECT_EQ(std::memcmp(to.data(), from.data(), size), 0) << size;
    EXPECT_EQ(to[size], 0xee) << size;
  }
}

TEST_F(HostMemory, CopyRejectsNull) {
  char byte = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_memory_copy(nullptr, &byte, 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_memory_copy(&byte, nullptr, 1));
}

TEST_F(HostMemory, FreeAcceptsNull) {
  EXPECT_HSA(hsa_memory_free(nullptr));
}

TEST_F(HostMemory, InvalidRegionsAreRejected) {
  uint64_t value[4];
  void* pointer = nullptr;
  int local = 0;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, UINT64_MAX, reinterpret_cast<uint64_t>(&local)}) {
    const hsa_region_t region{handle};
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_REGION, hsa_region_get_info(region, HSA_REGION_INFO_SIZE, value));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_REGION, hsa_memory_allocate(region, 64, &pointer));
  }
}

}  // namespace
}  // namespace conformance
