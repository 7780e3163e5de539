#include "plugins/vgpu/exec/wave_memory.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/check/allocations.hpp"
#include "plugins/vgpu/cp/fake_bus.hpp"

namespace rigel::vgpu::exec {
namespace {

using vgpu::testing::Buffer;
using vgpu::testing::FakeBus;
using vgpu::testing::kPage;

class CountingBus final : public FakeBus {
 public:
  Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept override {
    ++translations;
    return FakeBus::translate(va, bytes, access);
  }
  int translations = 0;
};

TEST(WaveMemory, FindsMappedRanges) {
  FakeBus bus;
  WaveMemory memory(bus);
  const Buffer a = bus.allocate(3 * kPage);
  const WaveMemory::Scope scope(memory);
  EXPECT_EQ(memory.find(nullptr, a.va + 5, 100, Access::kRead), a.host + 5);
  EXPECT_EQ(memory.find(nullptr, a.va, a.bytes, Access::kWrite), a.host);
  EXPECT_EQ(memory.find(nullptr, a.va, a.bytes + 1, Access::kRead), nullptr);
  EXPECT_EQ(memory.find(nullptr, a.va - 1, 2, Access::kRead), nullptr);
  EXPECT_EQ(memory.find(nullptr, ~uint64_t{0}, 2, Access::kRead), nullptr);
}

TEST(WaveMemory, ChecksAccessRights) {
  FakeBus bus;
  WaveMemory memory(bus);
  const Buffer a = bus.allocate(kPage, false);
  const WaveMemory::Scope scope(memory);
  EXPECT_EQ(memory.find(nullptr, a.va, 4, Access::kRead), a.host);
  EXPECT_EQ(memory.find(nullptr, a.va, 4, Access::kWrite), nullptr);
  EXPECT_EQ(memory.run(a.va, 4, Access::kWrite).reason, FaultReason::kReadOnly);
}

TEST(WaveMemory, MergesContiguousExtents) {
  CountingBus bus;
  WaveMemory memory(bus);
  const Buffer a = bus.allocate(16 << 20);
  const WaveMemory::Scope scope(memory);
  for (uint64_t at = a.bytes; at != 0; at -= kPage) {  // downwards: the harder case
    ASSERT_EQ(memory.find(nullptr, a.va + at - kPage, kPage, Access::kRead), a.host + at - kPage);
  }
  EXPECT_LT(bus.translations, 40);
  EXPECT_EQ(memory.find_extent(nullptr, a.va, a.bytes, Access::kRead).bytes, a.bytes);
}

TEST(WaveMemory, FindsMoreAllocationsThanExtents) {
  FakeBus bus;
  WaveMemory memory(bus);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 200; ++i) buffers.push_back(bus.allocate(kPage));
  const WaveMemory::Scope scope(memory);
  for (int round = 0; round < 3; ++round) {
    for (const Buffer& buffer : buffers) {
      ASSERT_EQ(memory.find(&buffer, buffer.va + 8, 8, Access::kRead), buffer.host + 8);
      ASSERT_EQ(memory.find(&buffer, buffer.va + kPage, 8, Access::kRead), nullptr);
    }
  }
}

// One allocation of 100 bytes, in a separate page.
class OneAllocation final : public check::Allocations {
 public:
  explicit OneAllocation(uint64_t va) {
    allocation.begin = va;
    allocation.bytes = 100;
    allocation.room_bytes = kPage;
  }
  uint64_t version() const noexcept override { return changes; }
  bool find(uint64_t va, check::Allocation& found) override {
    ++look_ups;
    found = allocation;
    if (va - found.begin < found.room_bytes) return true;
    found = {};
    found.begin = allocation.begin + kPage;
    found.room_bytes = UINT64_MAX - found.begin;
    return false;
  }
  bool is_initialized(uint64_t, uint64_t&, uint64_t&) override { return false; }
  check::Allocation allocation;
  uint64_t changes = 1;
  int look_ups = 0;
};

class BoundedMemory : public ::testing::Test {
 protected:
  BoundedMemory() { memory.set_bounds(&allocations); }
  std::byte* find(uint64_t offset, uint64_t bytes, uintptr_t site = 0x40) {
    return memory.find_in_bounds(reinterpret_cast<void*>(site), buffer.va + offset, bytes, Access::kRead);
  }

  FakeBus bus;
  const Buffer buffer = bus.allocate(2 * kPage);
  WaveMemory memory{bus};
  OneAllocation allocations{buffer.va};
  const WaveMemory::Scope scope{memory};
};

TEST_F(BoundedMemory, IsLimitedToAllocation) {
  EXPECT_EQ(find(96, 4), buffer.host + 96);
  EXPECT_EQ(memory.last_extent(reinterpret_cast<void*>(0x40), Access::kRead).bytes, 100u);
  EXPECT_EQ(find(97, 4), nullptr);
  EXPECT_EQ(find(100, 1), nullptr);
}

TEST_F(BoundedMemory, HandlersReachAllMappedMemory) {
  EXPECT_EQ(memory.find(nullptr, buffer.va + 97, 4, Access::kRead), buffer.host + 97);
  EXPECT_EQ(memory.find_extent(nullptr, buffer.va + 97, 4, Access::kRead).host, nullptr);
}

TEST_F(BoundedMemory, FreedAllocationIsNotAccessible) {
  EXPECT_NE(find(0, 4), nullptr);
  allocations.allocation.is_freed = true;
  ++allocations.changes;
  memory.set_bounds(&allocations);
  EXPECT_EQ(find(0, 4), nullptr);
}

TEST_F(BoundedMemory, UnknownMemoryNeedsPermission) {
  EXPECT_EQ(find(kPage, 4), nullptr);
  EXPECT_NE(find(kPage, 4, 0x40 | WaveMemory::kUnbounded), nullptr);
  EXPECT_NE(find(kPage, 4, 0), nullptr) << "scratch";
  memory.allow_unknown_memory();
  EXPECT_NE(find(kPage, 4, 0x80), nullptr);
}

TEST_F(BoundedMemory, LooksAllocationsUpOnce) {
  for (uintptr_t site = 0x40; site < 0x1000; site += 0x40) EXPECT_NE(find(0, 4, site), nullptr);
  EXPECT_EQ(allocations.look_ups, 1);
}

TEST_F(BoundedMemory, IsNotLimitedWithoutBounds) {
  memory.set_bounds(nullptr);
  EXPECT_EQ(find(97, 4), buffer.host + 97);
}

TEST(WaveMemory, ForgetsUnmappedMemory) {
  FakeBus bus;
  WaveMemory memory(bus);
  const Buffer a = bus.allocate(kPage);
  {
    const WaveMemory::Scope scope(memory);
    ASSERT_NE(memory.find(nullptr, a.va, 4, Access::kRead), nullptr);
  }
  bus.unmap(a);
  const WaveMemory::Scope scope(memory);
  EXPECT_EQ(memory.find(nullptr, a.va, 4, Access::kRead), nullptr);
}

TEST(WaveMemory, CopiesAcrossAllocationsUpToFirstHole) {
  FakeBus bus;
  WaveMemory memory(bus);
  const Buffer a = bus.map_at(0x100000, kPage), b = bus.map_at(0x100000 + kPage, kPage);
  const WaveMemory::Scope scope(memory);
  VmFault fault;
  ASSERT_TRUE(memory.write(a.va + kPage - 2, "abcd", 4, fault));
  EXPECT_EQ(std::memcmp(b.host, "cd", 2), 0);
  char text[4];
  ASSERT_TRUE(memory.read(a.va + kPage - 2, text, 4, fault));
  EXPECT_EQ(std::memcmp(text, "abcd", 4), 0);
  EXPECT_FALSE(memory.read(b.va + kPage - 2, text, 4, fault));
  EXPECT_EQ(fault.va, b.va + kPage);
  EXPECT_EQ(fault.reason, FaultReason::kNotPresent);
}

}  // namespace
}  // namespace rigel::vgpu::exec
