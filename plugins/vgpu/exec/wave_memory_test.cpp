#include "plugins/vgpu/exec/wave_memory.hpp"

#include <gtest/gtest.h>

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
