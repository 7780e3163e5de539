#include "plugins/vgpu/cp/gpu_memory.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/cp/packet_atomics.hpp"
#include "plugins/vgpu/cp/stream_copy.hpp"

namespace rigel::vgpu::testing {
namespace {

TEST(GpuMemory, ReadsAndWritesAcrossObjects) {
  FakeBus bus;
  const Buffer a = bus.map_at(0x10000, kPage), b = bus.map_at(0x11000, kPage);
  GpuMemory memory(bus, 3);
  GpuMemory::Scope scope(memory);
  const char text[] = "across the border";
  ASSERT_TRUE(memory.write(0x10ffa, text, sizeof text));
  EXPECT_EQ(std::memcmp(a.host + 0xffa, text, 6), 0);
  EXPECT_EQ(std::memcmp(b.host, text + 6, sizeof text - 6), 0);
  char back[sizeof text];
  ASSERT_TRUE(memory.read(0x10ffa, back, sizeof back));
  EXPECT_STREQ(back, text);
}

TEST(GpuMemory, ReportsFailedAccess) {
  FakeBus bus;
  bus.map_at(0x10000, kPage);
  bus.map_at(0x20000, kPage, false);
  GpuMemory memory(bus, 3);
  GpuMemory::Scope scope(memory);
  char bytes[16];
  EXPECT_FALSE(memory.read(0x10ff8, bytes, 16));
  EXPECT_EQ(memory.fault().va, 0x11000u);
  EXPECT_EQ(memory.fault().queue_id, 3u);
  uint32_t value;
  EXPECT_TRUE(memory.load(0x20000, value));
  EXPECT_FALSE(memory.store<uint32_t>(0x20010, 1));
  EXPECT_EQ(memory.fault().reason, FaultReason::kReadOnly);
  EXPECT_EQ(memory.fault().access, Access::kWrite);
  EXPECT_FALSE(memory.copy(0x10000, UINT64_MAX - 4, 100));
  EXPECT_FALSE(memory.fill(0x12345678, 1, 8));
}

TEST(GpuMemory, TlbDropsUnmappedTranslation) {
  FakeBus bus;
  const Buffer buffer = bus.map_at(0x10000, kPage);
  GpuMemory memory(bus, 0);
  uint32_t value = 0;
  {
    GpuMemory::Scope scope(memory);
    ASSERT_TRUE(memory.load(0x10000, value));
  }
  bus.unmap(buffer);
  GpuMemory::Scope scope(memory);
  EXPECT_FALSE(memory.load(0x10000, value));
}

TEST(GpuMemory, AtomicLoadIgnoresUnalignedBits) {
  FakeBus bus;
  const Buffer buffer = bus.map_at(0x10000, kPage);
  *buffer.at<uint64_t>(8) = 0x1122334455667788;
  GpuMemory memory(bus, 0);
  GpuMemory::Scope scope(memory);
  uint64_t value = 0;
  ASSERT_TRUE(memory.load(0x1000b, value));
  EXPECT_EQ(value, 0x1122334455667788u);
}

TEST(PacketAtomics, EachCodeRunsItsOperation) {
  FakeBus bus;
  const Buffer buffer = bus.map_at(0x10000, kPage);
  GpuMemory memory(bus, 0);
  GpuMemory::Scope scope(memory);
  struct Case {
    uint32_t code;
    uint64_t before, source, compare, after32, after64;
  };
  const uint64_t minus = UINT64_MAX;
  const Case cases[] = {
      {0x07, 5, 9, 0, 9, 9},
      {0x08, 5, 9, 5, 9, 9},
      {0x08, 5, 9, 4, 5, 5},
      {0x0f, 5, 9, 0, 14, 14},
      {0x10, 5, 9, 0, 0xfffffffc, minus - 3},
      {0x11, minus, 1, 0, 0xffffffff, minus},
      {0x12, minus, 1, 0, 1, 1},
      {0x13, minus, 1, 0, 1, 1},
      {0x14, minus, 1, 0, 0xffffffff, minus},
      {0x15, 6, 3, 0, 2, 2},
      {0x16, 6, 3, 0, 7, 7},
      {0x17, 6, 3, 0, 5, 5},
      {0x18, 6, 7, 0, 7, 7},
      {0x18, 7, 7, 0, 0, 0},
      {0x19, 6, 7, 0, 5, 5},
      {0x19, 0, 7, 0, 7, 7},
      {0x19, 9, 7, 0, 7, 7},
  };
  for (const Case& c : cases) {
    for (const uint32_t block : {0x00u, 0x40u}) {  // with and without return value
      *buffer.at<uint64_t>() = c.before;
      const AtomicResult narrow = do_atomic(memory, c.code | block, 0x10000, c.source, c.compare);
      EXPECT_EQ(*buffer.at<uint32_t>(), c.after32) << c.code;
      EXPECT_EQ(narrow.old, static_cast<uint32_t>(c.before));
      *buffer.at<uint64_t>() = c.before;
      const AtomicResult wide = do_atomic(memory, c.code | block | 0x20, 0x10000, c.source, c.compare);
      EXPECT_EQ(*buffer.at<uint64_t>(), c.after64) << c.code;
      EXPECT_EQ(wide.old, c.before);
      const bool failed = c.code == 0x08 && c.compare != c.before;
      EXPECT_EQ(wide.status, failed ? AtomicStatus::kCompareFailed : AtomicStatus::kDone);
    }
  }
  EXPECT_EQ(do_atomic(memory, 0x01, 0x10000, 0, 0).status, AtomicStatus::kUnknown);
  EXPECT_EQ(do_atomic(memory, 0x0f, 0x90000, 0, 0).status, AtomicStatus::kFault);
}

TEST(StreamCopy, MovesEveryLengthAndOffset) {
  std::vector<std::byte> from(3 << 20), to(3 << 20);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 13 + (i >> 9));
  const size_t aside =
      (reinterpret_cast<uintptr_t>(from.data()) - reinterpret_cast<uintptr_t>(to.data())) % 4096;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{511} << 10, size_t{512} << 10,
                             (size_t{1} << 20) + 77, (size_t{2} << 20) + 8191}) {
    for (const size_t shift : {0, 1, 6, 21, 63}) {  // positions in the page select the copy function
      for (const uint64_t before : {uint64_t{0}, cached_copy_bytes()}) {  // so does the length of the run
        std::memset(to.data(), 0, to.size());
        std::byte* const at = to.data() + aside + shift;
        stream_copy(at, from.data() + 5, bytes, before);
        ASSERT_EQ(std::memcmp(at, from.data() + 5, bytes), 0) << bytes << " " << shift;
        ASSERT_EQ(at[bytes], std::byte{0});
        ASSERT_EQ(std::count(to.data(), at, std::byte{0}), at - to.data());
      }
    }
  }
}

TEST(StreamCopy, MovesOverlappingRanges) {
  std::vector<std::byte> data(2 << 20);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i ^ i >> 8);
  std::vector<std::byte> expected = data;
  std::memmove(expected.data() + 100, expected.data(), 1 << 20);
  stream_copy(data.data() + 100, data.data(), 1 << 20, cached_copy_bytes());
  EXPECT_EQ(data, expected);
}

}  // namespace
}  // namespace rigel::vgpu::testing
