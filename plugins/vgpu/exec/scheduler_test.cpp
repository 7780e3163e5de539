// Dispatches through the scheduler: initial state of waves, progress of all waves, residency.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <set>
#include <vector>

#include "plugins/vgpu/exec/test_scheduler.hpp"

namespace rigel::vgpu::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SchedulerTest;
using Words = SchedulerTest::Words;

// Group 0 waits until group 1 has stored 77 to [0], then copies it to [8].
const SchedulerTest::Words kConsumeFromNextGroup = {
    0xbf068002, 0xbf840008, 0xc0030100, 0,          0xbf8cc07f, 0xbf068004, 0xbf85fffb, 0xc0420100,
    8,          0xbf810000, 0xbe8400ff, 0x0000004d, 0xc0420100, 0x00000000, 0xbf810000};
// Each wave adds one to its group's counter at [64 + 4 * group]. After a barrier, [0] counts an error if the
// counter is not the number of waves.
const SchedulerTest::Words kGroupBarrier = {0x8e048202, 0x8004c004, 0x80040004, 0x82058001, 0xbe860081,
                                            0xc20a0182, 0,          0xbf8cc07f, 0xbf8a0000, 0xc00301c2,
                                            0,          0xbf8cc07f, 0x8608bf03, 0xbf070807, 0xbf840003,
                                            0xbe860081, 0xc20a0180, 0,          0xbf810000};
// Waits until [0] is the group's id, then increments it.
const SchedulerTest::Words kWaitForEarlierGroup = {0xc0030100, 0,          0xbf8cc07f, 0xbf070204, 0xbf85fffb,
                                                   0x80048102, 0xc0420100, 0,          0xbf810000};
// buffer[id] = s3
const SchedulerTest::Words kStoreS3 = {0x8e048202, 0xc04000c0, 4, 0xbf810000};
// Each lane adds one to [16] of GDS.
const SchedulerTest::Words kCountInGds = {0xb07c0100, 0x7e000280, 0x7e020281,
                                          0xd8010010, 0x00000100, 0xbf810000};
// Stores [16] of GDS to buffer[0].
const SchedulerTest::Words kReadCount = {0xb07c0100, 0x7e000280, 0xd86d0010, 0x02000000,
                                         0x7e0a0502, 0xc0420140, 0,          0xbf810000};
// ds_ordered_count: adds 3 to a counter of GDS in the order of work-groups. buffer[id] = the previous value.
const SchedulerTest::Words kOrderedCount = {0xbefc00ff, 0x00400000, 0x7e020283, 0xbefe0181,
                                            0xd97f0104, 0x02000001, 0x7e0a0502, 0x8e048202,
                                            0xc0400140, 0x00000004, 0xbf810000};
// 64 bytes for work-group (0, 0, z): s0 … s6, MODE, EXEC
const SchedulerTest::Words kStoreRegisters = {
    0x9214c004, 0x80140014, 0x82158001, 0xc04a000a, 0x00,       0xc046010a, 0x10, 0xc042018a,
    0x18,       0xb896f801, 0xc042058a, 0x1c,       0xbe98017e, 0xc046060a, 0x20, 0xbf810000};
// Stores v0 to v2 of lane i to bytes 16 * i; for gfx9, and for waves of 32 on gfx10.
const SchedulerTest::Words kStoreItemIds = {0xd28c0003, 0x000100c1, 0xd28d0003, 0x000206c1,
                                            0x24060684, 0xdc788000, 0x00000003, 0xbf810000};
const SchedulerTest::Words kStoreItemIds32 = {0xd7650003, 0x000100c1, 0x34060684,
                                              0xdc7c8000, 0x00000003, 0xbf810000};
// Increments [0] atomically; stores s4 to s8 at byte 64 + 32 * the previous value.
const SchedulerTest::Words kStoreSystemRegisters = {
    0xbe8a0081, 0xc20b0280, 0x00000000, 0xbf8cc07f, 0x8e0a850a, 0x800ac00a, 0x800c0a00,
    0x820d8001, 0xc04a0106, 0x00000000, 0xc0420206, 0x00000010, 0xbf810000};
// For waves of 32 of gfx1201. Both waves signal. The first waits for the second, then [8] = 1; the second
// waits for that before it waits for the first, then [12] = 7.
const SchedulerTest::Words kSplitBarrier = {
    0x7e080500, 0xbe804ec1, 0x7e020280, 0xbf068004, 0xbfa10006, 0xbf94ffff, 0x7e040281, 0xee068000,
    0x01080000, 0x00000801, 0xbfb00000, 0xee050000, 0x00080002, 0x00000801, 0xbfc00000, 0x7e0a0502,
    0xbf068005, 0xbfa2fff9, 0xbf94ffff, 0x7e040287, 0xee068000, 0x01000000, 0x00000c01, 0xbfb00000};

TEST_P(SchedulerTest, EveryWorkGroupRunsOnce) {
  EXPECT_EQ(run(dispatch(kStoreId, 1000)).kind, Kind::kDone);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(word(i), i + 100) << i;
}

TEST_P(SchedulerTest, WavesShareGlobalDataShare) {
  EXPECT_EQ(run(dispatch(kCountInGds, 100)).kind, Kind::kDone);
  EXPECT_EQ(run(dispatch(kReadCount, 1)).kind, Kind::kDone);
  EXPECT_EQ(word(0), 6400u);
}

TEST_P(SchedulerTest, OrderedCountFollowsOrderOfWorkGroups) {
  EXPECT_EQ(run(dispatch(kOrderedCount, 200)).kind, Kind::kDone);
  for (uint32_t i = 0; i < 200; ++i) EXPECT_EQ(word(i), i * 3) << i;
}

TEST_P(SchedulerTest, RunsSmallDispatches) {
  for (uint32_t groups = 1; groups < 12; ++groups) {
    std::memset(buffer_.host, 0, buffer_.bytes);
    EXPECT_EQ(run(dispatch(kStoreId, groups)).kind, Kind::kDone);
    for (uint32_t i = 0; i < groups; ++i) EXPECT_EQ(word(i), i + 100) << i;
    EXPECT_EQ(word(groups), 0u);
  }
}

TEST_P(SchedulerTest, CallerRunsShortDispatches) {
  if (!GetParam().inline_dispatches) GTEST_SKIP() << "here workers run everything";
  for (const uint32_t groups : {1u, 9u, 64u}) {
    std::memset(buffer_.host, 0, buffer_.bytes);
    const auto result = start(dispatch(kStoreId, groups));
    ASSERT_EQ(result.wait_for(std::chrono::seconds(0)), std::future_status::ready) << groups;
    for (uint32_t i = 0; i < groups; ++i) EXPECT_EQ(word(i), i + 100) << i;
  }
}

TEST_P(SchedulerTest, InitialisesRegistersOfWaves) {
  Dispatch d = dispatch(kStoreRegisters, 1);
  d.work_group_size[0] = 5;
  d.work_group_size[1] = 3;
  d.work_group_size[2] = 2;
  d.grid_size[0] = 5;
  d.grid_size[1] = 3;
  d.grid_size[2] = 3;  // the second group has half of its work-items
  d.pgm_rsrc1 |= 1u << 21 | 1u << 23 | 1u << 26;
  d.pgm_rsrc2 = 1 | 7u << 7 | 1u << 10 | 1u << 26;
  d.scratch_va = 0x100000;
  d.private_bytes = 16;
  d.scratch_wave_bytes = 1024;
  d.scratch_waves = 4;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  for (uint32_t z = 0; z < 2; ++z) {
    const uint32_t* const row = buffer_.at<uint32_t>() + z * 16;
    EXPECT_EQ(row[0] | uint64_t{row[1]} << 32, buffer_.va);
    EXPECT_EQ(row[2], 0u) << "id x";
    EXPECT_EQ(row[3], 0u) << "id y";
    EXPECT_EQ(row[4], z) << "id z";
    EXPECT_EQ(row[5], 0x80000001u) << "first wave of one";
    EXPECT_EQ(row[6] % 1024, 0u) << "scratch wave offset";
    EXPECT_LT(row[6], 4096u);
    EXPECT_EQ(row[7], 0x3f0u | 1u << 23 | 1u << 14) << "MODE, with FP16_OVFL and an enabled exception";
    EXPECT_EQ(row[8], (1u << (z == 0 ? 30 : 15)) - 1) << "EXEC";
    EXPECT_EQ(row[9], 0u);
  }
}

// ENABLE_VGPR_WORKITEM_ID is the number of ids - 1; gfx90a has all three in one register.
TEST_P(SchedulerTest, InitialisesEnabledWorkItemIds) {
  struct Chip {
    isa::Target target;
    uint32_t wave_size, size[3];
  };
  for (const Chip& chip : {Chip{{9, 0, 0}, 64, {5, 3, 4}}, Chip{{9, 0, 10}, 64, {4, 8, 2}},
                           Chip{{10, 1, 0}, 32, {3, 5, 2}}, Chip{{10, 3, 0}, 32, {8, 1, 4}}}) {
    device_.target = chip.target;
    make();
    const bool packed = chip.target.stepping == 10;
    for (uint32_t last_id = 0; last_id < 3; ++last_id) {
      std::memset(buffer_.host, 0xee, buffer_.bytes);
      Dispatch d = dispatch(chip.wave_size == 32 ? kStoreItemIds32 : kStoreItemIds, 1);
      d.wave_size = chip.wave_size;
      for (int i = 0; i < 3; ++i) d.grid_size[i] = d.work_group_size[i] = chip.size[i];
      d.pgm_rsrc2 = last_id << 11;
      EXPECT_EQ(run(d).kind, Kind::kDone);
      const uint32_t items = chip.size[0] * chip.size[1] * chip.size[2];
      for (uint32_t item = 0; item < items; ++item) {
        const uint32_t id[3] = {item % chip.size[0], item / chip.size[0] % chip.size[1],
                                item / chip.size[0] / chip.size[1]};
        if (packed) {
          EXPECT_EQ(word(item * 4), id[0] | id[1] << 10 | id[2] << 20) << item;
          continue;
        }
        for (uint32_t i = 0; i <= last_id; ++i) EXPECT_EQ(word(item * 4 + i), id[i]) << item << ", id " << i;
      }
      if (items < chip.wave_size) {
        EXPECT_EQ(word(items * 4), 0xeeeeeeeeu) << "there are no more";
      }
    }
  }
}

// The enabled ones of work-group ids, work-group info and scratch wave offset are consecutive.
TEST_P(SchedulerTest, OmitsDisabledSystemRegisters) {
  for (uint32_t enabled = 0; enabled < 32; ++enabled) {
    std::memset(buffer_.host, 0, buffer_.bytes);
    Dispatch d = dispatch(kStoreSystemRegisters, 1);
    d.user_sgpr_count = 4;
    d.pgm_rsrc2 = (enabled & 7) << 7 | (enabled >> 3 & 1) << 10 | enabled >> 4;
    d.work_group_size[0] = 8;
    for (uint32_t& size : d.grid_size) size = 3;
    d.grid_size[0] = 16;
    d.scratch_va = 0x100000;
    d.private_bytes = 16;
    d.scratch_wave_bytes = 1024;
    d.scratch_waves = 1;  // one wave at a time, at offset 0
    EXPECT_EQ(run(d).kind, Kind::kDone);
    std::multiset<std::vector<uint32_t>> expected, loaded;
    for (uint32_t group = 0; group < 18; ++group) {
      const uint32_t all[] = {group % 2, group / 2 % 3, group / 6, 0x80000001, 0};
      std::vector<uint32_t> registers;
      for (uint32_t i = 0; i < 5; ++i) {
        if ((enabled >> i & 1) != 0) registers.push_back(all[i]);
      }
      expected.insert(registers);
      const uint32_t* const row = buffer_.at<uint32_t>() + 16 + group * 8;
      loaded.insert({row, row + registers.size()});
    }
    EXPECT_EQ(word(0), 18u);
    EXPECT_EQ(loaded, expected) << enabled;
  }
}

TEST_P(SchedulerTest, WavesOfGroupMeetAtBarriers) {
  Dispatch d = dispatch(kGroupBarrier, 100);
  d.work_group_size[0] = 500;
  d.grid_size[0] = 50 * 500 + 100;  // the last group has 2 waves instead of 8
  d.pgm_rsrc2 |= 1u << 10;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  EXPECT_EQ(word(0), 0u) << "waves that went through too early";
  for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(word(16 + i), 8u);
  EXPECT_EQ(word(16 + 50), 2u);
}

TEST_P(SchedulerTest, WavesGoOnAfterSignal) {
  device_.target = {12, 0, 1};
  make();
  Dispatch d = dispatch(kSplitBarrier, 1);
  d.wave_size = 32;
  d.work_group_size[0] = d.grid_size[0] = 64;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  EXPECT_EQ(word(2), 1u);
  EXPECT_EQ(word(3), 7u);
}

TEST_P(SchedulerTest, GroupMayWaitForLaterGroup) {
  EXPECT_EQ(run(dispatch(kConsumeFromNextGroup, 2)).kind, Kind::kDone);
  EXPECT_EQ(word(2), 77u);
}

TEST_P(SchedulerTest, GroupsShareLock) {
  EXPECT_EQ(run(dispatch(kTicketLock, 150)).kind, Kind::kDone);
  EXPECT_EQ(word(2), 150u * 3);
}

TEST_P(SchedulerTest, AllResidentGroupsMeetAtGridBarrier) {
  const uint32_t groups =
      static_cast<uint32_t>(device_.compute_units.size()) * device_.waves_per_compute_unit;
  Dispatch d = dispatch(kGridBarrier, groups);
  d.user_sgprs[2] = 0;
  d.pgm_rsrc2 = 0;
  d.user_sgprs[3] = groups;
  d.user_sgpr_count = 4;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  EXPECT_EQ(word(1), groups);
}

TEST_P(SchedulerTest, ResidentGroupsAreLimitedByBoard) {
  device_.compute_units.resize(1);
  device_.waves_per_compute_unit = 3;
  make();
  Dispatch d = dispatch(kGridBarrier, 4);  // waits for a fourth group, which cannot start
  d.pgm_rsrc2 = 0;
  d.user_sgprs[3] = 4;
  d.user_sgpr_count = 4;
  for (int i = 0; i < 10; ++i) {
    store(0, 0);
    auto result = start(d);
    while (std::atomic_ref(buffer_.at<uint32_t>()[0]).load() < 3) std::this_thread::yield();
    EXPECT_EQ(result.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
    EXPECT_EQ(std::atomic_ref(buffer_.at<uint32_t>()[0]).load(), 3u);
    store(0, 4);
    EXPECT_EQ(result.get().kind, Kind::kDone);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // workers sleep before the next dispatch
  }
}

TEST_P(SchedulerTest, RejectsGroupWithMoreWavesThanScratch) {
  Dispatch d = dispatch(kStoreId, 1);
  d.work_group_size[0] = 128;
  d.private_bytes = 4;
  d.scratch_va = buffer_.va;
  d.scratch_wave_bytes = 1024;
  d.scratch_waves = 1;
  const DispatchResult result = run(d);
  EXPECT_EQ(result.kind, Kind::kError);
  EXPECT_THAT(result.reason, HasSubstr("scratch for 1 waves, but a work-group has 2"));
}

// In WGP mode the waves of a work-group are spread over both units of a pair. A pair has room for ten waves,
// hence for three groups of three; each unit alone has room for one.
TEST_P(SchedulerTest, GroupsInWgpModeUseUnitPairs) {
  device_.target = *isa::target_of("gfx1030");
  device_.compute_units.resize(4);
  device_.waves_per_compute_unit = 5;
  device_.has_unit_pairs = true;
  make();
  for (const bool wgp_mode : {false, true}) {
    const uint32_t groups = wgp_mode ? 6 : 4;
    Dispatch d = dispatch(kStoreId, groups);
    d.work_group_size[0] = 3 * 64;
    d.pgm_rsrc1 |= (wgp_mode ? 1u : 0u) << 29;
    const Launch launch(device_, bus_, d, nullptr);
    EXPECT_EQ(launch.resident_limit(), groups);
  }
}

// The grid has 2^64 work-groups; the product overflows to 0.
TEST_P(SchedulerTest, OverflowingGridRunsUntilCancelled) {
  Dispatch d = dispatch(kStoreId, 1);
  d.work_group_size[0] = 1;
  d.pgm_rsrc2 = 0;  // no ids: all store to the same address
  d.user_sgprs[2] = 0;
  d.user_sgpr_count = 3;
  d.grid_size[0] = 1u << 22;
  d.grid_size[1] = d.grid_size[2] = 1u << 21;
  auto result = start(d);
  EXPECT_EQ(result.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
  scheduler_->cancel(1);
  EXPECT_EQ(result.get().kind, Kind::kCancelled);
}

// Resident work-groups never prevent those that they wait for from starting.
TEST_P(SchedulerTest, GroupsThatWaitForEarlierGroupsProgressInSmallBoard) {
  for (const uint32_t room : {1u, 2u, 3u}) {
    device_.compute_units.resize(1);
    device_.waves_per_compute_unit = room;
    make();
    store(0, 0);
    EXPECT_EQ(run(dispatch(kWaitForEarlierGroup, 400)).kind, Kind::kDone);
    EXPECT_EQ(word(0), 400u);
  }
}

TEST_P(SchedulerTest, CancelEndsGroupsThatHaveNotStarted) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    store(0, 3);
    auto result = start(dispatch(kWaitForEarlierGroup, 4000));  // the first three groups wait forever
    scheduler_->cancel(1);
    EXPECT_EQ(result.get().kind, Kind::kCancelled);
  }
}

TEST_P(SchedulerTest, DispatchMayWaitForLaterDispatch) {
  auto waiting = start(dispatch(kWaitForFlag, 3));
  auto many = start(dispatch(kWaitForFlag, 500));
  EXPECT_EQ(run(dispatch(kSetFlag, 1)).kind, Kind::kDone);
  EXPECT_EQ(waiting.get().kind, Kind::kDone);
  EXPECT_EQ(many.get().kind, Kind::kDone);
}

TEST_P(SchedulerTest, DispatchMayWaitForHost) {
  auto waiting = start(dispatch(kWaitForFlag, 10));
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
  store(0, 1);
  EXPECT_EQ(waiting.get().kind, Kind::kDone);
}

TEST_P(SchedulerTest, ResidentWavesShareScratch) {
  Dispatch d = dispatch(kStoreS3, 1000);
  d.pgm_rsrc2 |= 1;
  d.scratch_va = 0x100000;
  d.private_bytes = 16;
  d.scratch_wave_bytes = 2048;
  d.scratch_waves = 3;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_TRUE(word(i) % 2048 == 0 && word(i) < 3 * 2048) << word(i);
}

// buffer[id] = HW_ID
const Words kStoreHardwareId = {0xb883f804, 0x8e028202, 0x80000200, 0x82018001, 0xc04200c0,
                                0x00000000, 0xc0840000, 0x00000000, 0xbf810000};

TEST_P(SchedulerTest, WavesRunOnComputeUnitsInMask) {
  device_.compute_units.clear();
  for (uint8_t unit = 0; unit < 4; ++unit) {
    for (uint8_t engine = 0; engine < 4; ++engine) device_.compute_units.push_back({engine, 0, unit});
  }
  make();
  const auto units_used = [&](const Dispatch& d) {
    EXPECT_EQ(run(d).kind, DispatchResult::Kind::kDone);
    std::set<std::pair<uint32_t, uint32_t>> units;  // engine and unit
    for (uint32_t i = 0; i < d.grid_size[0] / 64; ++i) {
      EXPECT_EQ(word(i) >> 12 & 1, 0u) << "the only array of each engine";
      units.insert({word(i) >> 13 & 3, word(i) >> 8 & 15});
    }
    return units;
  };
  Dispatch d = dispatch(kStoreHardwareId, 64);
  EXPECT_EQ(units_used(d).size(), 16u) << "without a mask: on all";
  // Bit i is unit i / 4 of engine i % 4; bits past the last unit are ignored.
  d.cu_mask = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0xffff0021, ~0u});
  EXPECT_EQ(units_used(d), (std::set<std::pair<uint32_t, uint32_t>>{{0, 0}, {1, 1}}));
}

TEST_P(SchedulerTest, ComputeUnitMaskLimitsResidentGroups) {
  device_.waves_per_compute_unit = 2;
  make();
  Dispatch d = dispatch(kSpinAsleep, 100);
  d.cu_mask = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0b101});
  auto result = start(d);
  EXPECT_EQ(waves_shown(4), 4u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(waves_shown(), 4u) << "more than two units have room for";
  scheduler_->cancel(1);
  EXPECT_EQ(result.get().kind, DispatchResult::Kind::kCancelled);
}

TEST_P(SchedulerTest, DescribesRunningDispatch) {
  EXPECT_TRUE(scheduler_->describe_running().empty());
  EXPECT_EQ(scheduler_->longest_running(), 0);
  const Dispatch d = dispatch(kWaitForFlag, 3);
  auto result = start(d);
  ASSERT_EQ(waves_shown(3), 3u);
  const auto running = scheduler_->describe_running();
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running[0].queue_id, 1u);
  const std::string& text = running[0].text;
  EXPECT_THAT(text, HasSubstr("kernel       (unnamed)"));
  EXPECT_THAT(text, HasSubstr("0 of 3 work-groups completed"));
  EXPECT_THAT(text, HasSubstr(" (entry + 0x"));
  EXPECT_THAT(text, HasSubstr("(2, 0, 0) wave 0"));
  EXPECT_THAT(text, HasSubstr("=> 0x"));
  EXPECT_THAT(text, Not(HasSubstr("are not shown")));
  // Its clock has a resolution of some milliseconds.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (scheduler_->longest_running() == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_GT(scheduler_->longest_running(), 0);
  store(0, 1);
  EXPECT_EQ(result.get().kind, Kind::kDone);
  EXPECT_TRUE(scheduler_->describe_running().empty());
}

TEST_P(SchedulerTest, DescribingDoesNotLoseGroups) {
  std::atomic<bool> stop{false};
  std::thread observer([&] {
    while (!stop) scheduler_->describe_running();
  });
  for (int i = 0; i < 50; ++i) {
    std::memset(buffer_.host, 0, 65536);
    EXPECT_EQ(run(dispatch(kStoreId, 200)).kind, Kind::kDone);
    for (uint32_t group = 0; group < 200; ++group) ASSERT_EQ(word(group), group + 100);
  }
  stop = true;
  observer.join();
}

TEST_P(SchedulerTest, DestructorCancelsDispatches) {
  auto one = start(dispatch(kSpin, 1));
  auto many = start(dispatch(kSpin, 100));
  scheduler_.reset();
  EXPECT_EQ(one.get().kind, Kind::kCancelled);
  EXPECT_EQ(many.get().kind, Kind::kCancelled);
}

TEST_P(SchedulerTest, ReplacedCodeIsNotRunAgain) {
  const Dispatch d = dispatch(kStoreId, 20);
  EXPECT_EQ(run(d).kind, Kind::kDone);
  std::byte* const code = bus_.translate(d.entry_va, 64, Access::kWrite).host;
  const uint32_t two_hundred = 200;
  std::memcpy(code + 8, &two_hundred, 4);
  EXPECT_EQ(run(d).kind, Kind::kDone);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(word(i), i + 200);
}

TEST_P(SchedulerTest, RunsManyDispatchesOfSeveralQueues) {
  std::vector<std::future<DispatchResult>> results;
  const Dispatch d = dispatch(kTicketLock, 7);
  for (uint32_t i = 0; i < 100; ++i) {
    Dispatch copy = d;
    copy.queue_id = i % 5;
    results.push_back(start(copy));
  }
  for (auto& result : results) EXPECT_EQ(result.get().kind, Kind::kDone);
  EXPECT_EQ(word(2), 700u * 3);
}

INSTANTIATE_TEST_SUITE_P(Workers, SchedulerTest, ::testing::ValuesIn(testing::scheduler_parameters()),
                         testing::scheduler_parameter_name);

}  // namespace
}  // namespace rigel::vgpu::exec
