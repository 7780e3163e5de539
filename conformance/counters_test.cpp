// Performance counters of a queue's dispatches, by the extension aqlprofile.
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <array>
#include <string_view>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

using Event = hsa_ven_amd_aqlprofile_event_t;
using PmPacket = hsa_ext_amd_aql_pm4_packet_t;

// SQ_PERF_SEL_WAVES of every chip.
constexpr Event kWaves{HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, 0, 4};

class Counters : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    bool is_supported = false;
    EXPECT_HSA(hsa_agent_extension_supported(HSA_EXTENSION_AMD_AQLPROFILE, agent(), 1, 0, &is_supported));
    if (!is_supported) GTEST_SKIP() << "the agent has no performance counters";
    ASSERT_HSA(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_AQLPROFILE, 1, sizeof api_, &api_));
    const auto name = agent_info<std::array<char, 64>>(agent(), HSA_AGENT_INFO_NAME);
    takes_packets_ = !std::string_view(name.data()).starts_with("gfx8");
    wave_ = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_WAVEFRONT_SIZE);
    profile_.agent = agent();
    profile_.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC;
    profile_.events = &kWaves;
    profile_.event_count = 1;
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_start(&profile_, nullptr));
    profile_.command_buffer.ptr = shared<std::byte>(profile_.command_buffer.size);
    profile_.output_buffer.ptr = shared<std::byte>(profile_.output_buffer.size);
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_start(&profile_, &start_));
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_stop(&profile_, &stop_));
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_read(&profile_, &read_));
  }

  testing::AssertionResult run_commands(PmPacket packet) {
    packet.header = packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, true);
    if (takes_packets_) return run(packet);
    // Queues of gfx8 take PM4 in the place of three packets, of which the last has the signal.
    const ScopedSignal done(1);
    packet.completion_signal = done;
    std::array<std::array<uint32_t, 16>, 3> slots{};
    EXPECT_HSA(api_.hsa_ven_amd_aqlprofile_legacy_get_pm4(&packet, slots.data()));
    for (const auto& slot : slots) submit(queue(), slot);
    if (!wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0))
      return testing::AssertionFailure() << "status " << errors().status;
    return testing::AssertionSuccess();
  }

  /// Runs `count` work-groups of one wave.
  testing::AssertionResult run_waves(uint32_t count) {
    return run(dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), count * wave_,
                               static_cast<uint16_t>(wave_)));
  }

  uint64_t waves() {
    hsa_ven_amd_aqlprofile_info_data_t sum{};
    sum.sample_id = UINT32_MAX;
    sum.pmc_data.event = kWaves;
    EXPECT_HSA(api_.hsa_ven_amd_aqlprofile_get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA, &sum));
    return sum.pmc_data.result;
  }

  hsa_ven_amd_aqlprofile_pfn_t api_{};
  hsa_ven_amd_aqlprofile_profile_t profile_{};
  PmPacket start_{}, stop_{}, read_{};
  bool takes_packets_ = true;
  uint32_t wave_ = 0;
};

TEST_P(Counters, CountWavesBetweenStartAndStop) {
  ASSERT_TRUE(run_waves(3));
  ASSERT_TRUE(run_commands(start_));
  ASSERT_TRUE(run_waves(100));
  ASSERT_TRUE(run_commands(read_));
  EXPECT_EQ(waves(), 100u);
  ASSERT_TRUE(run_waves(7));
  ASSERT_TRUE(run_commands(stop_));
  ASSERT_TRUE(run_waves(5));
  EXPECT_EQ(waves(), 107u);
  ASSERT_TRUE(run_commands(start_)) << "which resets them";
  ASSERT_TRUE(run_waves(2));
  ASSERT_TRUE(run_commands(stop_));
  EXPECT_EQ(waves(), 2u);
}

INSTANTIATE_FOR_AGENTS(Counters);

}  // namespace
}  // namespace conformance
