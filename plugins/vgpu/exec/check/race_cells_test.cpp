#include "plugins/vgpu/exec/check/race_cells.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/exec/check/launch_races.hpp"
#include "plugins/vgpu/exec/check/lds_races.hpp"

namespace rigel::vgpu::exec {
namespace {

class RaceCells : public ::testing::Test {
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

TEST_F(RaceCells, CompletedLaunchesAreOrdered) {
  const EarlierGroups completed{{{0, 2}}};
  const auto reads_after = [&](uint32_t earlier_group) {
    cell = {};
    EXPECT_FALSE(writes_in(earlier_group));
    group = 4;
    RaceAccess each{AccessKind::kRead, false, false, record(AccessKind::kRead, 0, 0xf), &clocks.of(0)};
    each.earlier_groups = &completed;
    return cell.note(each, each.record).record != 0;
  };
  EXPECT_FALSE(reads_after(1));
  EXPECT_TRUE(reads_after(2)) << "of a launch that runs";
}

class RaceLines : public RaceCells {
 protected:
  bool accesses_all(AccessKind kind, uint32_t wave, RaceLine::Mask mask = RaceLine::kAll) {
    const RaceAccess each{kind, false, false, record(kind, wave, 0xf), &clocks.of(wave)};
    bool races = false;
    line.note(each, mask, race::with_step(each.record, 1), [&](uint32_t, const EarlierAccess& found) {
      races = true;
      earlier = found;
    });
    return races;
  }
  bool accesses_dword(AccessKind kind, uint32_t wave, uint32_t dword) {
    const RaceAccess each{kind, false, false, record(kind, wave, 0xf), &clocks.of(wave)};
    return (earlier = line.note_bytes(each, dword, each.record)).record != 0;
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

TEST_F(RaceLines, PartsOfLinesDoNotRace) {
  EXPECT_FALSE(accesses_all(AccessKind::kWrite, 0, 0x00ff));
  EXPECT_FALSE(accesses_all(AccessKind::kRead, 1, 0xff00));
  EXPECT_FALSE(line.has_cells());
  EXPECT_FALSE(accesses_all(AccessKind::kWrite, 1, 0xff00));
}

TEST_F(RaceLines, PartsOfOneWaveAreCollected) {
  EXPECT_FALSE(accesses_all(AccessKind::kWrite, 0, 0x000f));
  EXPECT_FALSE(accesses_all(AccessKind::kWrite, 0, 0x00f0));
  EXPECT_FALSE(line.has_cells());
  EXPECT_TRUE(accesses_all(AccessKind::kRead, 1, 0x0081));
  EXPECT_EQ(race::lane_of(earlier.record), 7u);
}

TEST_F(RaceLines, LanesOfScatteredDwordsAreUnknown) {
  const RaceAccess each{AccessKind::kWrite, false, false, record(AccessKind::kWrite, 0, 0xf), &clocks.of(0)};
  const auto found = [](uint32_t, const EarlierAccess&) { FAIL(); };
  line.note(each, 1 << 3, race::with_lane(each.record, 9), found);
  line.note(each, 1 << 4, race::with_lane(each.record, 2), found);
  EXPECT_FALSE(line.has_cells());
  EXPECT_TRUE(accesses_dword(AccessKind::kRead, 1, 4));
  EXPECT_FALSE(race::has_lane(earlier.record));
  EXPECT_EQ(race::wave_of(earlier.record), 0u);
  EXPECT_FALSE(accesses_dword(AccessKind::kRead, 1, 5));
}

TEST_F(RaceLines, SettlesWhenTwoWorkGroupsHaveRead) {
  EXPECT_FALSE(accesses_all(AccessKind::kRead, 0));
  EXPECT_FALSE(accesses_all(AccessKind::kRead, 1));
  EXPECT_FALSE(line.is_settled()) << "one work-group";
  group = 1;
  EXPECT_FALSE(accesses_all(AccessKind::kRead, 0, 0x7fff));
  EXPECT_FALSE(line.is_settled());
  EXPECT_FALSE(accesses_all(AccessKind::kRead, 0));
  EXPECT_TRUE(line.is_settled());
  EXPECT_TRUE(accesses_all(AccessKind::kWrite, 0, 1));
  EXPECT_EQ(race::group_of(earlier.record), 0u);
  EXPECT_FALSE(line.is_settled());
}

TEST_F(RaceLines, DwordsSettle) {
  for (group = 0; group < 2; ++group) {
    for (uint32_t dword = 0; dword < RaceLine::kDwords; ++dword) {
      EXPECT_FALSE(line.is_settled());
      EXPECT_FALSE(accesses_dword(AccessKind::kRead, 0, dword));
    }
  }
  EXPECT_TRUE(line.is_settled());
  EXPECT_TRUE(accesses_dword(AccessKind::kWrite, 0, 5));
  EXPECT_FALSE(line.is_settled());
}

class LdsRacesTest : public ::testing::Test {
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

TEST_F(LdsRacesTest, FindsConflictAfterRepeatedAccesses) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
    EXPECT_TRUE(note(AccessKind::kWrite, 1, 32));
    races.pass_barrier();
  }
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
  EXPECT_FALSE(note(AccessKind::kRead, 1, 16)) << "another sequence";
  EXPECT_FALSE(note(AccessKind::kWrite, 1, 16, 8));
  EXPECT_TRUE(note(AccessKind::kWrite, 1, 32));
  EXPECT_FALSE(note(AccessKind::kWrite, 0, 32));
}

TEST_F(LdsRacesTest, RepeatedAccessesOfOtherWaveConflict) {
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
  races.pass_barrier();
  EXPECT_TRUE(note(AccessKind::kWrite, 0, 16));
  EXPECT_FALSE(note(AccessKind::kWrite, 1, 16));
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
  EXPECT_EQ(races.line(0)->note_bytes(access, 0, race::with_bytes(access.record, 0xf)).record, 0u);
  const uint64_t earlier = races.line(0)->note_bytes(access, 5, race::with_bytes(access.record, 0xf)).record;
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

TEST(LaunchRacesTest, LaunchesAreOrderedAfterCompletedOnes) {
  LaunchRaces races;
  LaunchRaces::Member* const first = races.join({}, 1, 10);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(races.is_shared());
  LaunchRaces::Member* const second = races.join({}, 2, 5);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(races.is_shared());
  EXPECT_FALSE(second->completed.contain(9)) << "it runs";
  first->is_complete = true;
  LaunchRaces::Member* const third = races.join({}, 3, 1);
  ASSERT_NE(third, nullptr);
  EXPECT_TRUE(third->completed.contain(9));
  EXPECT_FALSE(third->completed.contain(10)) << "the second runs";
  EXPECT_EQ(&races.member_of(14), second);
  EXPECT_EQ(&races.member_of(15), third);
  EXPECT_EQ(races.join({}, 4, race::kMostGroups), nullptr);
}

}  // namespace
}  // namespace rigel::vgpu::exec
