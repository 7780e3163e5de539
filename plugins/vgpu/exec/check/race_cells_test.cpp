#include "plugins/vgpu/exec/check/race_cells.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/exec/check/launch_races.hpp"
#include "plugins/vgpu/exec/micro_op.hpp"

namespace rigel::vgpu::exec {
namespace {

class RaceCells : public testing::Test {
 protected:
  RaceCells() { clocks.start(); }
  /// Returns whether the access of a wave to the bytes of the dword races.
  bool access(AccessKind kind, uint32_t wave, uint8_t bytes = 0xf) {
    const bool is_atomic = kind == AccessKind::kAtomic;
    if (is_atomic) clocks.synchronize(wave, location);
    return note_access(cell, clocks, kind,
                       {&op, clocks.own(wave), static_cast<uint8_t>(wave), 0, bytes, is_atomic}, race);
  }
  bool reads(uint32_t wave, uint8_t bytes = 0xf) { return access(AccessKind::kRead, wave, bytes); }
  bool writes(uint32_t wave, uint8_t bytes = 0xf) { return access(AccessKind::kWrite, wave, bytes); }
  bool atomically(uint32_t wave) { return access(AccessKind::kAtomic, wave); }

  MicroOp op;
  RaceCell cell;
  WaveClocks clocks;
  WaveClocks::Clock location{};
  Race race;
};

TEST_F(RaceCells, FindsReadAfterWriteOfOtherWave) {
  EXPECT_FALSE(writes(0));
  EXPECT_TRUE(reads(1));
  EXPECT_EQ(race.earlier.wave, 0);
  EXPECT_TRUE(race.earlier_writes);
}

TEST_F(RaceCells, FindsWriteAfterReadOfOtherWave) {
  EXPECT_FALSE(reads(0));
  EXPECT_FALSE(reads(1));
  EXPECT_TRUE(writes(0));
  EXPECT_EQ(race.earlier.wave, 1);
  EXPECT_FALSE(race.earlier_writes);
}

TEST_F(RaceCells, FindsTwoWrites) {
  EXPECT_FALSE(writes(0));
  EXPECT_TRUE(writes(1));
}

TEST_F(RaceCells, FindsNothingWithinWave) {
  EXPECT_FALSE(writes(3));
  EXPECT_FALSE(reads(3));
  EXPECT_FALSE(writes(3));
}

TEST_F(RaceCells, BarrierOrders) {
  EXPECT_FALSE(writes(0));
  clocks.join(3);
  EXPECT_FALSE(reads(1));
  EXPECT_FALSE(reads(0));
  clocks.join(3);
  EXPECT_FALSE(writes(1));
}

TEST_F(RaceCells, BarrierOfOtherWavesDoesNotOrder) {
  EXPECT_FALSE(writes(0));
  clocks.join(1u << 1 | 1u << 2);
  EXPECT_TRUE(reads(1));
}

TEST_F(RaceCells, DistinctBytesDoNotRace) {
  EXPECT_FALSE(writes(0, 0x3));
  EXPECT_FALSE(writes(1, 0xc));
  EXPECT_FALSE(reads(1, 0xc));
}

TEST_F(RaceCells, AtomicOperationsDoNotRace) {
  EXPECT_FALSE(atomically(0));
  EXPECT_FALSE(atomically(1));
  EXPECT_FALSE(reads(1)) << "its own atomic operation precedes";
}

TEST_F(RaceCells, AtomicOperationAndPlainWriteRace) {
  EXPECT_FALSE(writes(0));
  EXPECT_TRUE(atomically(1));
}

TEST_F(RaceCells, AtomicOperationAndReadDoNotRace) {
  EXPECT_FALSE(atomically(0));
  EXPECT_FALSE(reads(1));
  EXPECT_FALSE(atomically(2));
}

TEST_F(RaceCells, AcquireAllOrders) {
  EXPECT_FALSE(writes(0));
  clocks.acquire_all(1);
  EXPECT_FALSE(reads(1));
  EXPECT_TRUE(writes(0)) << "after the acquire";
  EXPECT_TRUE(reads(1));
}

// A wave writes, then sets a flag; another wave reads the flag, then the data.
TEST_F(RaceCells, AtomicOperationOnFlagOrders) {
  EXPECT_FALSE(writes(0));
  clocks.synchronize(0, location);
  clocks.synchronize(1, location);
  EXPECT_FALSE(reads(1));
}

TEST_F(RaceCells, NextWorkGroupIsOrdered) {
  EXPECT_FALSE(writes(0));
  clocks.start();
  EXPECT_FALSE(writes(1));
}

class LaunchRacesTest : public testing::Test {
 protected:
  bool access(uint32_t group, bool is_write, bool may_be_ordered = false, bool is_atomic = false,
              uint8_t bytes = 0xf) {
    return races.note(7, {0x100, group, bytes, is_atomic, is_write}, may_be_ordered).has_value();
  }
  LaunchRaces races;
};

TEST_F(LaunchRacesTest, FindsConflictOfWorkGroups) {
  EXPECT_FALSE(access(0, true));
  EXPECT_FALSE(access(0, false));
  EXPECT_TRUE(access(1, false));
  EXPECT_TRUE(access(2, true));
}

TEST_F(LaunchRacesTest, FindsWriteAfterReadsOfTwoWorkGroups) {
  EXPECT_FALSE(access(0, false));
  EXPECT_FALSE(access(1, false));
  EXPECT_TRUE(access(1, true));
}

TEST_F(LaunchRacesTest, ReadsDoNotRace) {
  EXPECT_FALSE(access(0, false));
  EXPECT_FALSE(access(1, false));
}

TEST_F(LaunchRacesTest, AccessAfterAcquireMayBeOrdered) {
  EXPECT_FALSE(access(0, true));
  EXPECT_FALSE(access(1, false, true));
}

TEST_F(LaunchRacesTest, AtomicOperationsDoNotRace) {
  EXPECT_FALSE(access(0, true, true, true));
  EXPECT_FALSE(access(1, true, true, true));
}

TEST_F(LaunchRacesTest, AtomicReadAndLaterWriteDoNotRace) {
  EXPECT_FALSE(access(0, false, true, true));
  EXPECT_FALSE(access(1, true)) << "may be an atomic store";
  EXPECT_TRUE(access(2, true, false, true)) << "an atomic operation after a plain write";
}

TEST_F(LaunchRacesTest, DistinctBytesDoNotRace) {
  EXPECT_FALSE(access(0, true, false, false, 0x3));
  EXPECT_FALSE(access(1, true, false, false, 0xc));
}

}  // namespace
}  // namespace rigel::vgpu::exec
