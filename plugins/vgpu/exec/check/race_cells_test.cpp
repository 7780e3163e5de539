#include "plugins/vgpu/exec/check/race_cells.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/exec/check/launch_races.hpp"
#include "plugins/vgpu/exec/check/lds_races.hpp"

namespace rigel::vgpu::exec {
namespace {

class RaceCells : public testing::Test {
 protected:
  RaceCells() { clocks.start(4); }
  uint64_t record(AccessKind kind, uint32_t wave, uint8_t bytes) {
    const bool is_atomic = kind == AccessKind::kAtomic || is_atomic_read;
    return race::with_bytes(RaceAccess::record_of(group, wave, clocks.own(wave), 7, is_atomic), bytes);
  }
  /// Returns whether the access of a wave to the bytes of the dword races.
  bool access(AccessKind kind, uint32_t wave, uint8_t bytes = 0xf) {
    const bool is_atomic = kind == AccessKind::kAtomic;
    if (is_atomic) clocks.acquire(wave, location);
    const RaceAccess each{kind, is_lds, may_be_ordered, record(kind, wave, bytes), &clocks.of(wave)};
    earlier = cell.note(each, each.record);
    if (is_atomic) synchronize(wave);
    return earlier.record != 0;
  }
  void synchronize(uint32_t wave) {
    clocks.acquire(wave, location);
    clocks.release(wave, location);
    clocks.advance(wave);
  }
  bool reads(uint32_t wave, uint8_t bytes = 0xf) { return access(AccessKind::kRead, wave, bytes); }
  bool writes(uint32_t wave, uint8_t bytes = 0xf) { return access(AccessKind::kWrite, wave, bytes); }
  bool atomically(uint32_t wave) { return access(AccessKind::kAtomic, wave); }
  /// The same for wave 0 of a work-group, in global memory.
  bool reads_in(uint32_t new_group) { return group = new_group, reads(0); }
  bool writes_in(uint32_t new_group) { return group = new_group, writes(0); }

  uint32_t group = 0;
  bool is_lds = false, may_be_ordered = false, is_atomic_read = false;
  RaceCell cell;
  WaveClocks clocks;
  WaveClocks::Clock location{};
  EarlierAccess earlier;
};

TEST_F(RaceCells, FindsReadAfterWriteOfOtherWave) {
  EXPECT_FALSE(writes(0));
  EXPECT_TRUE(reads(1));
  EXPECT_EQ(race::wave_of(earlier.record), 0u);
  EXPECT_EQ(race::site_of(earlier.record), 7u);
  EXPECT_TRUE(earlier.is_write);
}

TEST_F(RaceCells, FindsWriteAfterReadOfOtherWave) {
  EXPECT_FALSE(reads(0));
  EXPECT_FALSE(reads(1));
  EXPECT_TRUE(writes(0));
  EXPECT_EQ(race::wave_of(earlier.record), 1u);
  EXPECT_FALSE(earlier.is_write);
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

TEST_F(RaceCells, BytesOfOneEpochAreCollected) {
  EXPECT_FALSE(writes(0, 0x3));
  EXPECT_FALSE(writes(0, 0xc));
  EXPECT_TRUE(reads(1, 0x1));
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

TEST_F(RaceCells, AtomicOperationAndReadOfGlobalMemoryDoNotRace) {
  EXPECT_FALSE(atomically(0));
  EXPECT_FALSE(reads(1));
  EXPECT_FALSE(atomically(2));
}

TEST_F(RaceCells, AtomicOperationAndReadOfLdsRace) {
  is_lds = true;
  EXPECT_FALSE(atomically(0));
  EXPECT_TRUE(reads(1));
  EXPECT_TRUE(atomically(2));
  EXPECT_FALSE(earlier.is_write);
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
  synchronize(0);
  synchronize(1);
  EXPECT_FALSE(reads(1));
}

TEST_F(RaceCells, NextWorkGroupDoesNotRaceInLds) {
  is_lds = true;
  EXPECT_FALSE(writes(0));
  group = 1;
  clocks.start(4);
  EXPECT_FALSE(writes(1));
}

TEST_F(RaceCells, LateClocksCountAsOrdered) {
  for (uint32_t i = 0; i < race::kClock; ++i) clocks.join(0xf);
  EXPECT_FALSE(writes(0));
  EXPECT_FALSE(reads(1));
}

TEST_F(RaceCells, FindsConflictOfWorkGroups) {
  EXPECT_FALSE(writes_in(0));
  EXPECT_FALSE(reads_in(0));
  EXPECT_TRUE(reads_in(1));
  EXPECT_EQ(race::group_of(earlier.record), 0u);
  EXPECT_TRUE(writes_in(2));
}

TEST_F(RaceCells, FindsWriteAfterReadsOfTwoWorkGroups) {
  EXPECT_FALSE(reads_in(0));
  EXPECT_FALSE(reads_in(1));
  EXPECT_TRUE(writes_in(1));
}

TEST_F(RaceCells, AccessAfterAcquireMayBeOrdered) {
  EXPECT_FALSE(writes_in(0));
  may_be_ordered = true;
  EXPECT_FALSE(reads_in(1));
}

TEST_F(RaceCells, AtomicReadAndLaterWriteDoNotRace) {
  is_atomic_read = true;
  EXPECT_FALSE(reads_in(0));
  is_atomic_read = false;
  EXPECT_FALSE(writes_in(1)) << "may be an atomic store";
  group = 2;
  EXPECT_TRUE(atomically(0)) << "an atomic operation after a plain write";
}

class RaceLines : public RaceCells {
 protected:
  bool accesses_all(AccessKind kind, uint32_t wave) {
    const RaceAccess each{kind, false, false, record(kind, wave, 0xf), &clocks.of(wave)};
    bool races = false;
    line.note_all(each, race::with_step(each.record, 1), [&](uint32_t, const EarlierAccess& found) {
      races = true;
      earlier = found;
    });
    return races;
  }
  bool accesses_dword(AccessKind kind, uint32_t wave, uint32_t dword) {
    const RaceAccess each{kind, false, false, record(kind, wave, 0xf), &clocks.of(wave)};
    return (earlier = line.note(each, dword, each.record)).record != 0;
  }
  RaceLine line;
};

TEST_F(RaceLines, WholeLinesRace) {
  EXPECT_FALSE(accesses_all(AccessKind::kWrite, 0));
  EXPECT_TRUE(accesses_all(AccessKind::kRead, 1));
}

TEST_F(RaceLines, DwordRacesWithWholeLine) {
  EXPECT_FALSE(accesses_all(AccessKind::kWrite, 0));
  EXPECT_TRUE(accesses_dword(AccessKind::kRead, 1, 5));
  EXPECT_EQ(race::lane_of(earlier.record), 5u);
}

TEST_F(RaceLines, WholeLineRacesWithDword) {
  EXPECT_FALSE(accesses_dword(AccessKind::kWrite, 0, 5));
  EXPECT_FALSE(accesses_dword(AccessKind::kRead, 1, 6));
  EXPECT_TRUE(accesses_all(AccessKind::kRead, 1));
}

class LdsRacesTest : public testing::Test {
 protected:
  LdsRacesTest() {
    races.start(256);
    races.start_group(true);
  }
  /// Two lanes access adjacent elements.
  bool note(AccessKind kind, uint32_t wave, uint64_t at, uint32_t bytes = 4) {
    LaneAccesses accesses;
    accesses.kind = kind;
    accesses.bytes = bytes;
    accesses.lanes = 3;
    accesses.at[0] = at;
    accesses.at[1] = at + bytes;
    return races.note(accesses, wave, 7);
  }
  LdsRaces races;
};

TEST_F(LdsRacesTest, FindsConflictsBetweenBarriers) {
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
  EXPECT_FALSE(note(AccessKind::kRead, 1, 20));
  EXPECT_FALSE(note(AccessKind::kWrite, 1, 20));
  EXPECT_TRUE(note(AccessKind::kRead, 0, 16)) << "the same wave";
  races.pass_barrier();
  EXPECT_TRUE(note(AccessKind::kRead, 1, 20));
  EXPECT_TRUE(note(AccessKind::kRead, 0, 20));
  EXPECT_FALSE(note(AccessKind::kWrite, 0, 20));
  EXPECT_FALSE(note(AccessKind::kWrite, 1, 20));
}

TEST_F(LdsRacesTest, NextWorkGroupIsOrdered) {
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
  races.start_group(true);
  EXPECT_TRUE(note(AccessKind::kWrite, 1, 16));
}

TEST_F(LdsRacesTest, NeedsLinesForOtherAccesses) {
  EXPECT_FALSE(note(AccessKind::kAtomic, 0, 16));
  EXPECT_FALSE(note(AccessKind::kRead, 0, 16, 2));
  EXPECT_FALSE(note(AccessKind::kRead, 0, 18));
  EXPECT_FALSE(note(AccessKind::kRead, 0, 252)) << "past the end";
}

TEST_F(LdsRacesTest, LinesHaveAccessesSinceLastBarrier) {
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 0));
  races.pass_barrier();
  EXPECT_TRUE(note(AccessKind::kWrite, 2, 16));
  races.use_lines(
      [](uint32_t wave, uint32_t site) { return RaceAccess::record_of(0, wave, 1, site, false); });
  EXPECT_FALSE(races.is_plain());
  WaveClocks clocks;
  clocks.start(4);
  const RaceAccess access{AccessKind::kRead, true, false, RaceAccess::record_of(0, 1, 1, 8, false),
                          &clocks.of(1)};
  EXPECT_EQ(races.line(0)->note(access, 0, race::with_bytes(access.record, 0xf)).record, 0u);
  const uint64_t earlier = races.line(0)->note(access, 5, race::with_bytes(access.record, 0xf)).record;
  EXPECT_EQ(race::wave_of(earlier), 2u);
  EXPECT_EQ(race::site_of(earlier), 7u);
  EXPECT_EQ(race::lane_of(earlier), 1u);
}

TEST(LaunchRacesTest, SitesHaveNumbers) {
  LaunchRaces races;
  EXPECT_EQ(races.site(0x100), races.site(0x100));
  EXPECT_NE(races.site(0x100), races.site(0x104));
  EXPECT_EQ(races.pc_of_site(races.site(0x104)), 0x104u);
  EXPECT_EQ(races.pc_of_site(race::kMostSites), 0u);
}

}  // namespace
}  // namespace rigel::vgpu::exec
