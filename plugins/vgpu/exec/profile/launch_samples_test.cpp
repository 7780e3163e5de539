// Samples of program counters: which are kept, and that they are the same on any number of threads.
#include "plugins/vgpu/exec/profile/launch_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <numeric>
#include <random>
#include <tuple>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"
#include "plugins/vgpu/exec/shader_cores.hpp"

namespace rigel::vgpu {

bool operator==(const PcSample& a, const PcSample& b) {
  return std::tie(a.pc, a.exec, a.wave, a.number_of_group) ==
             std::tie(b.pc, b.exec, b.wave, b.number_of_group) &&
         std::ranges::equal(a.group, b.group);
}

namespace exec {
namespace {

// Samples of `waves` waves in each of `groups` work-groups; `pc` is the number in the wave.
std::vector<PcSample> samples_of_group(uint64_t group, uint32_t waves, uint32_t of_wave) {
  std::vector<PcSample> samples;
  for (uint64_t pc = 0; pc < of_wave; ++pc) {
    for (uint32_t wave = 0; wave < waves; ++wave)
      samples.push_back({pc, 1, {static_cast<uint32_t>(group), 0, 0}, wave, group});
  }
  return samples;
}

TEST(LaunchSamples, KeepsTheFirstInTheOrderOfGroupsAndWaves) {
  constexpr uint32_t kGroups = 7, kWaves = 3, kOfWave = 11;
  constexpr size_t kMost = 100, kAll = size_t{kGroups} * kWaves * kOfWave;
  std::vector<uint64_t> order(kGroups);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (int run = 0; run < 50; ++run) {
    LaunchSamples samples(kMost);
    // Parts of the work-groups alternate; the parts of one stay in order.
    std::vector<std::vector<PcSample>> left;
    for (const uint64_t group : order) left.push_back(samples_of_group(group, kWaves, kOfWave));
    while (!left.empty()) {
      const size_t i = random() % left.size();
      const size_t count = std::min<size_t>(1 + random() % 20, left[i].size());
      samples.add({left[i].data(), count}, 0);
      left[i].erase(left[i].begin(), left[i].begin() + static_cast<ptrdiff_t>(count));
      if (left[i].empty()) left.erase(left.begin() + static_cast<ptrdiff_t>(i));
    }
    const std::span<const PcSample> kept = samples.finish();
    ASSERT_EQ(kept.size(), kMost);
    for (size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(kept[i].number_of_group, i / (kWaves * kOfWave)) << "sample " << i;
      ASSERT_EQ(kept[i].wave, i / kOfWave % kWaves) << "sample " << i;
      ASSERT_EQ(kept[i].pc, i % kOfWave) << "sample " << i;
    }
    EXPECT_EQ(samples.lost(), kAll - kMost);
    std::shuffle(order.begin(), order.end(), random);
  }
}

TEST(LaunchSamples, KeepsAllUpToTheLimit) {
  LaunchSamples samples(6);
  const std::vector<PcSample> group = samples_of_group(0, 2, 3);
  samples.add(group, 4);
  EXPECT_EQ(samples.finish().size(), 6u);
  EXPECT_EQ(samples.lost(), 4u);
}

// A bus that samples with the session and interval that the test sets.
class SampledBus : public vgpu::testing::FakeBus {
 public:
  PcSampling sampling() noexcept override {
    const PcSampling now = set;
    if (after_start.interval != 0) set = after_start;
    return now;
  }
  void take_samples(uint64_t session, uint32_t, uint64_t, std::span<const PcSample> samples,
                    uint64_t lost) noexcept override {
    taken_session = session;
    taken.assign(samples.begin(), samples.end());
    taken_lost = lost;
  }

  PcSampling set, after_start;
  uint64_t taken_session = 0, taken_lost = 0;
  std::vector<PcSample> taken;
};

class SampledLaunch : public ::testing::Test {
 protected:
  // gfx900. A loop whose count depends on the work-group, so that work-groups end in another order.
  static constexpr uint32_t kCode[] = {
      0x8e048602,  // s_lshl_b32 s4, s2, 6
      0x80048104,  // s_add_u32 s4, s4, 1
      0x80848104,  // s_sub_u32 s4, s4, 1
      0xbf078004,  // s_cmp_lg_u32 s4, 0
      0xbf85fffd,  // s_cbranch_scc1 -3
      0xbf810000,  // s_endpgm
  };

  void run(uint32_t workers, uint32_t groups) {
    const vgpu::testing::Buffer code = bus_.allocate(sizeof kCode);
    std::memcpy(code.host, kCode, sizeof kCode);
    Device device;
    device.compute_units.resize(4);
    Scheduler scheduler(device, bus_, SchedulerOptions{workers, false});
    Dispatch dispatch;
    dispatch.entry_va = code.va;
    dispatch.work_group_size[0] = 128;
    dispatch.grid_size[0] = groups * 128;
    dispatch.pgm_rsrc1 = 0xf0 << 12 | 12u << 6 | 3;
    dispatch.pgm_rsrc2 = 1u << 7;
    dispatch.user_sgpr_count = 2;
    std::promise<DispatchResult> promise;
    scheduler.start(dispatch, [&](DispatchResult result) { promise.set_value(std::move(result)); });
    const DispatchResult result = promise.get_future().get();
    EXPECT_EQ(result.kind, DispatchResult::Kind::kDone) << result.reason;
    for (PcSample& sample : bus_.taken) sample.pc -= code.va;
  }

  SampledBus bus_;
};

TEST_F(SampledLaunch, HasTheSameSamplesOnAnyNumberOfThreads) {
  bus_.set = {1, 7};
  run(1, 40);
  const std::vector<PcSample> expected = bus_.taken;
  ASSERT_GT(expected.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(
      expected, {}, [](const PcSample& sample) { return std::pair(sample.number_of_group, sample.wave); }));
  EXPECT_EQ(bus_.taken_lost, 0u);
  for (int repetition = 0; repetition < 5; ++repetition) {
    run(4, 40);
    EXPECT_EQ(bus_.taken, expected);
  }
}

// 2 waves of 3 + 3 * (64 * group + 1) instructions.
TEST_F(SampledLaunch, KeepsALimitedNumberOfSamples) {
  constexpr uint32_t kGroups = 80;
  uint64_t executed = 0;
  for (uint64_t group = 0; group < kGroups; ++group) executed += 2 * (3 + 3 * (64 * group + 1));
  ASSERT_GT(executed, LaunchSamples::kMostSamples);
  bus_.set = {1, 1};
  run(4, kGroups);
  const std::vector<PcSample> several = bus_.taken;
  EXPECT_EQ(several.size(), LaunchSamples::kMostSamples);
  EXPECT_EQ(bus_.taken_lost, executed - LaunchSamples::kMostSamples);
  run(1, kGroups);
  EXPECT_TRUE(bus_.taken == several);
}

TEST_F(SampledLaunch, GivesItsSamplesToTheSessionOfItsStart) {
  bus_.set = {5, 7};
  bus_.after_start = {6, 1};
  run(1, 4);
  EXPECT_EQ(bus_.taken_session, 5u);
  const size_t at_interval_of_seven = bus_.taken.size();
  run(1, 4);
  EXPECT_EQ(bus_.taken_session, 6u);
  EXPECT_GT(bus_.taken.size(), 6 * at_interval_of_seven);
}

}  // namespace
}  // namespace exec
}  // namespace rigel::vgpu
