// Pointer queries, access by agents, and locked memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

using testing::kCpu0;
using testing::kCpu1;
using testing::kGpu0;
using testing::kGpu1;
using testing::kNobody;
using ::testing::UnorderedElementsAre;

class MemoryAccess : public ::testing::Test {
 protected:
  MemoryAccess() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
    pool = testing::fine_pool(memory, kCpu1);
  }

  unsigned char* allocate(size_t size) {
    void* ptr = nullptr;
    EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, size, 0, &ptr), HSA_STATUS_SUCCESS);
    return static_cast<unsigned char*>(ptr);
  }

  hsa_amd_pointer_info_t info(const void* ptr) {
    hsa_amd_pointer_info_t answer{};
    answer.size = sizeof answer;
    EXPECT_EQ(memory.pointers.pointer_info(ptr, &answer, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
    return answer;
  }

  std::vector<uint64_t> accessible(const void* ptr) {
    hsa_amd_pointer_info_t answer{};
    answer.size = sizeof answer;
    uint32_t count = 99;
    hsa_agent_t* list = nullptr;
    EXPECT_EQ(memory.pointers.pointer_info(ptr, &answer, std::malloc, &count, &list), HSA_STATUS_SUCCESS);
    std::vector<uint64_t> agents;
    for (uint32_t i = 0; i < count; ++i) agents.push_back(list[i].handle);
    std::free(list);
    return agents;
  }

  Status allow(std::vector<hsa_agent_t> agents, const void* ptr) {
    return memory.pointers.agents_allow_access(static_cast<uint32_t>(agents.size()), agents.data(), nullptr,
                                               ptr);
  }

  testing::TestMemory memory;
  hsa_amd_memory_pool_t pool{};
};

TEST_F(MemoryAccess, InfoDescribesAllocation) {
  unsigned char* ptr = allocate(10000);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{9999}}) {
    const auto answer = info(ptr + offset);
    EXPECT_EQ(answer.size, sizeof answer);
    EXPECT_EQ(answer.type, HSA_EXT_POINTER_TYPE_HSA);
    EXPECT_EQ(answer.agentBaseAddress, ptr);
    EXPECT_EQ(answer.hostBaseAddress, ptr);
    EXPECT_EQ(answer.sizeInBytes, 10000u);
    EXPECT_EQ(answer.userData, nullptr);
    EXPECT_EQ(answer.agentOwner.handle, kCpu1.handle);
    EXPECT_EQ(answer.global_flags, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED});
  }
  EXPECT_EQ(info(ptr + 10000).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(ptr).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

TEST_F(MemoryAccess, InfoOfApplicationMemoryIsUnknown) {
  int local = 0;
  EXPECT_EQ(info(&local).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(info(reinterpret_cast<void*>(~uintptr_t{0})).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_TRUE(accessible(&local).empty());
}

TEST_F(MemoryAccess, InfoFillsOnlyCallersSize) {
  unsigned char* ptr = allocate(4096);
  for (uint32_t size = 4; size <= sizeof(hsa_amd_pointer_info_t) + 16; size += 4) {
    unsigned char buffer[sizeof(hsa_amd_pointer_info_t) + 32];
    std::memset(buffer, 0xee, sizeof buffer);
    std::memcpy(buffer, &size, sizeof size);
    ASSERT_EQ(memory.pointers.pointer_info(ptr, reinterpret_cast<hsa_amd_pointer_info_t*>(buffer), nullptr,
                                           nullptr, nullptr),
              HSA_STATUS_SUCCESS);
    uint32_t filled = 0;
    std::memcpy(&filled, buffer, sizeof filled);
    EXPECT_EQ(filled, std::min<uint32_t>(size, sizeof(hsa_amd_pointer_info_t)));
    for (size_t i = filled; i < sizeof buffer; ++i)
      EXPECT_EQ(buffer[i], 0xee) << "byte " << i << " of " << size;
  }
}

TEST_F(MemoryAccess, InfoChecksArguments) {
  hsa_amd_pointer_info_t answer{};
  unsigned char* ptr = allocate(1);
  EXPECT_EQ(memory.pointers.pointer_info(ptr, &answer, nullptr, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "the size is not set";
  answer.size = sizeof answer;
  EXPECT_EQ(memory.pointers.pointer_info(nullptr, &answer, nullptr, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.pointer_info(ptr, nullptr, nullptr, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(MemoryAccess, InfoFailsIfCallersAllocatorFails) {
  hsa_amd_pointer_info_t answer{};
  answer.size = sizeof answer;
  uint32_t count = 7;
  hsa_agent_t* list = nullptr;
  const auto failing = [](size_t) -> void* { return nullptr; };
  EXPECT_EQ(memory.pointers.pointer_info(allocate(1), &answer, failing, &count, &list),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_F(MemoryAccess, InfoListsCpuAgentsAndAllowedAgents) {
  unsigned char* ptr = allocate(4096);
  unsigned char* other = allocate(4096);
  EXPECT_THAT(accessible(ptr), UnorderedElementsAre(kCpu0.handle, kCpu1.handle));
  EXPECT_EQ(allow({kGpu0, kGpu1}, ptr), HSA_STATUS_SUCCESS);
  EXPECT_THAT(accessible(ptr + 7),
              UnorderedElementsAre(kCpu0.handle, kCpu1.handle, kGpu0.handle, kGpu1.handle));
  EXPECT_EQ(allow({kGpu1}, ptr), HSA_STATUS_SUCCESS);
  EXPECT_THAT(accessible(ptr), UnorderedElementsAre(kCpu0.handle, kCpu1.handle, kGpu1.handle));
  EXPECT_THAT(accessible(other), UnorderedElementsAre(kCpu0.handle, kCpu1.handle));
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(other), HSA_STATUS_SUCCESS);
  unsigned char* next = allocate(4096);
  EXPECT_THAT(accessible(next), UnorderedElementsAre(kCpu0.handle, kCpu1.handle));
}

TEST_F(MemoryAccess, AllowAccessChecksArguments) {
  unsigned char* ptr = allocate(8192);
  const uint32_t flags = 0;
  EXPECT_EQ(allow({}, ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.agents_allow_access(1, nullptr, nullptr, ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.agents_allow_access(1, &kGpu0, &flags, ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(allow({kGpu0}, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(allow({kGpu0}, ptr + 4096), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(allow({kGpu0}, &flags), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(allow({kNobody}, ptr), HSA_STATUS_ERROR_INVALID_AGENT);
  memory.agents.add({.handle = kNobody, .type = HSA_DEVICE_TYPE_GPU, .node = 9});
  EXPECT_EQ(allow({kNobody}, ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT) << "there is no link to this agent";
}

TEST_F(MemoryAccess, InfoReturnsUserData) {
  unsigned char* ptr = allocate(8192);
  EXPECT_EQ(memory.pointers.pointer_info_set_userdata(ptr, &memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(ptr + 5000).userData, &memory);
  EXPECT_EQ(memory.pointers.pointer_info_set_userdata(ptr + 1, &memory), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.pointer_info_set_userdata(nullptr, &memory), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  unsigned char* next = allocate(8192);
  EXPECT_EQ(next, ptr) << "this test wants the same place again";
  EXPECT_EQ(info(next).userData, nullptr);
}

TEST_F(MemoryAccess, InfoDescribesLockedMemory) {
  std::vector<unsigned char> own(10000);
  void* agent_ptr = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(own.data(), own.size(), nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(agent_ptr, own.data());
  const auto answer = info(own.data() + 9999);
  EXPECT_EQ(answer.type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(answer.agentBaseAddress, own.data());
  EXPECT_EQ(answer.hostBaseAddress, own.data());
  EXPECT_EQ(answer.sizeInBytes, own.size());
  EXPECT_EQ(answer.agentOwner.handle, kCpu0.handle);
  EXPECT_EQ(answer.global_flags, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED});
  EXPECT_EQ(info(own.data() + own.size()).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(memory.pointers.pointer_info_set_userdata(own.data(), &own), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(own.data() + 1).userData, &own);
  EXPECT_EQ(memory.pointers.memory_free(own.data()), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "it is the application's";
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(own.data()).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

TEST_F(MemoryAccess, LockToPoolUsesPoolProperties) {
  std::vector<unsigned char> own(100);
  void* agent_ptr = nullptr;
  hsa_agent_t gpu = kGpu0;
  ASSERT_EQ(memory.locked.memory_lock_to_pool(own.data(), own.size(), &gpu, 1, pool, 0, &agent_ptr),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(own.data()).global_flags, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED});
  EXPECT_EQ(info(own.data()).agentOwner.handle, kCpu1.handle);
  EXPECT_THAT(accessible(own.data()), UnorderedElementsAre(kCpu0.handle, kCpu1.handle, kGpu0.handle));
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
}

TEST_F(MemoryAccess, OverlappingLocksHoldUntilUnlockedByStart) {
  std::vector<unsigned char> own(3000);
  void* agent_ptr = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(own.data(), 3000, nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  ASSERT_EQ(memory.locked.memory_lock(own.data() + 1000, 500, nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  ASSERT_EQ(memory.locked.memory_lock(own.data(), 2000, nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(own.data() + 1200).sizeInBytes, 2000u) << "the latest lock is in front";
  EXPECT_EQ(info(own.data() + 2500).sizeInBytes, 3000u);
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(own.data() + 1200).sizeInBytes, 2000u) << "which of the two was meant is not known";
  EXPECT_EQ(info(own.data() + 2500).sizeInBytes, 3000u);
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(own.data() + 10).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(info(own.data() + 1200).sizeInBytes, 500u);
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(memory.locked.memory_unlock(own.data() + 1000), HSA_STATUS_SUCCESS);
}

TEST_F(MemoryAccess, LockedPoolMemoryStaysPoolMemory) {
  unsigned char* ptr = allocate(4096);
  void* agent_ptr = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(ptr, 4096, nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(agent_ptr, ptr);
  EXPECT_EQ(info(ptr).type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(memory.locked.memory_unlock(ptr), HSA_STATUS_SUCCESS);
}

TEST_F(MemoryAccess, LookupsPreferAllocationToLock) {
  unsigned char* const ptr = allocate(8192);
  unsigned char* const locked = ptr + 4096;
  void* agent_ptr = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(locked, 4096, nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  int data = 0;
  // an allocation's data is set by its start, a lock's by its own
  EXPECT_EQ(memory.pointers.pointer_info_set_userdata(locked, &data), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(locked).agentBaseAddress, ptr);
  EXPECT_EQ(info(locked).userData, nullptr);
  EXPECT_EQ(memory.pointers.locate(locked).base, reinterpret_cast<uintptr_t>(ptr));
  EXPECT_EQ(memory.pointers.host_address(locked), locked);
  EXPECT_EQ(memory.pointers.memory_free(locked), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.memory_free(ptr + 8), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(memory.locked.memory_unlock(locked), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(locked), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(MemoryAccess, LockChecksArguments) {
  unsigned char own[64];
  void* out = nullptr;
  hsa_agent_t agent = kCpu0;
  hsa_agent_t nobody = kNobody;
  EXPECT_EQ(memory.locked.memory_lock(own, 0, nullptr, 0, &out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(nullptr, 64, nullptr, 0, &out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(own, 64, nullptr, 0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(own, 64, &agent, 0, &out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(own, 64, nullptr, 1, &out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(own, 64, &agent, -1, &out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(own, ~size_t{0}, nullptr, 0, &out), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_lock(reinterpret_cast<void*>(1), ~size_t{0} - 1, nullptr, 0, &out),
            HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "its pages are more than there are";
  EXPECT_EQ(memory.locked.memory_lock(own, 64, &nobody, 1, &out), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.locked.memory_lock_to_pool(own, 64, nullptr, 0, {5}, 0, &out),
            static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  EXPECT_EQ(memory.locked.memory_lock_to_pool(own, 64, nullptr, 0, pool, 1, &out),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(MemoryAccess, LockRejectsUnmappedMemory) {
  void* hole = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(hole, MAP_FAILED);
  munmap(static_cast<unsigned char*>(hole) + 4096, 4096);
  void* out = nullptr;
  EXPECT_EQ(memory.locked.memory_lock(hole, 4096, nullptr, 0, &out), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.locked.memory_lock(hole, 4097, nullptr, 0, &out), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  munmap(hole, 4096);
}

constexpr uintptr_t kAlias = 0x1000000;  // address of pinned memory for devices, relative to the host

class FakePinner final : public HostPinner {
 public:
  explicit FakePinner(std::vector<std::pair<void*, size_t>>& pins) : pins_(pins) {}
  Result<void*> pin(void* host, size_t size, const AgentSet&, uint32_t) override {
    if (size == 13) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    pins_.emplace_back(host, size);
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(host) + kAlias);
  }
  void unpin(void* host, size_t size, void*) noexcept override {
    std::erase(pins_, std::pair<void*, size_t>(host, size));
  }

 private:
  std::vector<std::pair<void*, size_t>>& pins_;
};

TEST(Locking, CallsDriverForDeviceAgents) {
  std::vector<std::pair<void*, size_t>> pins;
  unsigned char own[64];
  {
    testing::TestMemory memory;
    testing::add_agents(memory);
    testing::add_hosts(memory);
    memory.locked.set_pinner(std::make_unique<FakePinner>(pins));
    hsa_agent_t cpu = kCpu0, gpu = kGpu0;
    void* out = nullptr;
    EXPECT_EQ(memory.locked.memory_lock(own, 64, &cpu, 1, &out), HSA_STATUS_SUCCESS);
    EXPECT_EQ(out, own);
    EXPECT_TRUE(pins.empty());
    EXPECT_EQ(memory.locked.memory_lock(own + 1, 32, &gpu, 1, &out), HSA_STATUS_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(out), reinterpret_cast<uintptr_t>(own + 1) + kAlias);
    EXPECT_EQ(memory.locked.memory_lock(own, 13, &gpu, 1, &out), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    EXPECT_EQ(pins.size(), 1u);
    EXPECT_EQ(memory.locked.memory_unlock(own + 1), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(pins.empty());
    EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_SUCCESS);
    EXPECT_EQ(memory.locked.memory_lock(own, 64, nullptr, 0, &out), HSA_STATUS_SUCCESS);
    EXPECT_EQ(pins.size(), 1u) << "no list means every agent";
  }
  EXPECT_TRUE(pins.empty()) << "the end of memory management undoes what is left";
}

class Locks : public ::testing::Test {
 protected:
  Locks() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
    memory.locked.set_pinner(std::make_unique<FakePinner>(pins));
  }

  std::vector<std::pair<void*, size_t>> pins;
  testing::TestMemory memory;
  unsigned char own[64];
};

// Two threads that copy from one buffer: the first one's unlock must not unpin it for the other.
TEST_F(Locks, HoldUntilUnlockedAsOftenAsLocked) {
  hsa_agent_t gpu = kGpu0, other = kGpu1;
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(own, 64, &gpu, 1, &first), HSA_STATUS_SUCCESS);
  ASSERT_EQ(memory.locked.memory_lock(own, 64, &gpu, 1, &second), HSA_STATUS_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(pins.size(), 1u);
  ASSERT_EQ(memory.locked.memory_lock(own, 64, &other, 1, &second), HSA_STATUS_SUCCESS);
  ASSERT_EQ(memory.locked.memory_lock(own, 32, &gpu, 1, &second), HSA_STATUS_SUCCESS);
  EXPECT_EQ(pins.size(), 3u);
  for (int unlocks = 0; unlocks < 3; ++unlocks) {
    EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_SUCCESS);
    EXPECT_EQ(pins.size(), 3u);
  }
  EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(pins.empty());
  EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

// The pin of a copy by the runtime.
TEST_F(Locks, ExcludePinsOfRuntime) {
  {
    const auto pinned = memory.locked.pin(kGpu0, own, 64);
    ASSERT_TRUE(pinned);
    EXPECT_EQ(pins.size(), 1u);
    EXPECT_EQ(pinned->address, reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(own) + kAlias));
    EXPECT_FALSE(memory.pointers.reach(kGpu0, own, 64)) << "no other service knows the pointer";
    EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_ERROR_INVALID_ALLOCATION);

    hsa_agent_t gpu = kGpu0;
    void* locked = nullptr;
    ASSERT_EQ(memory.locked.memory_lock(own, 32, &gpu, 1, &locked), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(memory.pointers.reach(kGpu0, own, 32));
    EXPECT_FALSE(memory.pointers.reach(kGpu0, own + 1, 32)) << "the lock ends before";
    EXPECT_FALSE(memory.pointers.reach(kGpu1, own, 32));
    const auto held = memory.pointers.reach(kGpu0, own, 32);
    EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_SUCCESS);
    EXPECT_EQ(pins.size(), 2u) << "a copy that goes on holds it";
  }
  EXPECT_TRUE(pins.empty());
}

TEST_F(MemoryAccess, InfoAcceptsAgentAddressesOfLockedMemory) {
  std::vector<std::pair<void*, size_t>> pins;
  memory.locked.set_pinner(std::make_unique<FakePinner>(pins));
  std::vector<unsigned char> own(3000);
  hsa_agent_t gpu = kGpu0;
  void *seen = nullptr, *part = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(own.data(), own.size(), &gpu, 1, &seen), HSA_STATUS_SUCCESS);
  ASSERT_EQ(memory.locked.memory_lock(own.data(), 100, &gpu, 1, &part), HSA_STATUS_SUCCESS);
  auto* const agents = static_cast<unsigned char*>(seen);
  for (const unsigned char* ptr : {own.data() + 200, agents + 200}) {
    const auto answer = info(ptr);
    EXPECT_EQ(answer.type, HSA_EXT_POINTER_TYPE_LOCKED);
    EXPECT_EQ(answer.agentBaseAddress, agents);
    EXPECT_EQ(answer.hostBaseAddress, own.data());
    EXPECT_EQ(answer.sizeInBytes, own.size());
    EXPECT_THAT(accessible(ptr), UnorderedElementsAre(kCpu0.handle, kCpu1.handle, kGpu0.handle));
    EXPECT_EQ(memory.pointers.host_address(ptr), own.data() + 200);
    const auto reached = memory.pointers.reach(kGpu0, ptr, 2800);
    ASSERT_TRUE(reached);
    EXPECT_EQ(reached->address, agents + 200);
    EXPECT_FALSE(memory.pointers.reach(kGpu0, ptr, 2801));
    EXPECT_FALSE(memory.pointers.reach(kGpu1, ptr, 1));
    const Placement placement = memory.pointers.locate(ptr);
    EXPECT_EQ(placement.base, reinterpret_cast<uintptr_t>(ptr - 200));
    EXPECT_EQ(ptr + placement.to_host, own.data() + 200);
  }
  EXPECT_EQ(info(agents + 99).sizeInBytes, 100u) << "the latest lock is in front";
  EXPECT_EQ(memory.pointers.memory_free(agents), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "it is the application's";
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(agents + 99).sizeInBytes, 100u);
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(agents + 99).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

TEST_F(MemoryAccess, MigrationFailsWithStatusesOfManual) {
  const auto here = pool;
  const auto there = testing::pool_of(memory, kCpu0, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  bool result = true;
  EXPECT_EQ(memory.heaps.memory_pool_can_migrate(here, there, &result), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_FALSE(result);
  EXPECT_EQ(memory.heaps.memory_pool_can_migrate(here, there, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_pool_can_migrate({1}, there, &result),
            static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  EXPECT_EQ(memory.heaps.memory_pool_can_migrate(here, {1}, &result),
            static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  unsigned char* ptr = allocate(100);
  EXPECT_EQ(memory.heaps.memory_migrate(ptr, there, 0), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(memory.heaps.memory_migrate(ptr, here, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.heaps.memory_migrate(ptr, here, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_migrate(nullptr, here, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_migrate(ptr, {1}, 0),
            static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
}

TEST_F(MemoryAccess, AssignRegisterAndCoherencyReturnStatusesOfManual) {
  unsigned char* ptr = allocate(100);
  EXPECT_EQ(memory.heaps.memory_assign_agent(ptr, kGpu0, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.heaps.memory_assign_agent(nullptr, kGpu0, HSA_ACCESS_PERMISSION_RW),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_assign_agent(ptr, kNobody, HSA_ACCESS_PERMISSION_RW),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.heaps.memory_assign_agent(ptr, kGpu0, static_cast<hsa_access_permission_t>(4)),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_assign_agent(ptr, kGpu0, HSA_ACCESS_PERMISSION_NONE),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);

  EXPECT_EQ(memory.locked.memory_register(nullptr, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.locked.memory_register(ptr, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.locked.memory_register(ptr, size_t{1} << 63), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(memory.locked.memory_register(ptr, 100), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.locked.memory_deregister(ptr, 100), HSA_STATUS_SUCCESS);

  hsa_amd_coherency_type_t type{};
  EXPECT_EQ(memory.agents.coherency_get_type(kCpu0, &type), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.agents.coherency_get_type(kNobody, &type), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.agents.coherency_get_type(kGpu0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.agents.coherency_set_type(kGpu0, static_cast<hsa_amd_coherency_type_t>(2)),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.agents.coherency_set_type(kCpu0, HSA_AMD_COHERENCY_TYPE_COHERENT),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.agents.coherency_get_type(kGpu0, &type), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type, HSA_AMD_COHERENCY_TYPE_NONCOHERENT);
  EXPECT_EQ(memory.agents.coherency_set_type(kGpu0, HSA_AMD_COHERENCY_TYPE_COHERENT), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.agents.coherency_get_type(kGpu0, &type), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type, HSA_AMD_COHERENCY_TYPE_COHERENT);
}

TEST_F(MemoryAccess, LocateReturnsPlacement) {
  unsigned char* ptr = allocate(100);
  const Placement placement = memory.pointers.locate(ptr + 50);
  EXPECT_EQ(placement.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(placement.base, reinterpret_cast<uintptr_t>(ptr));
  EXPECT_EQ(placement.size, 100u);
  EXPECT_EQ(placement.owner.handle, kCpu1.handle);
  EXPECT_TRUE(placement.host_reads);
  EXPECT_TRUE(placement.host_writes);
  EXPECT_EQ(memory.pointers.locate(&placement).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

}  // namespace
}  // namespace rigel
