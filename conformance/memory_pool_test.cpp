// AMD memory pools: attributes, allocation, pointer info, access, locking and filling.
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/queries.hpp"

namespace conformance {
namespace {

constexpr size_t kHuge = size_t{1} << 63;
constexpr uint32_t kAnyGrain = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
                               HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED |
                               HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED;

class Pool : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    pools_ = pools_of(agent());
    if (pools_.empty()) GTEST_SKIP() << "the agent has no memory pools";
  }

  static bool allocates(hsa_amd_memory_pool_t pool) {
    return pool_info<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED);
  }

  std::vector<hsa_amd_memory_pool_t> pools_;
};

TEST_P(Pool, ReportsEveryAttribute) {
  for (const hsa_amd_memory_pool_t pool : pools_) {
    const Query query([pool](int attribute, void* value) {
      return hsa_amd_memory_pool_get_info(pool, static_cast<hsa_amd_memory_pool_info_t>(attribute), value);
    });
    const auto segment = GET(query, hsa_amd_segment_t, HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
    EXPECT_LE(segment, HSA_AMD_SEGMENT_GROUP);
    if (segment == HSA_AMD_SEGMENT_GLOBAL) {
      EXPECT_EQ(std::popcount(GET(query, uint32_t, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS) & kAnyGrain), 1);
    }
    EXPECT_GT(GET(query, size_t, HSA_AMD_MEMORY_POOL_INFO_SIZE), 0u);
    GET(query, bool, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL);
    const auto largest = GET(query, size_t, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE);
    if (GET(query, bool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)) {
      const auto granule = GET(query, size_t, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE);
      EXPECT_TRUE(std::has_single_bit(granule));
      EXPECT_TRUE(std::has_single_bit(GET(query, size_t, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT)));
      EXPECT_GE(largest, granule);
    }
    uint64_t value[4];
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, query(0x7777, value));
  }
}

TEST_P(Pool, ReportsNewerAttributes) {
  for (const hsa_amd_memory_pool_t pool : pools_) {
    const Query query([pool](int attribute, void* value) {
      return hsa_amd_memory_pool_get_info(pool, static_cast<hsa_amd_memory_pool_info_t>(attribute), value);
    });
    if (pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) != HSA_AMD_SEGMENT_GLOBAL)
      continue;
    uint64_t probe[4];
    if (query(HSA_AMD_MEMORY_POOL_INFO_LOCATION, probe) == HSA_STATUS_ERROR_INVALID_ARGUMENT) {
      GTEST_SKIP() << "this runtime is older than these attributes";
    }
    const auto location = GET(query, hsa_amd_memory_pool_location_t, HSA_AMD_MEMORY_POOL_INFO_LOCATION);
    EXPECT_LE(location, HSA_AMD_MEMORY_POOL_LOCATION_GPU);
    if (allocates(pool)) {
      const auto granule = pool_info<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE);
      EXPECT_EQ(GET(query, size_t, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE) % granule, 0u);
    }
  }
}

TEST_P(Pool, ReportsAccessOfEveryAgent) {
  for (const hsa_amd_memory_pool_t pool : pools_) {
    for (const hsa_agent_t other : all_agents()) {
      const Query query([other, pool](int attribute, void* value) {
        return hsa_amd_agent_memory_pool_get_info(
            other, pool, static_cast<hsa_amd_agent_memory_pool_info_t>(attribute), value);
      });
      const auto access = GET(query, hsa_amd_memory_pool_access_t, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS);
      const auto hops = GET(query, uint32_t, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS);
      if (other.handle == agent().handle) {
        EXPECT_NE(access, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
        EXPECT_EQ(hops, 0u);
      }
      std::vector<hsa_amd_memory_pool_link_info_t> links(hops + 1);
      EXPECT_HSA(query(HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO, links.data()));
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, query(77, links.data()));
    }
  }
}

TEST_P(Pool, AllocatesAlignedMemoryOfAnySize) {
  for (const hsa_amd_memory_pool_t pool : pools_) {
    if (!allocates(pool)) continue;
    const auto alignment = pool_info<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT);
    for (const size_t size : {size_t{1}, size_t{100}, size_t{4096}, size_t{4097}, size_t{3} << 20}) {
      const PoolMemory memory = allocate(pool, size, agent());
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % alignment, 0u);
      if (host_reaches(pool) &&
          pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) == HSA_AMD_SEGMENT_GLOBAL &&
          agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) {
        std::memset(memory.get(), 0x11, size);
      }
    }
  }
}

TEST_P(Pool, RejectsInvalidAllocations) {
  for (const hsa_amd_memory_pool_t pool : pools_) {
    void* pointer = nullptr;
    if (!allocates(pool)) {
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_allocate(pool, 64, 0, &pointer));
      continue;
    }
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_pool_allocate(pool, 0, 0, &pointer));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_pool_allocate(pool, 64, 0, nullptr));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  hsa_amd_memory_pool_allocate(pool, 64, 1u << 30, &pointer));
    for (const size_t size : {kHuge, SIZE_MAX, SIZE_MAX - 4094}) {
      EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                    hsa_amd_memory_pool_allocate(pool, size, 0, &pointer));
    }
    EXPECT_EQ(pointer, nullptr);
  }
}

TEST_P(Pool, PointerInfoAcceptsInteriorAddresses) {
  for (const hsa_amd_memory_pool_t pool : pools_) {
    if (!allocates(pool)) continue;
    const PoolMemory memory = allocate(pool, 10000, agent());
    ASSERT_NE(memory, nullptr);
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{5000}, size_t{9999}}) {
      hsa_amd_pointer_info_t info{};
      info.size = sizeof info;
      ASSERT_HSA(
          hsa_amd_pointer_info(static_cast<char*>(memory.get()) + offset, &info, nullptr, nullptr, nullptr));
      EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA);
      EXPECT_EQ(info.agentBaseAddress, memory.get());
      EXPECT_EQ(info.sizeInBytes, 10000u);
      EXPECT_EQ(info.agentOwner.handle, agent().handle);
      EXPECT_EQ(info.userData, nullptr);
    }
  }
}

TEST_P(Pool, PointerInfoListsAgentsWithAccess) {
  const auto pool = find_pool(agent(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  const PoolMemory memory = allocate(*pool, 4096, agent());
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  uint32_t count = 0;
  hsa_agent_t* accessible = nullptr;
  ASSERT_HSA(hsa_amd_pointer_info(memory.get(), &info, std::malloc, &count, &accessible));
  bool found = false;
  for (uint32_t i = 0; i < count; ++i) found = found || accessible[i].handle == agent().handle;
  EXPECT_TRUE(found);
  std::free(accessible);
}

TEST_P(Pool, KeepsUserDataOfAllocation) {
  const auto pool = find_pool(agent(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  const PoolMemory memory = allocate(*pool, 4096, agent());
  int mark = 0;
  EXPECT_HSA(hsa_amd_pointer_info_set_userdata(memory.get(), &mark));
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  ASSERT_HSA(hsa_amd_pointer_info(memory.get(), &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.userData, &mark);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_pointer_info_set_userdata(&mark, &mark));
}

TEST_P(Pool, FillsMemoryWithWords) {
  const auto pool = find_pool(agent(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  const PoolMemory memory = allocate(*pool, 4096, agent());
  auto* const words = static_cast<uint32_t*>(memory.get());
  ASSERT_HSA(hsa_amd_memory_fill(words, 0, 1024));
  ASSERT_HSA(hsa_amd_memory_fill(words + 3, 0xdeadbeef, 1000));
  EXPECT_EQ(words[2], 0u);
  for (size_t i = 3; i < 1003; ++i) ASSERT_EQ(words[i], 0xdeadbeefu);
  EXPECT_EQ(words[1003], 0u);
  EXPECT_HSA(hsa_amd_memory_fill(words, 1, 0));
  EXPECT_EQ(words[0], 0u);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_fill(nullptr, 0, 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_fill(reinterpret_cast<char*>(words) + 1, 0, 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_fill(words, 0, size_t{1} << 61));
}

TEST_P(Pool, CallsDeallocationCallbackOnFree) {
  const auto pool = find_pool(agent(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  struct Seen {
    void* pointer = nullptr;
    int calls = 0;
  } seen;
  const auto callback = [](void* pointer, void* data) {
    auto& result = *static_cast<Seen*>(data);
    result.pointer = pointer;
    ++result.calls;
  };
  void* pointer = nullptr;
  ASSERT_HSA(hsa_amd_memory_pool_allocate(*pool, 4096, 0, &pointer));
  ASSERT_HSA(hsa_amd_register_deallocation_callback(pointer, callback, &seen));
  EXPECT_EQ(seen.calls, 0);
  ASSERT_HSA(hsa_amd_memory_pool_free(pointer));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.pointer, pointer);

  ASSERT_HSA(hsa_amd_memory_pool_allocate(*pool, 4096, 0, &pointer));
  ASSERT_HSA(hsa_amd_register_deallocation_callback(pointer, callback, &seen));
  EXPECT_HSA(hsa_amd_deregister_deallocation_callback(pointer, callback));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_deregister_deallocation_callback(pointer, callback));
  ASSERT_HSA(hsa_amd_memory_pool_free(pointer));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                hsa_amd_register_deallocation_callback(&seen, callback, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_register_deallocation_callback(nullptr, callback, nullptr));
}

TEST_P(Pool, AllowAccessRejectsInvalidArguments) {
  const auto pool = find_pool(agent(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  const PoolMemory memory = allocate(*pool, 4096, agent());
  const hsa_agent_t foreign{1};
  const hsa_agent_t own = agent();
  int local = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_amd_agents_allow_access(1, &foreign, nullptr, memory.get()));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_agents_allow_access(0, &own, nullptr, memory.get()));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_agents_allow_access(1, nullptr, nullptr, memory.get()));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_agents_allow_access(1, &own, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_agents_allow_access(1, &own, nullptr, &local));
}

TEST_P(Pool, ReportsWhetherMemoryCanMigrate) {
  bool result = true;
  EXPECT_STATUS_IN(hsa_amd_memory_pool_can_migrate(pools_.front(), pools_.front(), &result),
                   HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  const hsa_amd_memory_pool_t foreign{1};
  EXPECT_STATUS(static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL),
                hsa_amd_memory_pool_can_migrate(foreign, pools_.front(), &result));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_pool_can_migrate(pools_.front(), pools_.front(), nullptr));
}

TEST_P(Pool, GpuReportsCoherencyTypeThatWasSet) {
  auto type = HSA_AMD_COHERENCY_TYPE_COHERENT;
  if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_coherency_get_type(agent(), &type));
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_coherency_set_type(agent(), type));
    return;
  }
  EXPECT_HSA(hsa_amd_coherency_get_type(agent(), &type));
  EXPECT_EQ(type, HSA_AMD_COHERENCY_TYPE_NONCOHERENT) << "at first";
  for (const auto other : {HSA_AMD_COHERENCY_TYPE_COHERENT, HSA_AMD_COHERENCY_TYPE_NONCOHERENT}) {
    EXPECT_HSA(hsa_amd_coherency_set_type(agent(), other));
    EXPECT_HSA(hsa_amd_coherency_get_type(agent(), &type));
    EXPECT_EQ(type, other);
  }
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_coherency_get_type(agent(), nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_coherency_set_type(agent(), static_cast<hsa_amd_coherency_type_t>(2)));
}

TEST_P(Pool, AllocatesFromManyThreads) {
  const auto pool = find_pool(agent(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        void* pointer = nullptr;
        if (hsa_amd_memory_pool_allocate(*pool, 4096 + 64 * i, 0, &pointer) != HSA_STATUS_SUCCESS) {
          ++failures;
          continue;
        }
        auto* const word = static_cast<volatile int*>(pointer);
        *word = t * 1000 + i;
        hsa_amd_pointer_info_t info{};
        info.size = sizeof info;
        if (hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr) != HSA_STATUS_SUCCESS) ++failures;
        if (info.agentBaseAddress != pointer || *word != t * 1000 + i) ++failures;
        if (hsa_amd_memory_pool_free(pointer) != HSA_STATUS_SUCCESS) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

INSTANTIATE_FOR_AGENTS(Pool);

// --- Invalid pointers and pools --------------------------------------------------------------------------

class PoolArguments : public HsaTest {};

TEST_F(PoolArguments, PointerInfoIsUnknownOutsideAllocations) {
  int local = 0;
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  for (const void* pointer : {static_cast<const void*>(&local), reinterpret_cast<const void*>(uintptr_t{16}),
                              reinterpret_cast<const void*>(UINTPTR_MAX)}) {
    ASSERT_HSA(hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr));
    EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  }
}

TEST_F(PoolArguments, PointerInfoRejectsNullsAndEmptyBuffer) {
  int local = 0;
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_pointer_info(nullptr, &info, nullptr, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_pointer_info(&local, nullptr, nullptr, nullptr, nullptr));
  info.size = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_pointer_info(&local, &info, nullptr, nullptr, nullptr));
}

TEST_F(PoolArguments, PointerInfoWritesUpToCallersSize) {
  int local = 0;
  alignas(hsa_amd_pointer_info_t) unsigned char buffer[sizeof(hsa_amd_pointer_info_t)];
  std::memset(buffer, 0x77, sizeof buffer);
  auto* const info = reinterpret_cast<hsa_amd_pointer_info_t*>(buffer);
  info->size = offsetof(hsa_amd_pointer_info_t, sizeInBytes);
  ASSERT_HSA(hsa_amd_pointer_info(&local, info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info->size, offsetof(hsa_amd_pointer_info_t, sizeInBytes));
  for (size_t i = info->size; i < sizeof buffer; ++i) EXPECT_EQ(buffer[i], 0x77) << i;
}

TEST_F(PoolArguments, FreeRejectsForeignMemory) {
  int local = 0;
  EXPECT_HSA(hsa_amd_memory_pool_free(nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_free(&local));
}

TEST_F(PoolArguments, FreeRejectsFreedMemory) {
  const auto pool = find_pool(all_agents().front(), kAnyGrain);
  if (!pool) GTEST_SKIP() << "no pool allocates";
  void* pointer = nullptr;
  ASSERT_HSA(hsa_amd_memory_pool_allocate(*pool, 8192, 0, &pointer));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                hsa_amd_memory_pool_free(static_cast<char*>(pointer) + 64));
  EXPECT_HSA(hsa_amd_memory_pool_free(pointer));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_pool_free(pointer));
}

TEST_F(PoolArguments, InvalidPoolsAreRejected) {
  uint64_t value[4];
  void* pointer = nullptr;
  int local = 0;
  const auto invalid = static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, UINT64_MAX, reinterpret_cast<uint64_t>(&local)}) {
    const hsa_amd_memory_pool_t pool{handle};
    EXPECT_STATUS(invalid, hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, value));
    EXPECT_STATUS(invalid, hsa_amd_memory_pool_allocate(pool, 64, 0, &pointer));
    EXPECT_STATUS(invalid, hsa_amd_agent_memory_pool_get_info(all_agents().front(), pool,
                                                              HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, value));
  }
}

// --- Locked memory ---------------------------------------------------------------------------------------

class LockedMemory : public HsaTest {};

TEST_F(LockedMemory, IsVisibleToAgentsAndPointerInfo) {
  std::vector<uint32_t> memory(5000, 7);
  void* locked = nullptr;
  ASSERT_HSA(hsa_amd_memory_lock(memory.data(), memory.size() * 4, nullptr, 0, &locked));
  ASSERT_NE(locked, nullptr);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  ASSERT_HSA(hsa_amd_pointer_info(memory.data() + 100, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(info.hostBaseAddress, memory.data());
  EXPECT_EQ(info.sizeInBytes, memory.size() * 4);
  EXPECT_HSA(hsa_amd_memory_fill(locked, 9, memory.size()));
  EXPECT_EQ(memory.front(), 9u);
  EXPECT_EQ(memory.back(), 9u);
  EXPECT_HSA(hsa_amd_memory_unlock(memory.data()));
  ASSERT_HSA(hsa_amd_pointer_info(memory.data(), &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

TEST_F(LockedMemory, CountsNestedLocks) {
  std::vector<char> memory(4096);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_HSA(hsa_amd_memory_lock(memory.data(), memory.size(), nullptr, 0, &first));
  ASSERT_HSA(hsa_amd_memory_lock(memory.data(), memory.size(), nullptr, 0, &second));
  EXPECT_HSA(hsa_amd_memory_unlock(memory.data()));
  EXPECT_HSA(hsa_amd_memory_unlock(memory.data()));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION, hsa_amd_memory_unlock(memory.data()));
}

TEST_F(LockedMemory, RejectsInvalidArguments) {
  std::vector<char> memory(4096);
  void* locked = &memory;
  auto agents = all_agents();
  hsa_agent_t foreign{1};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_lock(memory.data(), 0, nullptr, 0, &locked));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_lock(nullptr, 64, nullptr, 0, &locked));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_lock(memory.data(), 64, nullptr, 0, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_lock(memory.data(), 64, nullptr, 1, &locked));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_lock(memory.data(), 64, agents.data(), 0, &locked));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_memory_lock(memory.data(), 64, &foreign, 1, &locked));
  EXPECT_NE(hsa_amd_memory_lock(memory.data(), kHuge, nullptr, 0, &locked), HSA_STATUS_SUCCESS);
}

TEST_F(LockedMemory, LocksToHostPool) {
  const auto pool = find_pool(all_agents().front(), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  if (!pool) GTEST_SKIP() << "there is no fine-grained host pool";
  std::vector<char> memory(4096);
  void* locked = nullptr;
  ASSERT_HSA(hsa_amd_memory_lock_to_pool(memory.data(), memory.size(), nullptr, 0, *pool, 0, &locked));
  EXPECT_HSA(hsa_amd_memory_unlock(memory.data()));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_lock_to_pool(memory.data(), memory.size(), nullptr, 0, *pool, 1, &locked));
  EXPECT_STATUS(static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL),
                hsa_amd_memory_lock_to_pool(memory.data(), memory.size(), nullptr, 0, {1}, 0, &locked));
}

}  // namespace
}  // namespace conformance
