// Orders in which a work-group's waves run (Schedule).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "plugins/vgpu/exec/test_scheduler.hpp"

namespace rigel::vgpu::exec {
namespace {

using testing::SchedulerTest;

// LDS[0] = 7; barrier; all work-items load it, and item 0 stores the value + 1 without a barrier in between.
// buffer[item] = the loaded value + 1.
const SchedulerTest::Words kStoreAfterSharedLoad = {
    0x7e020280, 0x7e040287, 0xbefc00c1, 0x7d940080, 0xbe84206a, 0xd81a0000, 0x00000201,
    0xbefe0104, 0xbf8cc07f, 0xbf8a0000, 0xd86c0000, 0x03000001, 0xbf8cc07f, 0x68080681,
    0xbe84206a, 0xbf880002, 0xd81a0000, 0x00000401, 0xbefe0104, 0x240a0082, 0x7e0e0201,
    0x320c0a00, 0x380e0e80, 0xdc708000, 0x007f0406, 0xbf810000};

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

INSTANTIATE_TEST_SUITE_P(Workers, ScheduleTest, ::testing::ValuesIn(testing::scheduler_parameters()),
                         testing::scheduler_parameter_name);

}  // namespace
}  // namespace rigel::vgpu::exec
