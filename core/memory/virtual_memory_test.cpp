#include "core/memory/virtual_memory.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <random>

#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

using testing::kCpu0;
using testing::kCpu1;
using testing::kGpu0;
using testing::kNobody;

constexpr size_t kPage = 4096;

// A device whose virtual memory fails or throws on request.
enum class Behaviour { kSucceeds, kFails, kThrows };

class FlakyMemory final : public PhysicalMemory {
 public:
  explicit FlakyMemory(const Behaviour& mood) : mood_(mood) {}
  Status map(void*, size_t) override {
    if (mood_ == Behaviour::kThrows) throw std::bad_alloc();
    return mood_ == Behaviour::kFails ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
  }
  void unmap(void*, size_t) noexcept override {}
  Status set_access(void*, size_t, const MappingAccess& access) override {
    if (mood_ == Behaviour::kThrows) throw std::bad_alloc();
    if (mood_ == Behaviour::kFails) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    host_reads = access.host_reads;
    return HSA_STATUS_SUCCESS;
  }
  Result<int> export_descriptor() override { return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES); }

  static inline bool host_reads = false;  // access that was granted last

 private:
  const Behaviour& mood_;
};

class FlakyProvider final : public MemoryProvider {
 public:
  explicit FlakyProvider(const Behaviour& mood) : mood_(mood) {}
  Result<Backing> map(const BlockRequest&) override { return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES); }
  void unmap(const Backing&) noexcept override {}
  Status set_access(const Backing&, const AgentSet&) override { return HSA_STATUS_SUCCESS; }
  Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t, uint32_t) override {
    return Result<std::unique_ptr<PhysicalMemory>>(std::make_unique<FlakyMemory>(mood_));
  }

 private:
  const Behaviour& mood_;
};

class VirtualMemoryTest : public ::testing::Test {
 protected:
  VirtualMemoryTest() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
  }

  unsigned char* reserve(size_t size, uint64_t address = 0, uint64_t alignment = 0) {
    void* va = nullptr;
    EXPECT_EQ(vmem.address_reserve_align(&va, size, address, alignment, 0), HSA_STATUS_SUCCESS);
    return static_cast<unsigned char*>(va);
  }

  hsa_amd_vmem_alloc_handle_t create(size_t size) { return create(size, testing::fine_pool(memory)); }
  hsa_amd_vmem_alloc_handle_t create(size_t size, hsa_amd_memory_pool_t pool) {
    hsa_amd_vmem_alloc_handle_t handle{};
    EXPECT_EQ(vmem.handle_create(pool, size, MEMORY_TYPE_NONE, 0, &handle), HSA_STATUS_SUCCESS);
    return handle;
  }

  hsa_amd_memory_pool_t moody_pool(const Behaviour& mood) {
    HeapFacts facts;
    facts.owner = kGpu0;
    facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
    facts.global_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
    facts.size = facts.allocation_limit = 1 << 30;
    return memory.heaps.add_heap(facts, std::make_unique<FlakyProvider>(mood)).pool();
  }

  Status allow(void* va, size_t size, hsa_access_permission_t permission, hsa_agent_t agent = kCpu0) {
    const hsa_amd_memory_access_desc_t desc{permission, agent};
    return vmem.set_access(va, size, &desc, 1);
  }

  hsa_access_permission_t permission_of(void* va, hsa_agent_t agent) {
    hsa_access_permission_t permission = HSA_ACCESS_PERMISSION_RW;
    EXPECT_EQ(vmem.get_access(va, &permission, agent), HSA_STATUS_SUCCESS);
    return permission;
  }

  hsa_amd_pointer_info_t info(const void* ptr) {
    hsa_amd_pointer_info_t answer{};
    answer.size = sizeof answer;
    EXPECT_EQ(memory.pointers.pointer_info(ptr, &answer, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
    return answer;
  }

  testing::TestMemory memory;
  VirtualMemory& vmem = memory.virtual_memory;
};

TEST_F(VirtualMemoryTest, ReservesCreatesMapsAndReleases) {
  unsigned char* va = reserve(4 * kPage);
  const auto handle = create(2 * kPage);
  EXPECT_EQ(vmem.map(va + kPage, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(allow(va + kPage, 2 * kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  va[kPage] = 1;
  va[3 * kPage - 1] = 2;
  EXPECT_EQ(vmem.unmap(va + kPage, 2 * kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.handle_release(handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.address_free(va, 4 * kPage), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, ReserveHonoursAlignmentAndAddress) {
  unsigned char* va = reserve(kPage, 0, size_t{64} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(va) % (size_t{64} << 20), 0u);
  EXPECT_EQ(vmem.address_free(va, kPage), HSA_STATUS_SUCCESS);
  unsigned char* again = reserve(kPage, reinterpret_cast<uintptr_t>(va));
  EXPECT_EQ(again, va) << "it was free";
  unsigned char* other = reserve(kPage, reinterpret_cast<uintptr_t>(va));
  EXPECT_NE(other, va) << "it was taken, so another place is found";
  unsigned char* elsewhere = reserve(kPage, reinterpret_cast<uintptr_t>(va) + 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(elsewhere) % kPage, 0u);
  for (auto* each : {again, other, elsewhere}) EXPECT_EQ(vmem.address_free(each, kPage), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, ReserveChecksArguments) {
  void* va = nullptr;
  EXPECT_EQ(vmem.address_reserve(nullptr, kPage, 0, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_reserve(&va, 0, 0, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_reserve(&va, kPage + 1, 0, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_reserve(&va, kPage, 0, 2), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_reserve_align(&va, kPage, 0, 3 * kPage, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_reserve_align(&va, kPage, 0, 512, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_reserve(&va, size_t{1} << 62, 0, 0), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(vmem.address_reserve_align(&va, kPage, 0, uint64_t{1} << 63, 0),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_F(VirtualMemoryTest, PlainReservationIsOrdinaryMemory) {
  void* va = nullptr;
  ASSERT_EQ(vmem.address_reserve(&va, 2 * kPage, 0, HSA_AMD_VMEM_ADDRESS_NO_REGISTER), HSA_STATUS_SUCCESS);
  auto* bytes = static_cast<unsigned char*>(va);
  bytes[0] = bytes[2 * kPage - 1] = 7;
  const auto plain = info(bytes + kPage);
  EXPECT_EQ(plain.type, HSA_EXT_POINTER_TYPE_RESERVED_ADDR);
  EXPECT_EQ(plain.hostBaseAddress, va);
  EXPECT_EQ(plain.sizeInBytes, 2 * kPage);
  EXPECT_FALSE(plain.registered) << "it is the host's alone";
  EXPECT_EQ(memory.pointers.locate(va).type, HSA_EXT_POINTER_TYPE_UNKNOWN)
      << "copies take it for host memory";
  const auto handle = create(kPage);
  EXPECT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.unmap(va, kPage), HSA_STATUS_SUCCESS);
  bytes[0] = 8;
  EXPECT_EQ(vmem.address_free(va, 2 * kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.handle_release(handle), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, AddressFreeChecksArguments) {
  unsigned char* va = reserve(2 * kPage);
  EXPECT_EQ(vmem.address_free(nullptr, kPage), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.address_free(va + kPage, kPage), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(vmem.address_free(va, kPage), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const auto handle = create(kPage);
  ASSERT_EQ(vmem.map(va + kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.address_free(va, 2 * kPage), HSA_STATUS_ERROR_RESOURCE_FREE);
  EXPECT_EQ(vmem.unmap(va + kPage, kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.address_free(va, 2 * kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.address_free(va, 2 * kPage), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(VirtualMemoryTest, HandleCreateChecksArguments) {
  hsa_amd_vmem_alloc_handle_t handle{};
  const auto pool = testing::fine_pool(memory);
  EXPECT_EQ(vmem.handle_create({1}, kPage, MEMORY_TYPE_NONE, 0, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.handle_create(pool, 0, MEMORY_TYPE_NONE, 0, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.handle_create(pool, 100, MEMORY_TYPE_NONE, 0, &handle), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.handle_create(pool, kPage, static_cast<hsa_amd_memory_type_t>(7), 0, &handle),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (const uint64_t flags : {HSA_AMD_MEMORY_POOL_PCIE_FLAG, HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG}) {
    EXPECT_EQ(vmem.handle_create(pool, kPage, MEMORY_TYPE_NONE, flags, &handle),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(vmem.handle_create(pool, kPage, MEMORY_TYPE_NONE, 0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.handle_create(pool, size_t{1} << 62, MEMORY_TYPE_NONE, 0, &handle),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  HeapFacts facts;
  facts.segment = HSA_AMD_SEGMENT_GROUP;
  facts.owner = kGpu0;
  const auto group = memory.heaps.add_heap(facts, nullptr).pool();
  EXPECT_EQ(vmem.handle_create(group, kPage, MEMORY_TYPE_NONE, 0, &handle),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(VirtualMemoryTest, MapChecksArguments) {
  unsigned char* va = reserve(4 * kPage);
  const auto handle = create(2 * kPage);
  EXPECT_EQ(vmem.map(nullptr, kPage, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va, 0, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va + 1, kPage, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va, 100, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va, kPage, kPage, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va, kPage, 0, handle, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va, kPage, 0, {5}, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.map(va, 3 * kPage, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "more than the memory";
  EXPECT_EQ(vmem.map(va + 3 * kPage, 2 * kPage, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "past the reservation";
  EXPECT_EQ(vmem.map(va + kPage, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  for (const size_t page : {0, 1, 2}) {
    EXPECT_EQ(vmem.map(va + page * kPage, 2 * kPage, 0, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT)
        << page;
  }
  EXPECT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.map(va + 3 * kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, MemoryMappedTwiceIsShared) {
  unsigned char* va = reserve(2 * kPage);
  const auto handle = create(kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  va[5] = 42;
  EXPECT_EQ(va[kPage + 5], 42);
}

TEST_F(VirtualMemoryTest, MappedMemoryIsInaccessibleBeforeSetAccess) {
  unsigned char* va = reserve(kPage);
  const auto handle = create(kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_DEATH(va[0] = 1, "");
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_RO), HSA_STATUS_SUCCESS);
  EXPECT_EQ(va[0], 0);
  EXPECT_DEATH(va[0] = 1, "");
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  va[0] = 1;
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_RO, kCpu1), HSA_STATUS_SUCCESS);
  va[0] = 2;  // the other agent keeps its access
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_NONE), HSA_STATUS_SUCCESS);
  EXPECT_EQ(va[0], 2);
  EXPECT_DEATH(va[0] = 3, "");
}

TEST_F(VirtualMemoryTest, AccessIsStoredPerAgentAndMapping) {
  unsigned char* va = reserve(2 * kPage);
  const auto handle = create(kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(permission_of(va, kCpu0), HSA_ACCESS_PERMISSION_NONE) << "never set";
  const hsa_amd_memory_access_desc_t desc[] = {{HSA_ACCESS_PERMISSION_RW, kCpu0},
                                               {HSA_ACCESS_PERMISSION_RO, kGpu0},
                                               {HSA_ACCESS_PERMISSION_RO, kCpu0}};
  EXPECT_EQ(vmem.set_access(va, kPage, desc, 3), HSA_STATUS_SUCCESS);
  EXPECT_EQ(permission_of(va + 100, kCpu0), HSA_ACCESS_PERMISSION_RO) << "the last of two counts";
  EXPECT_EQ(permission_of(va, kGpu0), HSA_ACCESS_PERMISSION_RO);
  EXPECT_EQ(permission_of(va + kPage, kGpu0), HSA_ACCESS_PERMISSION_NONE);
  EXPECT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  EXPECT_EQ(permission_of(va + kPage, kCpu0), HSA_ACCESS_PERMISSION_RW);
  EXPECT_EQ(permission_of(va, kGpu0), HSA_ACCESS_PERMISSION_RO);
}

TEST_F(VirtualMemoryTest, SetAccessOfSeveralMappingsIsAtomic) {
  Behaviour mood = Behaviour::kSucceeds;
  const Behaviour obliges = Behaviour::kSucceeds;
  unsigned char* va = reserve(2 * kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, create(kPage, moody_pool(obliges)), 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + kPage, kPage, 0, create(kPage, moody_pool(mood)), 0), HSA_STATUS_SUCCESS);
  for (const Behaviour fails : {Behaviour::kFails, Behaviour::kThrows}) {
    mood = fails;
    FlakyMemory::host_reads = false;
    EXPECT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RO), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    EXPECT_FALSE(FlakyMemory::host_reads) << "the first has been taken back";
    EXPECT_EQ(permission_of(va, kCpu0), HSA_ACCESS_PERMISSION_NONE);
  }
  mood = Behaviour::kSucceeds;
  EXPECT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RO), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(FlakyMemory::host_reads);
}

TEST_F(VirtualMemoryTest, AccessChecksArguments) {
  unsigned char* va = reserve(4 * kPage);
  const auto handle = create(2 * kPage);
  ASSERT_EQ(vmem.map(va, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  const hsa_amd_memory_access_desc_t good{HSA_ACCESS_PERMISSION_RW, kCpu0};
  EXPECT_EQ(vmem.set_access(va, 0, &good, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.set_access(va, 2 * kPage, nullptr, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.set_access(va, 2 * kPage, &good, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.set_access(va, 8 * kPage, &good, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "past the reservation";
  EXPECT_EQ(vmem.set_access(va, kPage, &good, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "ends inside a mapping";
  EXPECT_EQ(vmem.set_access(va + kPage, kPage, &good, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "begins inside";
  EXPECT_EQ(vmem.set_access(va, 3 * kPage, &good, 1), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(vmem.set_access(va + 2 * kPage, kPage, &good, 1), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RW, kNobody), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(allow(va, 2 * kPage, static_cast<hsa_access_permission_t>(4)), HSA_STATUS_ERROR_INVALID_ARGUMENT);

  hsa_access_permission_t permission = HSA_ACCESS_PERMISSION_RW;
  EXPECT_EQ(vmem.get_access(va, nullptr, kCpu0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.get_access(nullptr, &permission, kCpu0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.get_access(va, &permission, kNobody), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(vmem.get_access(va + 2 * kPage, &permission, kCpu0), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(permission, HSA_ACCESS_PERMISSION_NONE);
}

TEST_F(VirtualMemoryTest, UnmapRequiresWholeAdjoiningMappings) {
  unsigned char* va = reserve(6 * kPage);
  const auto handle = create(2 * kPage);
  ASSERT_EQ(vmem.map(va, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + 2 * kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + 4 * kPage, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.unmap(nullptr, kPage), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.unmap(va, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.unmap(va, kPage), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.unmap(va, 6 * kPage), HSA_STATUS_ERROR_INVALID_ARGUMENT) << "there is a gap";
  EXPECT_EQ(vmem.unmap(va + kPage, kPage), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(vmem.unmap(va + 3 * kPage, kPage), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(vmem.unmap(va, 3 * kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(va).type, HSA_EXT_POINTER_TYPE_RESERVED_ADDR);
  EXPECT_EQ(vmem.unmap(va + 4 * kPage, 2 * kPage), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, HandleLivesWhileReferenced) {
  unsigned char* va = reserve(kPage);
  const auto handle = create(kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.handle_release(handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.handle_release(handle), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  va[0] = 9;  // the mapping keeps the memory

  hsa_amd_vmem_alloc_handle_t again{};
  EXPECT_EQ(vmem.retain_alloc_handle(&again, va + 100), HSA_STATUS_SUCCESS);
  EXPECT_EQ(again.handle, handle.handle);
  EXPECT_EQ(vmem.unmap(va, kPage), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va, kPage, 0, again, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  EXPECT_EQ(va[0], 9);
  EXPECT_EQ(vmem.handle_release(again), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.unmap(va, kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.map(va, kPage, 0, again, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.retain_alloc_handle(&again, va), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(vmem.retain_alloc_handle(nullptr, va), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(VirtualMemoryTest, HandleHasPoolAndType) {
  hsa_amd_vmem_alloc_handle_t handle{};
  const auto pool = testing::pool_of(memory, kCpu1, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  ASSERT_EQ(vmem.handle_create(pool, kPage, MEMORY_TYPE_PINNED, 0, &handle), HSA_STATUS_SUCCESS);
  hsa_amd_memory_pool_t of{};
  hsa_amd_memory_type_t type{};
  EXPECT_EQ(vmem.get_alloc_properties_from_handle(handle, &of, &type), HSA_STATUS_SUCCESS);
  EXPECT_EQ(of.handle, pool.handle);
  EXPECT_EQ(type, MEMORY_TYPE_PINNED);
  EXPECT_EQ(vmem.get_alloc_properties_from_handle(handle, nullptr, &type), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.get_alloc_properties_from_handle({3}, &of, &type), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(vmem.handle_release(handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.get_alloc_properties_from_handle(handle, &of, &type), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(VirtualMemoryTest, ImportOfOwnMemoryAddsReference) {
  const auto handle = create(kPage);
  int descriptor = -1;
  ASSERT_EQ(vmem.export_shareable_handle(&descriptor, handle, 0), HSA_STATUS_SUCCESS);
  hsa_amd_vmem_alloc_handle_t again{};
  EXPECT_EQ(vmem.import_shareable_handle(descriptor, &again), HSA_STATUS_SUCCESS);
  EXPECT_EQ(again.handle, handle.handle);
  close(descriptor);
  EXPECT_EQ(vmem.handle_release(handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.handle_release(again), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.handle_release(again), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(VirtualMemoryTest, SharesMemoryWithOtherProcess) {
  int descriptor = -1;
  const auto handle = create(2 * kPage);
  unsigned char* va = reserve(2 * kPage);
  ASSERT_EQ(vmem.map(va, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  std::strcpy(reinterpret_cast<char*>(va), "from the parent");
  ASSERT_EQ(vmem.export_shareable_handle(&descriptor, handle, 0), HSA_STATUS_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    // A separate runtime that has only the descriptor.
    testing::TestMemory fresh;
    testing::add_agents(fresh);
    testing::add_hosts(fresh);
    VirtualMemory& own = fresh.virtual_memory;
    hsa_amd_vmem_alloc_handle_t imported{};
    void* at = nullptr;
    const hsa_amd_memory_access_desc_t desc{HSA_ACCESS_PERMISSION_RW, kCpu0};
    const bool good = own.import_shareable_handle(descriptor, &imported) == HSA_STATUS_SUCCESS &&
                      own.address_reserve(&at, 2 * kPage, 0, 0) == HSA_STATUS_SUCCESS &&
                      own.map(at, 2 * kPage, 0, imported, 0) == HSA_STATUS_SUCCESS &&
                      own.set_access(at, 2 * kPage, &desc, 1) == HSA_STATUS_SUCCESS &&
                      std::strcmp(static_cast<char*>(at), "from the parent") == 0;
    if (good) std::strcpy(static_cast<char*>(at) + kPage, "from the child");
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(reinterpret_cast<char*>(va + kPage), "from the child");
  close(descriptor);
}

TEST_F(VirtualMemoryTest, ExportAndImportCheckArguments) {
  const auto handle = create(kPage);
  int descriptor = 5;
  hsa_amd_vmem_alloc_handle_t imported{};
  EXPECT_EQ(vmem.export_shareable_handle(nullptr, handle, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.export_shareable_handle(&descriptor, handle, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.export_shareable_handle(&descriptor, {77}, 0), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(descriptor, -1);
  EXPECT_EQ(vmem.import_shareable_handle(-1, &imported), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.import_shareable_handle(0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(vmem.import_shareable_handle(9999, &imported), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(vmem.import_shareable_handle(file, &imported), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  close(file);
  const int growing = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(growing, kPage), 0);
  EXPECT_EQ(vmem.import_shareable_handle(growing, &imported), HSA_STATUS_ERROR_INVALID_ALLOCATION)
      << "it could be made shorter under us";
  close(growing);
}

TEST_F(VirtualMemoryTest, PointerInfoDescribesMappings) {
  unsigned char* va = reserve(4 * kPage);
  const auto handle = create(kPage);
  auto answer = info(va + 100);
  EXPECT_EQ(answer.type, HSA_EXT_POINTER_TYPE_RESERVED_ADDR);
  EXPECT_EQ(answer.agentBaseAddress, va);
  EXPECT_EQ(answer.sizeInBytes, 4 * kPage);
  EXPECT_EQ(answer.alloc_flags, 0u);
  EXPECT_TRUE(answer.registered);
  ASSERT_EQ(vmem.map(va + kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  answer = info(va + kPage + 100);
  EXPECT_EQ(answer.type, HSA_EXT_POINTER_TYPE_HSA_VMEM);
  EXPECT_EQ(answer.alloc_flags, 0u) << "the host may not use it yet";
  EXPECT_EQ(answer.agentBaseAddress, va + kPage);
  EXPECT_EQ(answer.sizeInBytes, kPage);
  EXPECT_EQ(answer.agentOwner.handle, kCpu0.handle);
  EXPECT_EQ(answer.global_flags, uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED});
  EXPECT_EQ(memory.pointers.pointer_info_set_userdata(va + kPage, va), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(va + kPage + 5).userData, va);
  EXPECT_EQ(info(va + 2 * kPage).type, HSA_EXT_POINTER_TYPE_RESERVED_ADDR);
  EXPECT_EQ(memory.pointers.memory_free(va + kPage), HSA_STATUS_ERROR_INVALID_ARGUMENT);

  ASSERT_EQ(vmem.map(va + 2 * kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  EXPECT_FALSE(memory.pointers.locate(va + kPage).host_reads);
  ASSERT_EQ(allow(va + kPage, 2 * kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(va + kPage).alloc_flags, uint32_t{HSA_AMD_POINTER_INFO_ALLOC_FLAG_HOST_ACCESS});
  const Placement placement = memory.pointers.locate(va + 2 * kPage + 7);
  EXPECT_EQ(placement.type, HSA_EXT_POINTER_TYPE_HSA) << "the type that copies know";
  EXPECT_EQ(placement.base, reinterpret_cast<uintptr_t>(va + 2 * kPage));
  EXPECT_EQ(placement.size, kPage) << "those around it are not looked at";
  EXPECT_TRUE(placement.host_reads);
  EXPECT_TRUE(placement.host_writes);
}

TEST_F(VirtualMemoryTest, LocateCombinesAdjoiningMappings) {
  unsigned char* va = reserve(5 * kPage);
  const auto handle = create(2 * kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + kPage, 2 * kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + 4 * kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  const auto ends_within = [&](size_t from, size_t to) {
    return memory.pointers.locate(va + from, to - from).has(va + from, to - from);
  };
  EXPECT_TRUE(ends_within(0, kPage));
  EXPECT_TRUE(ends_within(7, 3 * kPage));
  EXPECT_TRUE(ends_within(2 * kPage, 3 * kPage));
  EXPECT_FALSE(ends_within(7, 3 * kPage + 1));
  EXPECT_FALSE(ends_within(2 * kPage, 5 * kPage));
  EXPECT_TRUE(ends_within(4 * kPage, 5 * kPage));
  EXPECT_FALSE(ends_within(4 * kPage, 5 * kPage + 1));
}

TEST_F(VirtualMemoryTest, RangeOfMappingsIsAccessibleToAgentsWithAccessToAll) {
  unsigned char* va = reserve(4 * kPage);
  const auto handle = create(kPage);
  const hsa_access_permission_t permissions[] = {HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_RO,
                                                 HSA_ACCESS_PERMISSION_WO, HSA_ACCESS_PERMISSION_NONE};
  for (size_t page = 0; page < 4; ++page) {
    unsigned char* const at = va + page * kPage;
    ASSERT_EQ(vmem.map(at, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
    ASSERT_EQ(allow(at, kPage, permissions[page]), HSA_STATUS_SUCCESS);
    if (page != 2) {
      ASSERT_EQ(allow(at, kPage, HSA_ACCESS_PERMISSION_RW, kGpu0), HSA_STATUS_SUCCESS);
    }
  }
  const auto host_may = [&](size_t from, size_t to, bool read, bool write) {
    const Placement placement = memory.pointers.locate(va + from, to - from);
    return placement.host_reads == read && placement.host_writes == write;
  };
  EXPECT_TRUE(host_may(0, kPage, true, true)) << "what is behind it is not looked at";
  EXPECT_TRUE(host_may(0, kPage + 1, true, false));
  EXPECT_TRUE(host_may(2 * kPage, 3 * kPage, false, true));
  EXPECT_TRUE(host_may(kPage, 2 * kPage + 1, false, false)) << "one may be read, and the other written";
  EXPECT_TRUE(host_may(3 * kPage, 4 * kPage, false, false));
  EXPECT_TRUE(memory.pointers.reach(kGpu0, va, 2 * kPage));
  EXPECT_FALSE(memory.pointers.reach(kGpu0, va, 2 * kPage + 1));
  EXPECT_TRUE(memory.pointers.reach(kGpu0, va + 3 * kPage, kPage));
  EXPECT_FALSE(memory.pointers.reach(kGpu0, va + 3 * kPage, kPage + 1));
}

TEST_F(VirtualMemoryTest, AgentsAllowAccessSetsAccess) {
  unsigned char* va = reserve(4 * kPage);
  const auto handle = create(kPage);
  for (const size_t page : {0, 1, 3}) {
    ASSERT_EQ(vmem.map(va + page * kPage, kPage, 0, handle, 0), HSA_STATUS_SUCCESS);
  }
  ASSERT_EQ(allow(va, kPage, HSA_ACCESS_PERMISSION_RO, kGpu0), HSA_STATUS_SUCCESS);
  const hsa_agent_t agents[] = {kCpu0, kGpu0};
  EXPECT_EQ(memory.pointers.agents_allow_access(2, agents, nullptr, va), HSA_STATUS_SUCCESS);
  va[kPage] = 1;
  EXPECT_EQ(permission_of(va, kGpu0), HSA_ACCESS_PERMISSION_RW);
  EXPECT_EQ(permission_of(va + kPage, kGpu0), HSA_ACCESS_PERMISSION_RW) << "mappings above that adjoin count";
  EXPECT_EQ(permission_of(va + 3 * kPage, kGpu0), HSA_ACCESS_PERMISSION_NONE);
  EXPECT_EQ(memory.pointers.agents_allow_access(1, &kNobody, nullptr, va), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(memory.pointers.agents_allow_access(1, &kCpu0, nullptr, va + 2 * kPage),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(VirtualMemoryTest, AllowAccessOfSeveralMappingsIsAtomic) {
  Behaviour mood = Behaviour::kSucceeds;
  const auto device = create(kPage, moody_pool(mood));
  const auto host = create(kPage);
  unsigned char* va = reserve(3 * kPage);
  ASSERT_EQ(vmem.map(va, kPage, 0, host, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(vmem.map(va + kPage, kPage, 0, device, 0), HSA_STATUS_SUCCESS);
  mood = Behaviour::kFails;
  EXPECT_EQ(allow(va, 2 * kPage, HSA_ACCESS_PERMISSION_RW), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(permission_of(va, kCpu0), HSA_ACCESS_PERMISSION_NONE);
  EXPECT_DEATH(va[0] = 1, "");
  EXPECT_EQ(vmem.map(va + 2 * kPage, kPage, 0, device, 0), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  mood = Behaviour::kSucceeds;
  EXPECT_EQ(vmem.map(va + 2 * kPage, kPage, 0, device, 0), HSA_STATUS_SUCCESS)
      << "a failed mapping leaves no trace";
}

TEST_F(VirtualMemoryTest, MapWithoutMemoryHasNoEffect) {
  Behaviour mood = Behaviour::kThrows;
  const auto device = create(kPage, moody_pool(mood));
  unsigned char* va = reserve(kPage);
  EXPECT_THROW(static_cast<void>(vmem.map(va, kPage, 0, device, 0)), std::bad_alloc);
  EXPECT_EQ(info(va).type, HSA_EXT_POINTER_TYPE_RESERVED_ADDR);
  EXPECT_EQ(vmem.handle_release(device), HSA_STATUS_SUCCESS);
  EXPECT_EQ(vmem.address_free(va, kPage), HSA_STATUS_SUCCESS) << "nothing is mapped there";
}

TEST_F(VirtualMemoryTest, MatchesModelUnderRandomUse) {
  constexpr size_t kPages = 16;
  std::mt19937 random(11);
  unsigned char* va = reserve(kPages * kPage);
  const auto handle = create(4 * kPage);
  ASSERT_EQ(vmem.address_free(nullptr, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  std::vector<int> model(kPages, 0);  // 0: free, otherwise the number of the mapping
  int next = 1;
  for (int step = 0; step < 3000; ++step) {
    const size_t first = random() % kPages;
    const size_t count = 1 + random() % 5;
    if (random() % 2 == 0) {
      bool fits = count <= 4 && first + count <= kPages;
      for (size_t i = first; fits && i < first + count; ++i) fits = model[i] == 0;
      ASSERT_EQ(vmem.map(va + first * kPage, count * kPage, 0, handle, 0) == HSA_STATUS_SUCCESS, fits)
          << step;
      if (fits) std::fill_n(model.begin() + static_cast<long>(first), count, next++);
    } else {
      const size_t end = first + count;
      bool whole = end <= kPages;
      for (size_t i = first; whole && i < end; ++i) whole = model[i] != 0;
      whole = whole && (first == 0 || model[first - 1] != model[first]) &&
              (end == kPages || model[end] != model[end - 1]);
      ASSERT_EQ(vmem.unmap(va + first * kPage, count * kPage) == HSA_STATUS_SUCCESS, whole) << step;
      if (whole) std::fill_n(model.begin() + static_cast<long>(first), count, 0);
    }
    const size_t probe = random() % kPages;
    ASSERT_EQ(info(va + probe * kPage).type,
              model[probe] == 0 ? HSA_EXT_POINTER_TYPE_RESERVED_ADDR : HSA_EXT_POINTER_TYPE_HSA_VMEM);
  }
}

}  // namespace
}  // namespace rigel
