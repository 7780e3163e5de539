// PC sampling of a queue's dispatches, by the extension pc_sampling.
#include <hsa/hsa_ven_amd_pc_sampling.h>

#include <atomic>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

using Sample = perf_sample_hosttrap_v1_t;
using Place = std::tuple<uint64_t, uint32_t, uint32_t, uint64_t>;  // pc, work-group, wave, lanes

class Sampling : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto status =
        hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_PC_SAMPLING, 1, sizeof api_, &api_);
    if (status != HSA_STATUS_SUCCESS) GTEST_SKIP() << "the runtime has no PC sampling";
    const auto keep = [](const hsa_ven_amd_pcs_configuration_t* found, void* configurations) {
      if (found->method == HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1 &&
          found->units == HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS)
        static_cast<std::vector<hsa_ven_amd_pcs_configuration_t>*>(configurations)->push_back(*found);
      return HSA_STATUS_SUCCESS;
    };
    if (api_.hsa_ven_amd_pcs_iterate_configuration(agent(), keep, &configurations_) != HSA_STATUS_SUCCESS ||
        configurations_.empty())
      GTEST_SKIP() << "the agent cannot be sampled by instructions";
    wave_ = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_WAVEFRONT_SIZE);
  }

  /// Returns the samples of two work-groups of two waves.
  std::vector<Place> sample(size_t interval) {
    std::vector<Sample> samples;
    const auto ready = [](void* data, size_t size, size_t lost, hsa_ven_amd_pcs_data_copy_callback_t copy,
                          void* argument) {
      auto& all = *static_cast<std::vector<Sample>*>(data);
      const size_t before = all.size();
      all.resize(before + size / sizeof(Sample));
      EXPECT_HSA(copy(argument, size, all.data() + before));
      EXPECT_EQ(lost, 0u);
    };
    hsa_ven_amd_pcs_t session{};
    EXPECT_HSA(api_.hsa_ven_amd_pcs_create(agent(), configurations_[0].method, configurations_[0].units,
                                           interval, 0, 32 * sizeof(Sample), ready, &samples, &session));
    EXPECT_HSA(api_.hsa_ven_amd_pcs_start(session));
    auto* const counter = shared<uint32_t>(1);
    EXPECT_TRUE(run(dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{counter}), 4 * wave_,
                                    static_cast<uint16_t>(2 * wave_))));
    EXPECT_EQ(*counter, 4 * wave_);
    EXPECT_HSA(api_.hsa_ven_amd_pcs_stop(session));
    EXPECT_TRUE(run(dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), wave_,
                                    static_cast<uint16_t>(wave_))));
    EXPECT_HSA(api_.hsa_ven_amd_pcs_flush(session));
    EXPECT_HSA(api_.hsa_ven_amd_pcs_destroy(session));
    std::vector<Place> places;
    for (const Sample& each : samples)
      places.emplace_back(each.pc, each.workgroup_id_x, each.wave_in_wg, each.exec_mask);
    return places;
  }

  hsa_ven_amd_pc_sampling_1_00_pfn_t api_{};
  std::vector<hsa_ven_amd_pcs_configuration_t> configurations_;
  uint32_t wave_ = 0;
};

TEST_P(Sampling, IntervalOfOneSamplesEachInstructionOfEachWave) {
  if (configurations_[0].min_interval > 1) GTEST_SKIP() << "the interval is larger";
  const std::vector<Place> places = sample(1);
  std::set<std::pair<uint32_t, uint32_t>> waves;
  for (const auto& [pc, group, wave, lanes] : places) waves.emplace(group, wave);
  EXPECT_EQ(waves.size(), 4u);
  // The waves execute the same instructions, of which the first and the last have all lanes.
  ASSERT_EQ(places.size() % 4, 0u);
  const size_t of_wave = places.size() / 4;
  ASSERT_GE(of_wave, 3u);
  for (size_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(std::get<0>(places[i]), std::get<0>(places[i % of_wave])) << i;
}

TEST_P(Sampling, AreEqualInEveryRun) {
  const size_t interval = std::max<size_t>(3, configurations_[0].min_interval);
  const std::vector<Place> first = sample(interval);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(sample(interval), first);
}

// Of two packets without a barrier bit, the second one starts after the first one.
TEST_P(Sampling, SessionReceivesNothingOfADispatchFromBeforeItsStart) {
  constexpr size_t kInterval = 1000;
  if (configurations_[0].min_interval > kInterval) GTEST_SKIP() << "the interval is larger";
  const auto count = [](void* data, size_t size, size_t, hsa_ven_amd_pcs_data_copy_callback_t copy,
                        void* argument) {
    std::vector<Sample> samples(size / sizeof(Sample));
    EXPECT_HSA(copy(argument, size, samples.data()));
    *static_cast<size_t*>(data) += samples.size();
  };
  size_t counts[2] = {};
  hsa_ven_amd_pcs_t sessions[2] = {};
  for (int i = 0; i < 2; ++i)
    ASSERT_HSA(api_.hsa_ven_amd_pcs_create(agent(), configurations_[0].method, configurations_[0].units,
                                           i == 0 ? kInterval : 1, 0, 32 * sizeof(Sample), count, &counts[i],
                                           &sessions[i]));
  ASSERT_HSA(api_.hsa_ven_amd_pcs_start(sessions[0]));
  auto* const flag = shared<uint32_t>(1);
  auto* const seen = shared<uint32_t>(1);
  const ScopedSignal waiting(1), passing(1);
  auto waits = dispatch_packet(kernels_.kernel("wait_for"), kernarg(WaitArgs{flag, seen}), 1, 1);
  waits.completion_signal = waiting;
  auto passes = dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), 1, 1);
  passes.completion_signal = passing;
  submit(queue(), waits);
  submit(queue(), passes);
  ASSERT_TRUE(wait_for(passing, HSA_SIGNAL_CONDITION_EQ, 0));
  ASSERT_HSA(api_.hsa_ven_amd_pcs_stop(sessions[0]));
  ASSERT_HSA(api_.hsa_ven_amd_pcs_start(sessions[1]));
  std::atomic_ref<uint32_t>(*flag).store(1);
  ASSERT_TRUE(wait_for(waiting, HSA_SIGNAL_CONDITION_EQ, 0));
  for (const hsa_ven_amd_pcs_t session : sessions) EXPECT_HSA(api_.hsa_ven_amd_pcs_flush(session));
  EXPECT_EQ(counts[1], 0u);
  ASSERT_TRUE(run(passes));
  EXPECT_HSA(api_.hsa_ven_amd_pcs_flush(sessions[1]));
  EXPECT_GT(counts[1], 0u);
  for (const hsa_ven_amd_pcs_t session : sessions) EXPECT_HSA(api_.hsa_ven_amd_pcs_destroy(session));
}

INSTANTIATE_FOR_AGENTS(Sampling);

}  // namespace
}  // namespace conformance
