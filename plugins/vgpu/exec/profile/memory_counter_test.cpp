#include "plugins/vgpu/exec/profile/memory_counter.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu::exec {
namespace {

// All lanes access `bytes` bytes, `stride` bytes apart.
LaneAccesses lanes_apart(uint64_t begin, uint32_t stride, uint32_t bytes,
                         AccessKind kind = AccessKind::kRead) {
  LaneAccesses accesses;
  accesses.kind = kind;
  accesses.bytes = bytes;
  accesses.lanes = ~uint64_t{0};
  for (uint32_t lane = 0; lane < 64; ++lane) accesses.at[lane] = begin + uint64_t{lane} * stride;
  return accesses;
}

profile::MemoryCount count_of(const LaneAccesses& accesses) {
  MemoryCounter counter;
  counter.begin(8);
  counter.access_memory(accesses);
  return counter.take()[8];
}

TEST(MemoryCounter, CountsDifferentLines) {
  EXPECT_EQ(count_of(lanes_apart(0x1000, 4, 4)).lines_read, 4u);
  EXPECT_EQ(count_of(lanes_apart(0x1004, 4, 4)).lines_read, 5u);
  EXPECT_EQ(count_of(lanes_apart(0x1000, 0, 4)).lines_read, 1u);
  EXPECT_EQ(count_of(lanes_apart(0x1000, 64, 4)).lines_read, 64u);
  EXPECT_EQ(count_of(lanes_apart(0x103c, 64, 8)).lines_read, 65u);
}

TEST(MemoryCounter, AtomicOperationsReadAndWrite) {
  const profile::MemoryCount count = count_of(lanes_apart(0x1000, 16, 4, AccessKind::kAtomic));
  EXPECT_EQ(count.lines_read, 16u);
  EXPECT_EQ(count.lines_written, 16u);
}

TEST(MemoryCounter, LineOfTwoExecutionsCountsTwice) {
  MemoryCounter counter;
  for (int i = 0; i < 2; ++i) {
    counter.begin(8);
    counter.access_memory(lanes_apart(0, 0, 4, AccessKind::kWrite));
  }
  counter.begin(12);
  counter.access_memory(lanes_apart(0, 0, 4));
  auto counts = counter.take();
  EXPECT_EQ(counts[8].lines_written, 2u);
  EXPECT_EQ(counts[12].lines_read, 1u);
  EXPECT_TRUE(counter.take().empty());
}

TEST(LdsConflicts, ConsecutiveDwordsHaveNone) {
  EXPECT_EQ(lds_cycles(lanes_apart(0, 4, 4)).conflicts, 0u);
  EXPECT_EQ(lds_cycles(lanes_apart(0, 8, 8)).conflicts, 0u);
  EXPECT_EQ(lds_cycles(lanes_apart(0, 16, 16)).conflicts, 0u);
  EXPECT_EQ(lds_cycles(lanes_apart(0, 1, 1)).conflicts, 0u);
}

TEST(LdsConflicts, StridesSerializeLanesOfBank) {
  EXPECT_EQ(lds_cycles(lanes_apart(0, 8, 4)).conflicts, 2u * 1);     // two lanes for each even bank
  EXPECT_EQ(lds_cycles(lanes_apart(0, 128, 4)).conflicts, 2u * 31);  // one bank
  EXPECT_EQ(lds_cycles(lanes_apart(0, 132, 4)).conflicts, 0u);       // padding by a dword
}

TEST(LdsConflicts, OneDwordIsSharedExceptByAtomicOperations) {
  EXPECT_EQ(lds_cycles(lanes_apart(0, 0, 4)).conflicts, 0u);
  EXPECT_EQ(lds_cycles(lanes_apart(0, 0, 4, AccessKind::kAtomic)).conflicts, 2u * 31);
}

TEST(LdsCycles, IncludeConflicts) {
  EXPECT_EQ(lds_cycles(lanes_apart(0, 4, 4)).all, 2u) << "32 lanes each";
  EXPECT_EQ(lds_cycles(lanes_apart(0, 16, 16)).all, 8u) << "8 lanes each";
  EXPECT_EQ(lds_cycles(lanes_apart(0, 128, 4)).all, 64u) << "one lane each";
}

TEST(LdsConflicts, InactiveLanesTakeNoPlace) {
  LaneAccesses accesses = lanes_apart(0, 128, 4);
  accesses.lanes = 0x5;
  EXPECT_EQ(lds_cycles(accesses).conflicts, 1u);
  accesses.lanes = 0;
  EXPECT_EQ(lds_cycles(accesses).conflicts, 0u);
}

}  // namespace
}  // namespace rigel::vgpu::exec
