// Cooperative queues: all work-groups run at the same time and wait for each other at barriers of the global
// wave sync hardware.
#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

class CooperativeQueue : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!agent_info<bool>(agent(), HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES))
      GTEST_SKIP() << "the agent has no cooperative queues";
    const auto name = agent_info<std::array<char, 64>>(agent(), HSA_AGENT_INFO_NAME);
    if (std::string_view(name.data()).starts_with("gfx12"))
      GTEST_SKIP() << "the chip has no GWS instructions";
    wave_ = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_WAVEFRONT_SIZE);
    cooperative_.create(agent(), 64, HSA_QUEUE_TYPE_COOPERATIVE);
    ASSERT_NE(cooperative_.get(), nullptr);
  }

  /// Lets `groups` work-groups of one wave meet `rounds` times. Returns the count that each of them saw.
  std::vector<uint32_t> meet(uint32_t groups, uint32_t rounds) {
    auto* const counter = shared<uint32_t>(1);
    auto* const seen = shared<uint32_t>(size_t{groups} * rounds);
    EXPECT_TRUE(run_on(
        cooperative_, dispatch_packet(kernels_.kernel("gws_begin"), kernarg(GwsBeginArgs{groups, 0}), 1, 1)));
    EXPECT_TRUE(run_on(cooperative_, dispatch_packet(kernels_.kernel("gws_meet"),
                                                     kernarg(GwsMeetArgs{counter, seen, groups, rounds}),
                                                     groups * wave_, static_cast<uint16_t>(wave_))));
    return {seen, seen + size_t{groups} * rounds};
  }

  uint32_t wave_ = 0;
  ScopedQueue cooperative_;
};

TEST_P(CooperativeQueue, WavesOfAllWorkGroupsMeet) {
  for (const uint32_t groups : {1u, 2u, 17u, 40u}) {
    constexpr uint32_t kRounds = 3;
    const std::vector<uint32_t> seen = meet(groups, kRounds);
    for (uint32_t round = 0; round < kRounds; ++round) {
      const auto begin = seen.begin() + round * groups;
      EXPECT_TRUE(
          std::all_of(begin, begin + groups, [&](uint32_t count) { return count == (round + 1) * groups; }))
          << groups << " groups, round " << round;
    }
  }
  EXPECT_EQ(cooperative_.errors().count, 0);
}

INSTANTIATE_FOR_AGENTS(CooperativeQueue);

}  // namespace
}  // namespace conformance
