// Dispatches through the scheduler: initial state of waves, progress of all waves, results. Programs are for
// gfx900; s[0:1] is the address of a buffer.
#include "plugins/vgpu/exec/scheduler.hpp"

#include <elf.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa_backend/sanitizer.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/level_test_support.hpp"

namespace rigel::vgpu::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<uint32_t>;
using Kind = DispatchResult::Kind;

// buffer[id] = id + 100
const Words kStoreId = {0x8e038202, 0x8004ff02, 0x00000064, 0xc0400100,
                        0x00000003, 0xc0840000, 0,          0xbf810000};
// Group 0 waits until group 1 has stored 77 to [0], then copies it to [8].
const Words kConsumeFromNextGroup = {0xbf068002, 0xbf840008, 0xc0030100, 0,          0xbf8cc07f,
                                     0xbf068004, 0xbf85fffb, 0xc0420100, 8,          0xbf810000,
                                     0xbe8400ff, 0x0000004d, 0xc0420100, 0x00000000, 0xbf810000};
// A ticket lock ([0] next ticket, [4] present ticket) around [8] += 3.
const Words kTicketLock = {0xbe840081, 0xc20b0100, 0,          0xc0030140, 4,          0xbf8cc07f,
                           0xbf060504, 0xbf84fffb, 0xc0030180, 8,          0xbf8cc07f, 0x80068306,
                           0xc0420180, 8,          0x80058105, 0xc0420140, 4,          0xbf810000};
// [0] += 1; sleeps until [0] is s3; [4] += 1.
const Words kGridBarrier = {0xbe840081, 0xc20a0100, 0,          0xbf8e0001, 0xc0030140, 0,         0xbf8cc07f,
                            0xbf0a0305, 0xbf85fffa, 0xbe840081, 0xc20a0100, 4,          0xbf810000};
// Each wave adds one to its group's counter at [64 + 4 * group]. After a barrier, [0] counts an error if the
// counter is not the number of waves.
const Words kGroupBarrier = {0x8e048202, 0x8004c004, 0x80040004, 0x82058001, 0xbe860081,
                             0xc20a0182, 0,          0xbf8cc07f, 0xbf8a0000, 0xc00301c2,
                             0,          0xbf8cc07f, 0x8608bf03, 0xbf070807, 0xbf840003,
                             0xbe860081, 0xc20a0180, 0,          0xbf810000};
const Words kReadUnmapped = {0xbf800000, 0xbe8401ff, 0x00001000, 0xc0020182, 0, 0xbf810000};
const Words kReadFirst = {0xc0020180, 0, 0xbf8cc07f, 0xbf810000};
const Words kSpin = {0xbf82ffff};
const Words kSpinAsleep = {0xbf8e000a, 0xbf82fffe};
const Words kHalt = {0xbf8d0001, 0xbf810000};
const Words kWaitForFlag = {0xc0030100, 0, 0xbf8cc07f, 0xbf068004, 0xbf85fffb, 0xbf810000};
// Waits until [0] is the group's id, then increments it.
const Words kWaitForEarlierGroup = {0xc0030100, 0,          0xbf8cc07f, 0xbf070204, 0xbf85fffb,
                                    0x80048102, 0xc0420100, 0,          0xbf810000};
const Words kSetFlag = {0xbe840081, 0xc0420100, 0, 0xbf810000};
// buffer[id] = s3
const Words kStoreS3 = {0x8e048202, 0xc04000c0, 4, 0xbf810000};
// Each lane adds one to [16] of GDS.
const Words kCountInGds = {0xb07c0100, 0x7e000280, 0x7e020281, 0xd8010010, 0x00000100, 0xbf810000};
// Stores [16] of GDS to buffer[0].
const Words kReadCount = {0xb07c0100, 0x7e000280, 0xd86d0010, 0x02000000,
                          0x7e0a0502, 0xc0420140, 0,          0xbf810000};
// ds_ordered_count: adds 3 to a counter of GDS in the order of work-groups. buffer[id] = the previous value.
const Words kOrderedCount = {0xbefc00ff, 0x00400000, 0x7e020283, 0xbefe0181, 0xd97f0104, 0x02000001,
                             0x7e0a0502, 0x8e048202, 0xc0400140, 0x00000004, 0xbf810000};
// buffer[256 * group + lane] = 4 * (256 * group + lane)
const Words kStoreVector = {0x8e048802, 0x68020004, 0x24020282, 0xdc708000, 0x00000101, 0xbf810000};
// 64 bytes for work-group (0, 0, z): s0 … s6, MODE, EXEC
const Words kStoreRegisters = {0x9214c004, 0x80140014, 0x82158001, 0xc04a000a, 0x00,       0xc046010a,
                               0x10,       0xc042018a, 0x18,       0xb896f801, 0xc042058a, 0x1c,
                               0xbe98017e, 0xc046060a, 0x20,       0xbf810000};

// Stores v0 to v2 of lane i to bytes 16 * i; for gfx9, and for waves of 32 on gfx10.
const Words kStoreItemIds = {0xd28c0003, 0x000100c1, 0xd28d0003, 0x000206c1,
                             0x24060684, 0xdc788000, 0x00000003, 0xbf810000};
const Words kStoreItemIds32 = {0xd7650003, 0x000100c1, 0x34060684, 0xdc7c8000, 0x00000003, 0xbf810000};
// Increments [0] atomically; stores s4 to s8 at byte 64 + 32 * the previous value.
const Words kStoreSystemRegisters = {0xbe8a0081, 0xc20b0280, 0x00000000, 0xbf8cc07f, 0x8e0a850a,
                                     0x800ac00a, 0x800c0a00, 0x820d8001, 0xc04a0106, 0x00000000,
                                     0xc0420206, 0x00000010, 0xbf810000};
// For waves of 32 of gfx1201. Both waves signal. The first waits for the second, then [8] = 1; the second
// waits for that before it waits for the first, then [12] = 7.
const Words kSplitBarrier = {0x7e080500, 0xbe804ec1, 0x7e020280, 0xbf068004, 0xbfa10006, 0xbf94ffff,
                             0x7e040281, 0xee068000, 0x01080000, 0x00000801, 0xbfb00000, 0xee050000,
                             0x00080002, 0x00000801, 0xbfc00000, 0x7e0a0502, 0xbf068005, 0xbfa2fff9,
                             0xbf94ffff, 0x7e040287, 0xee068000, 0x01000000, 0x00000c01, 0xbfb00000};
// LDS[0] = 7; barrier; all work-items load it, and item 0 stores the value + 1 without a barrier in between.
// buffer[item] = the loaded value + 1.
const Words kStoreAfterSharedLoad = {0x7e020280, 0x7e040287, 0xbefc00c1, 0x7d940080, 0xbe84206a, 0xd81a0000,
                                     0x00000201, 0xbefe0104, 0xbf8cc07f, 0xbf8a0000, 0xd86c0000, 0x03000001,
                                     0xbf8cc07f, 0x68080681, 0xbe84206a, 0xbf880002, 0xd81a0000, 0x00000401,
                                     0xbefe0104, 0x240a0082, 0x7e0e0201, 0x320c0a00, 0x380e0e80, 0xdc708000,
                                     0x007f0406, 0xbf810000};

struct Parameter {
  SimdLevel level;
  uint32_t workers;
  bool inline_dispatches;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  for (const SimdLevel level : testing::kLevels) {
    for (const uint32_t workers : {1u, 2u}) {
      for (const bool inline_dispatches : {true, false}) all.push_back({level, workers, inline_dispatches});
    }
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Parameter>& choice) {
  static constexpr const char* kNames[] = {"OnBaseline", "OnAvx2", "OnAvx512"};
  return std::string(choice.param.workers == 1 ? "One" : "Two") +
         (choice.param.inline_dispatches ? "AndTheCaller" : "") +
         kNames[static_cast<size_t>(choice.param.level)];
}

// Counts compilations inside and outside of translation scopes. Stores `changed_to` to `*changed` at the
// `countdown`-th lookup of code.
class WatchingBus : public vgpu::testing::FakeBus {
 public:
  uint32_t begin_translations() noexcept override {
    ++depth_;
    return FakeBus::begin_translations();
  }
  void end_translations(uint32_t scope) noexcept override {
    FakeBus::end_translations(scope);
    --depth_;
  }
  void trace(TraceTopic topic, std::string_view line) noexcept override {
    if (line.find(": compiled") != line.npos) ++(depth_ == 0 ? compiled_outside : compiled_inside);
    FakeBus::trace(topic, line);
  }
  Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept override {
    if (access == Access::kExecute && changed != nullptr && countdown.fetch_sub(1) == 0)
      std::atomic_ref(*changed).store(changed_to);
    return FakeBus::translate(va, bytes, access);
  }

  std::atomic<int> compiled_inside{0}, compiled_outside{0};
  std::atomic<int> countdown{-1};
  uint32_t* changed = nullptr;
  uint32_t changed_to = 0;

 private:
  static thread_local int depth_;
};
thread_local int WatchingBus::depth_ = 0;

class SchedulerTest : public ::testing::TestWithParam<Parameter> {
 protected:
  SchedulerTest() {
    device_.compute_units.resize(4);
    device_.level = GetParam().level;
    make();
    buffer_ = bus_.allocate(65536);
  }
  void SetUp() override {
    if (const std::string_view why = why_absent(GetParam().level); !why.empty()) GTEST_SKIP() << why;
  }
  void make() {
    scheduler_ = std::make_unique<Scheduler>(
        device_, bus_, SchedulerOptions{GetParam().workers, GetParam().inline_dispatches});
  }

  /// Returns a dispatch of one-dimensional work-groups of 64, with s[0:1] = the buffer, s2 = the id.
  Dispatch dispatch(const Words& program, uint32_t groups) {
    const vgpu::testing::Buffer code = bus_.allocate(program.size() * 4);
    std::memcpy(code.host, program.data(), program.size() * 4);
    Dispatch d;
    d.queue_id = 1;
    d.entry_va = code.va;
    d.work_group_size[0] = 64;
    d.grid_size[0] = groups * 64;
    d.pgm_rsrc1 = 0xf0 << 12 | 12u << 6;  // all SGPRs
    d.user_sgprs[0] = static_cast<uint32_t>(buffer_.va);
    d.user_sgprs[1] = static_cast<uint32_t>(buffer_.va >> 32);
    d.user_sgpr_count = 2;
    d.pgm_rsrc2 = 1u << 7;
    return d;
  }

  std::future<DispatchResult> start(const Dispatch& d) {
    auto promise = std::make_shared<std::promise<DispatchResult>>();
    auto result = promise->get_future();
    scheduler_->start(d, [promise](DispatchResult r) { promise->set_value(std::move(r)); });
    return result;
  }
  DispatchResult run(const Dispatch& d) { return start(d).get(); }

  uint32_t waves_shown() {
    uint32_t waves = 0;
    for (const auto& running : scheduler_->describe_running()) {
      // "  4 waves      pc …" or "  1 wave       pc …"
      std::istringstream lines(running.text);
      for (std::string line; std::getline(lines, line);) {
        unsigned count = 0;
        char what[8] = {};
        if (std::sscanf(line.c_str(), " %u %7s pc ", &count, what) == 2 &&
            std::string(what).starts_with("wave")) {
          waves += count;
        }
      }
    }
    return waves;
  }
  /// As waves_shown(), after waiting for `expected` waves for at most 20 s.
  uint32_t waves_shown(uint32_t expected) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (waves_shown() < expected && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return waves_shown();
  }

  uint32_t word(uint64_t index) { return buffer_.at<uint32_t>()[index]; }
  void store(uint64_t index, uint32_t value) {
    std::atomic_ref(buffer_.at<uint32_t>()[index]).store(value, std::memory_order_release);
  }

  WatchingBus bus_;
  Device device_;
  vgpu::testing::Buffer buffer_;
  std::unique_ptr<Scheduler> scheduler_;
};

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

class ScheduleTest : public SchedulerTest {
 protected:
  /// Returns the values stored by work-items 0, 64, 128, …
  std::vector<uint32_t> values_of_waves(const Schedule& schedule, Compilation compilation) {
    constexpr uint32_t kWaves = 16;
    scheduler_.reset();
    device_.schedule = schedule;
    device_.compilation = compilation;
    make();
    std::memset(buffer_.host, 0, buffer_.bytes);
    Dispatch d = dispatch(kStoreAfterSharedLoad, 1);
    d.work_group_size[0] = d.grid_size[0] = kWaves * 64;
    d.pgm_rsrc1 |= 1;  // eight VGPRs
    d.lds_bytes = 512;
    EXPECT_EQ(run(d).kind, Kind::kDone);
    std::vector<uint32_t> values;
    for (uint32_t wave = 0; wave < kWaves; ++wave) values.push_back(word(wave * 64));
    return values;
  }
  static std::vector<Compilation> compilations() {
    if (!compiler::why_no_compiler().empty()) return {Compilation::kNone};
    return {Compilation::kNone, Compilation::kBeforehand};
  }
};

TEST_P(ScheduleTest, LoadsOfAllWavesPrecedeStoreAfterThem) {
  for (const Compilation compilation : compilations()) {
    EXPECT_EQ(values_of_waves({}, compilation), std::vector<uint32_t>(16, 8));
  }
}

TEST_P(ScheduleTest, WaveRunsToItsBarrierInBarrierOrder) {
  std::vector<uint32_t> expected(16, 9);
  expected[0] = 8;
  for (const Compilation compilation : compilations()) {
    EXPECT_EQ(values_of_waves({Schedule::Order::kBarriers, 0}, compilation), expected);
  }
}

TEST_P(ScheduleTest, RandomOrderDependsOnSeedOnly) {
  for (const Compilation compilation : compilations()) {
    std::set<std::vector<uint32_t>> seen;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const auto values = values_of_waves({Schedule::Order::kRandom, seed}, compilation);
      EXPECT_EQ(values, values_of_waves({Schedule::Order::kRandom, seed}, compilation)) << seed;
      seen.insert(values);
    }
    EXPECT_GT(seen.size(), 2u);
  }
}

TEST_P(SchedulerTest, CompiledAndInterpretedCodeAgree) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  uint64_t instructions[2] = {};
  uint64_t fault[2] = {};
  for (const bool compiled : {false, true}) {
    scheduler_.reset();
    device_.compilation = compiled ? Compilation::kBeforehand : Compilation::kNone;
    make();
    std::memset(buffer_.host, 0, buffer_.bytes);
    Dispatch d = dispatch(kStoreVector, 1);
    d.work_group_size[0] = 256;
    d.grid_size[0] = 10000;  // the last group has 16
    const DispatchResult result = run(d);
    EXPECT_EQ(result.kind, Kind::kDone);
    for (uint32_t i = 0; i < 10100; ++i) EXPECT_EQ(word(i), i < 10000 ? i * 4 : 0) << i;
    instructions[compiled] = result.instructions;
    d.grid_size[0] = 70 * 256;  // beyond the buffer
    const DispatchResult failed = run(d);
    EXPECT_EQ(failed.kind, Kind::kFault);
    fault[compiled] = failed.fault.va;
  }
  EXPECT_EQ(instructions[0], instructions[1]);
  if (GetParam().workers == 1 &&
      !GetParam().inline_dispatches) {  // with several threads, any fault may be first
    EXPECT_EQ(fault[0], buffer_.va + buffer_.bytes);
    EXPECT_EQ(fault[1], fault[0]);
  }
}

// The second load, which is never executed, is beyond the buffer. Compiled code would load both when it
// starts.
TEST_P(SchedulerTest, RunsCompiledKernelsWithoutSomeArguments) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  if (GetParam().level == SimdLevel::kBaseline) return;
  scheduler_.reset();
  device_.compilation = Compilation::kBeforehand;
  make();
  // s_load_dword s6, s[2:3], 0; s_cmp_eq_u32 s0, s0; s_cbranch_scc1 over s_load_dword s7, s[2:3], 0x40;
  // v1 = s6 is stored at 4 * lane.
  Dispatch d = dispatch({0xc0020181, 0x00000000, 0xbf060000, 0xbf850002, 0xc00201c1, 0x00000040, 0xbf8cc07f,
                         0x24000082, 0x7e020206, 0xdc708000, 0x00000100, 0xbf810000},
                        3);
  const uint64_t last = buffer_.va + buffer_.bytes - 4;
  d.user_sgprs[2] = static_cast<uint32_t>(last);
  d.user_sgprs[3] = static_cast<uint32_t>(last >> 32);
  d.user_sgpr_count = 4;
  std::memset(buffer_.host, 0, buffer_.bytes);
  std::memcpy(buffer_.host + buffer_.bytes - 4, "abcd", 4);
  EXPECT_EQ(run(d).kind, Kind::kDone);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(word(i), 0x64636261u) << i;
  d.user_sgprs[3] = 0x7fff;
  const DispatchResult failed = run(d);
  EXPECT_EQ(failed.kind, Kind::kFault);
  EXPECT_EQ(failed.fault.va, uint64_t{0x7fff} << 32 | static_cast<uint32_t>(last));
}

// Unmapping waits for translation scopes, and a compiler takes seconds.
TEST_P(SchedulerTest, CompilesOutsideOfTranslationScopes) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  if (GetParam().level == SimdLevel::kBaseline) return;  // It has no compiled code.
  scheduler_.reset();
  device_.compilation = Compilation::kBeforehand;
  bus_.traces = true;
  make();
  // Calls a function 64 bytes after its start, which stores 0x55.
  Words program = {0xbe841c00, 0x8004bc04, 0x82058005, 0xbe9e1e04, 0xbf810000};
  program.resize(16, 0xbf810000);
  for (const uint32_t word : {0xb0060055u, 0xc0420180u, 0u, 0xbe801d1eu}) program.push_back(word);
  EXPECT_EQ(run(dispatch(program, 10)).kind, Kind::kDone);
  EXPECT_EQ(word(0), 0x55u);
  EXPECT_EQ(bus_.compiled_inside, 0);
  EXPECT_EQ(bus_.compiled_outside, 2) << "the kernel and its function";
}

// The program stores to the code at each moment of its translation.
TEST_P(SchedulerTest, DetectsCodeThatChangesWhileItIsCompiled) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  if (GetParam().level == SimdLevel::kBaseline) return;
  if (GetParam().workers != 1 || !GetParam().inline_dispatches) return;
  scheduler_.reset();
  device_.compilation = Compilation::kBeforehand;
  bus_.traces = true;
  make();
  // s_mov_b32 s4, 77; s_store_dword s4, s[0:1], 0; s_endpgm
  const Words program = {0xbe8400ff, 77, 0xc0420100, 0, 0xbf810000};
  bool changes_later = false;
  for (int moment = 0; !changes_later && moment < 60; ++moment) {
    const Dispatch d = dispatch(program, 1);
    bus_.changed = reinterpret_cast<uint32_t*>(bus_.translate(d.entry_va + 4, 4, Access::kRead).host);
    bus_.changed_to = 78;
    bus_.countdown = moment;
    EXPECT_EQ(run(d).kind, Kind::kDone);
    changes_later = bus_.countdown >= 0;
    bus_.countdown = -1;
    std::atomic_ref(*bus_.changed).store(78);
    EXPECT_EQ(run(d).kind, Kind::kDone);
    EXPECT_EQ(word(0), 78u) << moment;
  }
  EXPECT_TRUE(changes_later);
  EXPECT_THAT(bus_.lines(), Not(::testing::Contains(HasSubstr(": interpreted: "))));
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

TEST_P(SchedulerTest, ReportsAccessPastPrivateMemory) {
  // buffer_store_dword v0, off, s[4:7], s9 offset:28; buffer_load_dword v1, off, s[4:7], s9 offset:32
  const Words program = {0xe070001c, 0x09010000, 0xe0500020, 0x09010100, 0xbf8c0f70, 0xbf810000};
  const vgpu::testing::Buffer scratch = bus_.allocate(65536);
  for (const Compilation compilation : {Compilation::kNone, Compilation::kBeforehand}) {
    if (compilation != Compilation::kNone && !compiler::why_no_compiler().empty()) continue;
    scheduler_.reset();
    device_.compilation = compilation;
    make();
    Dispatch d = dispatch(program, 3);
    d.pgm_rsrc2 |= 1;
    d.scratch_va = scratch.va;
    d.private_bytes = 32;
    d.scratch_wave_bytes = 2048;
    d.scratch_waves = 8;
    d.flat_private_base = uint64_t{0x20000} << 32;
    const uint32_t words[] = {static_cast<uint32_t>(scratch.va),
                              static_cast<uint32_t>(scratch.va >> 32) | 1u << 31, 65536, 3u << 21 | 1u << 23};
    std::copy_n(words, 4, d.user_sgprs.begin() + 4);
    d.user_sgpr_count = 8;
    const DispatchResult result = run(d);
    EXPECT_EQ(result.kind, Kind::kFault);
    EXPECT_EQ(result.fault.va, (uint64_t{0x20000} << 32) + 32);
    EXPECT_THAT(result.reason, HasSubstr("byte 32 of a work-item's private memory (stack) of 32"));
    EXPECT_THAT(result.reason, HasSubstr("buffer_load_dword"));
  }
}

TEST_P(SchedulerTest, FaultReportsAddressAccessAndQueue) {
  const Dispatch d = dispatch(kReadUnmapped, 20);
  const DispatchResult result = run(d);
  EXPECT_EQ(result.kind, Kind::kFault);
  EXPECT_EQ(result.fault.va, 0x1000u);
  EXPECT_EQ(result.fault.access, Access::kRead);
  EXPECT_EQ(result.fault.reason, FaultReason::kNotPresent);
  EXPECT_EQ(result.fault.queue_id, 1u);
  EXPECT_NE(result.reason.find("entry + 0xc"), std::string::npos) << result.reason;
}

// The kernel's name comes from the symbols of the code object that contains its descriptor.
TEST_P(SchedulerTest, ReportsShowKernelCodeAndRegisters) {
  struct Image {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Dyn dynamic[4]{};
    uint32_t hash[2] = {1, 3};  // buckets, symbols
    Elf64_Sym symbols[3]{};
    char names[32] = "\0other.kd\0reads_nothing.kd";
  } image;
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = ELFCLASS64;
  image.header.e_phoff = offsetof(Image, segment);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = 1;
  image.segment.p_type = PT_DYNAMIC;
  image.segment.p_vaddr = offsetof(Image, dynamic);
  image.segment.p_memsz = sizeof image.dynamic;
  image.dynamic[0] = {DT_SYMTAB, {offsetof(Image, symbols)}};
  image.dynamic[1] = {DT_STRTAB, {offsetof(Image, names)}};
  image.dynamic[2] = {DT_HASH, {offsetof(Image, hash)}};
  for (uint32_t i = 1; i < 3; ++i) image.symbols[i].st_shndx = 1;
  image.symbols[1].st_name = 1;
  image.symbols[1].st_value = 0x1000;
  image.symbols[2].st_name = 10;
  image.symbols[2].st_value = 0x1040;
  const vgpu::testing::Buffer object = bus_.allocate(8192);
  std::memcpy(object.host, &image, sizeof image);

  Dispatch d = dispatch(kReadUnmapped, 1);
  d.kernel_object_va = object.va + 0x1040;
  const uint64_t faulting = d.entry_va + 0xc;
  const std::string fault = run(d).reason;
  d = dispatch({0xbe940085, 0xffffffff}, 1);  // s_mov_b32 s20, 5; invalid
  d.kernel_object_va = object.va + 0x1000;
  const std::string illegal = run(d).reason;
  const auto has = [](const std::string& report, std::string_view what) {
    EXPECT_NE(report.find(what), std::string::npos) << what << " is not in\n" << report;
  };
  has(fault, "memory fault reading 0x1000 (not mapped)");
  has(fault, "\n  kernel       reads_nothing\n");
  has(fault, "\n  work-group   (0, 0, 0), wave 0, pc 0x");
  has(fault, fmt::format("=> {:#x}  s_load_dword s6, s[4:5], 0x0", faulting));
  has(fault, "\n  exec         ffffffffffffffff");
  has(fault, "\n  s[4:5]       0000000000001000");
  EXPECT_EQ(fault.find("\n  s[0:1]"), std::string::npos) << "a register that is not read";
  has(illegal, "\n  kernel       other\n");
  has(illegal, fmt::format("   {:#x}  s_mov_b32 s20, 5", d.entry_va));
  has(illegal, fmt::format("=> {:#x}  .long 0xffffffff", d.entry_va + 4));
}

TEST_P(SchedulerTest, UnmappedHostMemoryFaults) {
  if (!catch_host_faults()) GTEST_SKIP() << "faults cannot be caught here";
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bus_.map_host(0x70000, static_cast<std::byte*>(page), 4096);
  for (const Words& program : {kStoreId, kReadFirst}) {
    Dispatch d = dispatch(program, 20);
    d.user_sgprs[0] = 0x70000;
    d.user_sgprs[1] = 0;
    const DispatchResult result = run(d);
    EXPECT_EQ(result.kind, Kind::kFault);
    EXPECT_EQ(result.fault.va / 4096, 0x70u);
    EXPECT_EQ(result.fault.reason, FaultReason::kNotPresent);
  }
  EXPECT_EQ(run(dispatch(kStoreId, 20)).kind, Kind::kDone) << "others go on";
  bus_.unmap({0x70000, nullptr, 4096});
  munmap(page, 4096);
}

TEST_P(SchedulerTest, IllegalInstructionIsQueueError) {
  const DispatchResult result = run(dispatch({0xbf800000, 0xffffffff}, 20));
  EXPECT_EQ(result.kind, Kind::kError);
  EXPECT_EQ(result.error, QueueError::kIllegalInstruction);
  EXPECT_NE(result.reason.find("entry + 0x4"), std::string::npos) << result.reason;
}

TEST_P(SchedulerTest, CancelEndsSpinningSleepingAndHaltedWaves) {
  for (const Words& program : {kSpin, kSpinAsleep, kHalt}) {
    for (const uint32_t groups : {1u, 300u}) {
      auto result = start(dispatch(program, groups));
      EXPECT_EQ(result.wait_for(std::chrono::milliseconds(2)), std::future_status::timeout);
      scheduler_->cancel(2);
      EXPECT_EQ(result.wait_for(std::chrono::milliseconds(2)), std::future_status::timeout)
          << "another queue";
      scheduler_->cancel(1);
      EXPECT_EQ(result.get().kind, Kind::kCancelled);
    }
  }
}

// The handler notifies the program, which may then exit.
TEST_P(SchedulerTest, ReportsTrapBeforeHandlerRuns) {
  // The handler sets the flag and returns to the instruction after the trap.
  const Words handler = {0xbe840081, 0xc0420100, 0x00000000, 0x866dff6d,
                         0x0000ffff, 0x806c846c, 0x826d806d, 0xbe801f6c};
  const vgpu::testing::Buffer code = bus_.allocate(handler.size() * 4);
  std::memcpy(code.host, handler.data(), handler.size() * 4);
  bus_.trap.code_va = code.va;
  std::atomic<uint32_t> flag_when_reported{77};
  bus_.on_warning = [&] { flag_when_reported = word(0); };
  make();
  EXPECT_EQ(run(dispatch({0xbf920002, 0xbf810000}, 50)).kind, DispatchResult::Kind::kDone);
  EXPECT_EQ(flag_when_reported, 0u);
  EXPECT_EQ(word(0), 1u) << "the handler has run";
  const auto warnings = bus_.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("trap 2"), std::string::npos) << warnings[0];
}

TEST_P(SchedulerTest, WarnsOnceOfExceptionsThatModeEnables) {
  constexpr uint32_t kSetModeEnables = 0xba003301, kDivisionByZero = 4, kReciprocalOfZero = 0x7e024480;
  constexpr uint32_t kClearModeEnables = 0xba003301, kGetTrapStatus = 0xb884f803, kStoreS4 = 0xc0420100;
  EXPECT_EQ(run(dispatch({kSetModeEnables, kDivisionByZero, kReciprocalOfZero, kGetTrapStatus, kStoreS4, 0,
                          kClearModeEnables, 0, 0xbf810000},
                         50))
                .kind,
            Kind::kDone);
  EXPECT_EQ(word(0), 0u) << "TRAPSTS";
  EXPECT_THAT(bus_.warnings(), ElementsAre(HasSubstr("arithmetic exceptions (EXCP_EN)")));
}

TEST_P(SchedulerTest, WarnsOnceOfExceptionsThatKernelDescriptorEnables) {
  Dispatch with_exceptions = dispatch({0xbf810000}, 2);
  with_exceptions.pgm_rsrc2 |= 1u << 26;  // division by zero
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(with_exceptions).kind, Kind::kDone);
  EXPECT_THAT(bus_.warnings(), ElementsAre(HasSubstr("arithmetic exceptions (EXCP_EN)")));
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

// Sets the default stack size of new threads. If it is too large, threads cannot be created.
class StackSize {
 public:
  explicit StackSize(size_t bytes) {
    pthread_getattr_default_np(&previous_);
    pthread_attr_t expected;
    pthread_attr_init(&expected);
    EXPECT_EQ(pthread_attr_setstacksize(&expected, bytes), 0);
    EXPECT_EQ(pthread_setattr_default_np(&expected), 0);
    pthread_attr_destroy(&expected);
  }
  ~StackSize() {
    pthread_setattr_default_np(&previous_);
    pthread_attr_destroy(&previous_);
  }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;

 private:
  pthread_attr_t previous_;
};

constexpr size_t kTooLarge = size_t{1} << 47;

// Limits the address space to `extra` bytes more than the process has.
class AddressSpace {
 public:
  explicit AddressSpace(rlim_t extra) {
    EXPECT_EQ(getrlimit(RLIMIT_AS, &previous_), 0);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = previous_;
    limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + extra;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~AddressSpace() { setrlimit(RLIMIT_AS, &previous_); }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

 private:
  rlimit previous_{};
};

TEST_P(SchedulerTest, WavesRunOnLentThreadsWithoutWorkers) {
  const StackSize none(kTooLarge);
  const auto finish = [&](std::future<DispatchResult>& result) {
    while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) scheduler_->lend_thread();
    return result.get().kind;
  };
  auto many = start(dispatch(kStoreId, 1000));
  EXPECT_TRUE(scheduler_->wants_thread());
  ASSERT_EQ(bus_.warnings().size(), 1u);
  EXPECT_NE(bus_.warnings()[0].find("the queues' threads"), std::string::npos);
  EXPECT_EQ(finish(many), Kind::kDone);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(word(i), i + 100) << i;

  store(0, 0);
  store(1, 0);
  store(2, 0);
  auto locks = start(dispatch(kTicketLock, 150));
  EXPECT_EQ(finish(locks), Kind::kDone);
  EXPECT_EQ(word(2), 150u * 3);

  store(0, 0);
  auto waiting = start(dispatch(kWaitForFlag, 30));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(scheduler_->lend_thread()) << "others get their turns as well";
  auto setting = start(dispatch(kSetFlag, 1));
  EXPECT_EQ(finish(setting), Kind::kDone);
  EXPECT_EQ(finish(waiting), Kind::kDone);
  EXPECT_EQ(bus_.warnings().size(), 1u) << "once";

  auto endless = start(dispatch(kSpin, 30));
  scheduler_->lend_thread();
  scheduler_->cancel(1);
  EXPECT_EQ(endless.get().kind, Kind::kCancelled);
}

TEST_P(SchedulerTest, CreatesWorkersWhenPossibleAgain) {
  std::future<DispatchResult> result;
  {
    const StackSize none(kTooLarge);
    result = start(dispatch(kWaitForFlag, 30));
    EXPECT_TRUE(scheduler_->lend_thread());
  }
  store(0, 1);
  EXPECT_EQ(run(dispatch(kStoreId, 1000)).kind, Kind::kDone);
  EXPECT_EQ(result.get().kind, Kind::kDone);
  EXPECT_FALSE(scheduler_->wants_thread());
  EXPECT_FALSE(scheduler_->lend_thread());
}

TEST_P(SchedulerTest, RunsWithFewerWorkersThanRequested) {
  if (HSABE_SANITIZER != HSABE_SANITIZER_NONE) GTEST_SKIP() << "sanitizers have shadows for all of a stack";
  scheduler_ = std::make_unique<Scheduler>(device_, bus_, SchedulerOptions{64, GetParam().inline_dispatches});
  const StackSize large(size_t{1} << 30);
  const AddressSpace few((size_t{7} << 29) + (size_t{1} << 26));  // room for three stacks
  const uint32_t groups =
      static_cast<uint32_t>(device_.compute_units.size()) * device_.waves_per_compute_unit;
  Dispatch d = dispatch(kGridBarrier, groups);
  d.pgm_rsrc2 = 0;
  d.user_sgprs[3] = groups;
  d.user_sgpr_count = 4;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  EXPECT_EQ(word(1), groups);
  EXPECT_FALSE(scheduler_->wants_thread());
  ASSERT_EQ(bus_.warnings().size(), 1u);
  EXPECT_NE(bus_.warnings()[0].find("cannot start 64 threads"), std::string::npos) << bus_.warnings()[0];
}

INSTANTIATE_TEST_SUITE_P(Workers, SchedulerTest, ::testing::ValuesIn(parameters()), name_of);
INSTANTIATE_TEST_SUITE_P(Workers, ScheduleTest, ::testing::ValuesIn(parameters()), name_of);

}  // namespace
}  // namespace rigel::vgpu::exec
