// Sessions of PC sampling: which samples of launches reach a sampler.
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

// A sampler that keeps what it receives.
struct Sampler {
  explicit Sampler(uint64_t interval) : sampler{sizeof sampler, interval, take, this} {}

  static void take(void* context, const hsadrv_sample_t* samples, uint64_t count, uint64_t lost) {
    auto& self = *static_cast<Sampler*>(context);
    self.samples.insert(self.samples.end(), samples, samples + count);
    self.lost += lost;
  }

  hsadrv_sampler_t sampler;
  std::vector<hsadrv_sample_t> samples;
  uint64_t lost = 0;
};

class Sampling : public ::testing::Test {
 protected:
  int start(const Sampler& sampler) {
    return system_.system->process().start_sampling(system_.gpu_id(), &sampler.sampler);
  }
  int stop() { return system_.system->process().stop_sampling(system_.gpu_id()); }
  GpuContext& gpu() { return system_.system->process().gpu(0); }

  TestSystem system_;
};

TEST_F(Sampling, SamplesReachOnlyTheSessionThatTheirLaunchStartedWith) {
  EXPECT_EQ(gpu().sampling().interval, 0u);
  Sampler first(7), second(9);
  ASSERT_EQ(start(first), 0);
  EXPECT_EQ(start(second), -EBUSY);
  const PcSampling of_first = gpu().sampling();
  EXPECT_EQ(of_first.interval, 7u);
  ASSERT_EQ(stop(), 0);
  ASSERT_EQ(start(second), 0);
  const PcSampling of_second = gpu().sampling();
  EXPECT_EQ(of_second.interval, 9u);

  const PcSample sample{.pc = 4, .exec = 1};
  gpu().take_samples(of_first.session, 1, 0, {&sample, 1}, 5);
  EXPECT_TRUE(first.samples.empty());
  EXPECT_TRUE(second.samples.empty());
  EXPECT_EQ(first.lost + second.lost, 0u);
  gpu().take_samples(of_second.session, 1, 0, {&sample, 1}, 5);
  EXPECT_TRUE(first.samples.empty());
  EXPECT_EQ(second.samples.size(), 1u);
  EXPECT_EQ(second.lost, 5u);
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(gpu().sampling().interval, 0u);
  EXPECT_EQ(stop(), -EINVAL);
}

TEST_F(Sampling, RestartedSamplerReceivesNothingOfEarlierLaunches) {
  Sampler sampler(1);
  ASSERT_EQ(start(sampler), 0);
  const uint64_t earlier = gpu().sampling().session;
  ASSERT_EQ(stop(), 0);
  ASSERT_EQ(start(sampler), 0);
  const PcSample sample{.pc = 4, .exec = 1};
  gpu().take_samples(earlier, 1, 0, {&sample, 1}, 0);
  EXPECT_TRUE(sampler.samples.empty());
}

TEST_F(Sampling, SamplesKeepTheirOrderAndAreLostOnce) {
  constexpr uint64_t kCount = 1000;
  Sampler sampler(1);
  ASSERT_EQ(start(sampler), 0);
  std::vector<PcSample> samples(kCount);
  for (uint64_t i = 0; i < kCount; ++i)
    samples[i] = {.pc = i, .exec = i, .group = {1, 2, 3}, .wave = static_cast<uint32_t>(i % 16)};
  gpu().take_samples(gpu().sampling().session, 6, 0x100000005, samples, 3);
  ASSERT_EQ(sampler.samples.size(), kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    const hsadrv_sample_t& taken = sampler.samples[i];
    ASSERT_EQ(taken.pc, i);
    EXPECT_EQ(taken.exec, i);
    EXPECT_EQ(taken.wave, i % 16);
    EXPECT_EQ(taken.group[2], 3u);
    EXPECT_EQ(taken.dispatch, uint64_t{6} << 32 | 5);
  }
  EXPECT_EQ(sampler.lost, 3u);
  gpu().take_samples(gpu().sampling().session, 6, 1, {}, 4);
  EXPECT_EQ(sampler.lost, 7u);
}

}  // namespace
}  // namespace rigel::vgpu
