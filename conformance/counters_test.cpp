// Performance counters of a queue's dispatches, by the extension aqlprofile.
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

using Event = hsa_ven_amd_aqlprofile_event_t;
using PmPacket = hsa_ext_amd_aql_pm4_packet_t;

// SQ_PERF_SEL_WAVES of every chip.
constexpr Event kWaves{HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, 0, 4};
constexpr auto kTa = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA;

// Numbers of events: gfx_8_0_enum.h, vega10_enum.h, navi10_enum.h, soc21_enum.h, soc24_enum.h, and for the
// chips of AMD Instinct counter_defs.yaml of rocprofiler-sdk.
struct Numbers {
  std::string_view chip;                                // how its name starts
  uint32_t flat_read, flat_write, flat_atomic, buffer;  // TA
  uint32_t groups, waves;                               // SPI
  uint32_t lds, lds_conflicts, lds_active;              // SQ
  uint32_t wave_packets;                                // of TA, for a wave of 64 lanes
};
constexpr Numbers kNumbers[] = {
    // The longer names first.
    {"gfx908", 101, 102, 103, 44, 49, 52, 35, 94, 99, 1},
    {"gfx90a", 101, 102, 103, 44, 49, 52, 60, 121, 126, 1},
    {"gfx94", 52, 53, 54, 32, 49, 52, 65, 126, 131, 1},
    {"gfx8", 101, 102, 103, 44, 65, 68, 34, 97, 102, 1},
    {"gfx9", 101, 102, 103, 44, 65, 68, 34, 93, 98, 1},
    {"gfx10", 101, 102, 103, 44, 49, 52, 59, 285, 290, 2},
    {"gfx11", 101, 102, 103, 44, 46, 49, 57, 256, 261, 2},
    {"gfx12", 101, 102, 103, 44, 47, 50, 45, 288, 293, 2},
};

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
    name_ = name.data();
    wave_ = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_WAVEFRONT_SIZE);
  }

  /// Makes the packets of a profile of the events.
  void watch(std::vector<Event> events) {
    events_ = std::move(events);
    profile_ = {};
    profile_.agent = agent();
    profile_.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC;
    profile_.events = events_.data();
    profile_.event_count = static_cast<uint32_t>(events_.size());
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_start(&profile_, nullptr));
    profile_.command_buffer.ptr = shared<std::byte>(profile_.command_buffer.size);
    profile_.output_buffer.ptr = shared<std::byte>(profile_.output_buffer.size);
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_start(&profile_, &start_));
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_stop(&profile_, &stop_));
    ASSERT_HSA(api_.hsa_ven_amd_aqlprofile_read(&profile_, &read_));
  }

  const Numbers* numbers() const {
    const auto* const found = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                           [&](const Numbers& row) { return name_.starts_with(row.chip); });
    return found == std::end(kNumbers) ? nullptr : found;
  }

  /// Up to two events of the texture addressers, in each of them.
  std::vector<Event> of_addressers(std::initializer_list<uint32_t> events) {
    hsa_ven_amd_aqlprofile_profile_t profile{};
    profile.agent = agent();
    hsa_ven_amd_aqlprofile_id_query_t query{};
    query.name = "TA";
    EXPECT_HSA(api_.hsa_ven_amd_aqlprofile_get_info(&profile, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID, &query));
    std::vector<Event> all;
    for (uint32_t instance = 0; instance < query.instance_count; ++instance) {
      for (const uint32_t event : events) all.push_back({kTa, instance, event});
    }
    return all;
  }

  testing::AssertionResult run_commands(PmPacket packet) {
    packet.header = packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, true);
    if (!name_.starts_with("gfx8")) return run(packet);
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

  /// AMD's library of ROCm 7 stores no samples when it stops.
  testing::AssertionResult read_and_stop() {
    const testing::AssertionResult result = run_commands(read_);
    return result ? run_commands(stop_) : result;
  }

  /// Runs `count` work-groups of one wave.
  testing::AssertionResult run_waves(uint32_t count) {
    return run(dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), count * wave_,
                               static_cast<uint16_t>(wave_)));
  }

  /// Runs `groups` work-groups of `reverse`. A wave loads a dword for each item, writes it to LDS, reads
  /// another and stores it.
  testing::AssertionResult run_reverse(uint32_t groups) {
    auto* const words = shared<uint32_t>(groups * kReverseGroup);
    return run(dispatch_packet(kernels_.kernel("reverse"), kernarg(ReverseArgs{words}),
                               groups * kReverseGroup, kReverseGroup));
  }

  /// Returns the sum over all instances, engines and so on.
  uint64_t sum_of(uint32_t block, uint32_t number) {
    struct Sum {
      uint32_t block, number;
      uint64_t value;
    } sum{block, number, 0};
    const auto add = [](hsa_ven_amd_aqlprofile_info_type_t, hsa_ven_amd_aqlprofile_info_data_t* info,
                        void* data) {
      auto& into = *static_cast<Sum*>(data);
      const Event& event = info->pmc_data.event;
      if (event.block_name == into.block && event.counter_id == into.number)
        into.value += info->pmc_data.result;
      return HSA_STATUS_SUCCESS;
    };
    EXPECT_HSA(api_.hsa_ven_amd_aqlprofile_iterate_data(&profile_, add, &sum));
    return sum.value;
  }

  uint64_t waves() {
    hsa_ven_amd_aqlprofile_info_data_t sum{};
    sum.sample_id = UINT32_MAX;
    sum.pmc_data.event = kWaves;
    EXPECT_HSA(api_.hsa_ven_amd_aqlprofile_get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA, &sum));
    return sum.pmc_data.result;
  }

  hsa_ven_amd_aqlprofile_pfn_t api_{};
  std::vector<Event> events_;
  hsa_ven_amd_aqlprofile_profile_t profile_{};
  PmPacket start_{}, stop_{}, read_{};
  std::string name_;
  uint32_t wave_ = 0;
};

TEST_P(Counters, CountWavesBetweenStartAndStop) {
  watch({kWaves});
  ASSERT_TRUE(run_waves(3));
  ASSERT_TRUE(run_commands(start_));
  ASSERT_TRUE(run_waves(100));
  ASSERT_TRUE(run_commands(read_));
  EXPECT_EQ(waves(), 100u);
  ASSERT_TRUE(run_waves(7));
  ASSERT_TRUE(read_and_stop());
  ASSERT_TRUE(run_waves(5));
  EXPECT_EQ(waves(), 107u);
  ASSERT_TRUE(run_commands(start_)) << "which resets them";
  ASSERT_TRUE(run_waves(2));
  ASSERT_TRUE(read_and_stop());
  EXPECT_EQ(waves(), 2u);
}

TEST_P(Counters, CountLaunchedWorkGroupsAndLds) {
  const Numbers* const numbers = this->numbers();
  if (numbers == nullptr) GTEST_SKIP() << "unknown chip " << name_;
  constexpr auto kSpi = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI, kSq = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ;
  watch({{kSpi, 0, numbers->groups},
         {kSpi, 0, numbers->waves},
         {kSq, 0, numbers->lds},
         {kSq, 0, numbers->lds_conflicts},
         {kSq, 0, numbers->lds_active}});
  ASSERT_TRUE(run_commands(start_));
  ASSERT_TRUE(run_reverse(5));
  ASSERT_TRUE(read_and_stop());
  const uint64_t waves = uint64_t{5} * kReverseGroup / wave_;
  EXPECT_EQ(sum_of(kSpi, numbers->groups), 5u);
  EXPECT_EQ(sum_of(kSpi, numbers->waves), waves);
  EXPECT_EQ(sum_of(kSq, numbers->lds), 2 * waves);
  EXPECT_EQ(sum_of(kSq, numbers->lds_conflicts), 0u) << "neighbours access different banks";
  EXPECT_EQ(sum_of(kSq, numbers->lds_active), 2 * waves * (wave_ / 32)) << "one cycle for 32 lanes";
}

TEST_P(Counters, CountWavefrontsAtAddressers) {
  const Numbers* const numbers = this->numbers();
  if (numbers == nullptr) GTEST_SKIP() << "unknown chip " << name_;
  const uint64_t waves = uint64_t{3} * kReverseGroup / wave_ * (wave_ == 64 ? numbers->wave_packets : 1);
  watch(of_addressers({numbers->flat_read, numbers->flat_write}));
  ASSERT_TRUE(run_commands(start_));
  ASSERT_TRUE(run_reverse(3));
  ASSERT_TRUE(read_and_stop());
  EXPECT_EQ(sum_of(kTa, numbers->flat_read), waves);
  EXPECT_EQ(sum_of(kTa, numbers->flat_write), waves);

  watch(of_addressers({numbers->flat_atomic, numbers->buffer}));
  ASSERT_TRUE(run_commands(start_));
  ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{shared<uint32_t>(1)}),
                                  4 * wave_, static_cast<uint16_t>(wave_))));
  ASSERT_TRUE(read_and_stop());
  EXPECT_EQ(sum_of(kTa, numbers->flat_atomic), 4u * (wave_ == 64 ? numbers->wave_packets : 1))
      << "one for each wave";
  EXPECT_EQ(sum_of(kTa, numbers->buffer), 0u);
}

INSTANTIATE_FOR_AGENTS(Counters);

}  // namespace
}  // namespace conformance
