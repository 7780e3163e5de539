// Buffers, packets and results of profiles, on a device with two dies, three engines and two kinds of block.
#include "core/counters/counter_profiles.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace rigel {
namespace {

using Event = hsa_ven_amd_aqlprofile_event_t;

constexpr auto kSq = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ;
constexpr auto kTa = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA;

// SQ counts events 1 to 9 by die and engine, TA events 1 to 9 by die. A command consists of its action and
// the low half of the output's address, and one dword for each event.
LoadedBackend backend() {
  LoadedBackend table;
  table.counters = {
      .struct_size = sizeof table.counters,
      .describe_block = [](void*, uint32_t block, hsabe_counter_block_t* out) -> hsabe_status_t {
        if (block != kSq && block != kTa) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
        *out = {sizeof *out,
                {block == kSq ? "SQ" : "TA", 2},
                block == kSq ? 1u : 16u,
                2,
                2,
                block == kSq ? 3u : 1u,
                1,
                1};
        return HSA_STATUS_SUCCESS;
      },
      .counts = [](void*, const Event* event) -> int32_t {
        return event->counter_id >= 1 && event->counter_id <= 9;
      },
      .write_commands = [](void*, uint32_t action, const Event* events, uint64_t count, uint64_t output,
                           uint32_t* commands) -> uint64_t {
        if (commands == nullptr) return 2 + count;
        *commands++ = action;
        *commands++ = static_cast<uint32_t>(output);
        for (uint64_t i = 0; i < count; ++i) *commands++ = events[i].counter_id;
        return 2 + count;
      },
      .make_packet =
          [](void*, uint64_t commands, uint64_t dwords, hsa_ext_amd_aql_pm4_packet_t* packet) {
            std::memcpy(packet->pm4_command, &commands, sizeof commands);
            packet->pm4_command[4] = static_cast<uint16_t>(dwords);
          },
      .convert_packet = [](void*, const hsa_ext_amd_aql_pm4_packet_t*, void*) -> hsabe_status_t {
        return HSA_STATUS_ERROR_INVALID_AGENT;
      },
  };
  return table;
}

Capabilities of_a_gpu() {
  Capabilities capabilities;
  capabilities.caps.device_type = HSA_DEVICE_TYPE_GPU;
  return capabilities;
}

const uint32_t* commands_of(const hsa_ext_amd_aql_pm4_packet_t& packet) {
  const uint32_t* commands = nullptr;
  std::memcpy(&commands, packet.pm4_command, sizeof commands);
  return commands;
}

class CounterProfilesTest : public ::testing::Test {
 protected:
  CounterProfilesTest() {
    profile_.agent = gpu_;
    profile_.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC;
    set_events({{kSq, 0, 4}, {kTa, 2, 7}});
  }
  void set_events(std::vector<Event> events) {
    events_ = std::move(events);
    profile_.events = events_.data();
    profile_.event_count = static_cast<uint32_t>(events_.size());
  }
  void give_buffers() {
    ASSERT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_SUCCESS);
    commands_.resize(profile_.command_buffer.size / sizeof(uint32_t));
    output_.assign(profile_.output_buffer.size / sizeof(uint64_t), 99);
    profile_.command_buffer.ptr = commands_.data();
    profile_.output_buffer.ptr = output_.data();
  }
  static std::string reason() { return CounterProfiles::error_string(); }

  const LoadedBackend backend_ = backend();
  const LoadedBackend without_counters_;
  const hsabe_host_t host_{};
  Machine machine_;
  const hsa_agent_t gpu_ =
      machine_.add_agent(Node{}, backend_, host_, of_a_gpu(), std::vector<const Isa*>{}).handle();
  const hsa_agent_t cpu_ =
      machine_.add_agent(Node{}, without_counters_, host_, of_a_gpu(), std::vector<const Isa*>{}).handle();
  const CounterProfiles profiles_{machine_};
  std::vector<Event> events_;
  std::vector<uint32_t> commands_;
  std::vector<uint64_t> output_;
  hsa_ven_amd_aqlprofile_profile_t profile_{};
};

TEST_F(CounterProfilesTest, StartReturnsSizesThenPacket) {
  give_buffers();
  EXPECT_EQ(output_.size(), 2u * (3 + 1));
  hsa_ext_amd_aql_pm4_packet_t start{}, stop{}, read{};
  ASSERT_EQ(profiles_.start(&profile_, &start), HSA_STATUS_SUCCESS);
  ASSERT_EQ(profiles_.stop(&profile_, &stop), HSA_STATUS_SUCCESS);
  ASSERT_EQ(profiles_.read(&profile_, &read), HSA_STATUS_SUCCESS);
  EXPECT_EQ(output_, std::vector<uint64_t>(8, 0)) << "commands may store low halves only";
  const uint32_t action[] = {HSABE_COUNTERS_START, HSABE_COUNTERS_STOP, HSABE_COUNTERS_READ};
  for (const auto* const packet : {&start, &stop, &read}) {
    const uint32_t* const commands = commands_of(*packet);
    EXPECT_EQ(commands[0], action[packet == &start ? 0 : packet == &stop ? 1 : 2]);
    EXPECT_EQ(commands[1], static_cast<uint32_t>(reinterpret_cast<uint64_t>(output_.data())));
    EXPECT_EQ(commands[2], 4u);
    EXPECT_EQ(commands[3], 7u);
    EXPECT_EQ(packet->pm4_command[4], 4u);
    EXPECT_LE(commands + 4, commands_.data() + commands_.size());
    EXPECT_EQ(packet->header, 0u);
  }
}

TEST_F(CounterProfilesTest, SmallBufferIsRejectedWithItsSize) {
  give_buffers();
  hsa_ext_amd_aql_pm4_packet_t packet{};
  const uint32_t size = profile_.output_buffer.size;
  profile_.output_buffer.size = size - 1;
  EXPECT_EQ(profiles_.start(&profile_, &packet), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(profile_.output_buffer.size, size);
  EXPECT_EQ(reason(), "profile: a buffer is too small");
}

TEST_F(CounterProfilesTest, MisalignedBufferIsRejected) {
  give_buffers();
  hsa_ext_amd_aql_pm4_packet_t packet{};
  const auto misalign = [](hsa_ven_amd_aqlprofile_descriptor_t& buffer) {
    buffer.ptr = static_cast<std::byte*>(buffer.ptr) + 1;
  };
  const auto profile = profile_;
  misalign(profile_.command_buffer);
  EXPECT_EQ(profiles_.start(&profile_, &packet), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(profiles_.stop(&profile_, &packet), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_ENABLE_CMD, &packet),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(reason(), "profile: the command buffer is misaligned");
  profile_ = profile;
  misalign(profile_.output_buffer);
  EXPECT_EQ(profiles_.start(&profile_, &packet), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const auto ignore = [](auto, auto*, void*) -> hsa_status_t { return HSA_STATUS_SUCCESS; };
  EXPECT_EQ(profiles_.iterate_data(&profile_, ignore, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(reason(), "profile: the output buffer is misaligned");
}

TEST_F(CounterProfilesTest, IterationReturnsEachSampleOfEachDie) {
  give_buffers();
  for (uint64_t i = 0; i < output_.size(); ++i) output_[i] = 10 * i;
  std::vector<std::array<uint64_t, 3>> found;
  ASSERT_EQ(profiles_.iterate_data(
                &profile_,
                [](hsa_ven_amd_aqlprofile_info_type_t, hsa_ven_amd_aqlprofile_info_data_t* info, void* data) {
                  static_cast<decltype(found)*>(data)->push_back(
                      {info->pmc_data.event.counter_id, info->sample_id, info->pmc_data.result});
                  return HSA_STATUS_SUCCESS;
                },
                &found),
            HSA_STATUS_SUCCESS);
  const decltype(found) expected = {{4, 0, 0},  {4, 1, 10}, {4, 2, 20}, {7, 0, 30},
                                    {4, 3, 40}, {4, 4, 50}, {4, 5, 60}, {7, 1, 70}};
  EXPECT_EQ(found, expected);

  hsa_ven_amd_aqlprofile_info_data_t sum{};
  sum.sample_id = UINT32_MAX;
  sum.pmc_data.event = {kSq, 0, 4};
  ASSERT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA, &sum), HSA_STATUS_SUCCESS);
  EXPECT_EQ(sum.pmc_data.result, 180u);
  sum.sample_id = 4;
  ASSERT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA, &sum), HSA_STATUS_SUCCESS);
  EXPECT_EQ(sum.pmc_data.result, 50u);
}

TEST_F(CounterProfilesTest, CallbackEndsIteration) {
  give_buffers();
  int calls = 0;
  const auto iterate = [&](hsa_ven_amd_aqlprofile_data_callback_t callback) {
    calls = 0;
    return profiles_.iterate_data(&profile_, callback, &calls);
  };
  EXPECT_EQ(iterate([](auto, auto*, void* data) -> hsa_status_t {
              return ++*static_cast<int*>(data) == 2 ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
            }),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(iterate([](auto, auto*, void* data) -> hsa_status_t {
              ++*static_cast<int*>(data);
              return HSA_STATUS_ERROR_EXCEPTION;
            }),
            HSA_STATUS_ERROR_EXCEPTION);
  EXPECT_EQ(calls, 1);
}

TEST_F(CounterProfilesTest, UnsupportedEventIsNamed) {
  set_events({{kSq, 0, 4}, {kTa, 3, 46}});
  EXPECT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(reason(), "event 46 of block 10, instance 3, is not supported");
  bool is_valid = true;
  EXPECT_EQ(profiles_.validate_event(gpu_, &events_[1], &is_valid), HSA_STATUS_SUCCESS);
  EXPECT_FALSE(is_valid);
  EXPECT_EQ(profiles_.validate_event(gpu_, &events_[0], &is_valid), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(is_valid);
}

TEST_F(CounterProfilesTest, MoreEventsThanCountersAreRejected) {
  set_events({{kSq, 0, 4}, {kTa, 0, 5}, {kTa, 1, 5}, {kSq, 0, 5}});
  EXPECT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_SUCCESS);
  set_events({{kSq, 0, 4}, {kSq, 0, 5}, {kSq, 0, 6}});
  EXPECT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(reason(), "profile: more than 2 events of block 6, instance 0");
}

TEST_F(CounterProfilesTest, InvalidProfilesAreRejected) {
  EXPECT_EQ(profiles_.start(nullptr, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_ext_amd_aql_pm4_packet_t packet{};
  EXPECT_EQ(profiles_.stop(&profile_, &packet), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(reason(), "profile: the command buffer is NULL");
  profile_.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_TRACE;
  EXPECT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_ERROR);
  EXPECT_EQ(reason(), "thread traces are not supported");
  profile_.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC;
  profile_.agent = cpu_;
  EXPECT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_ERROR_INVALID_AGENT);
  profile_.agent = gpu_;
  set_events({});
  EXPECT_EQ(profiles_.start(&profile_, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(CounterProfilesTest, BlocksAreFoundByName) {
  hsa_ven_amd_aqlprofile_id_query_t query{"TA", 0, 0};
  ASSERT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID, &query), HSA_STATUS_SUCCESS);
  EXPECT_EQ(query.id, static_cast<uint32_t>(kTa));
  EXPECT_EQ(query.instance_count, 16u);
  query.name = "T";
  EXPECT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID, &query), HSA_STATUS_ERROR);
  EXPECT_EQ(reason(), "unknown block 'T'");
  uint32_t counters = 0;
  ASSERT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS, &counters),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(counters, 2u);
}

TEST_F(CounterProfilesTest, QueueCommandsNeedOnlyCommandBuffer) {
  set_events({});
  ASSERT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_DISABLE_CMD, nullptr),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(profile_.command_buffer.size, 8u);
  commands_.resize(2);
  profile_.command_buffer.ptr = commands_.data();
  hsa_ext_amd_aql_pm4_packet_t packet{};
  ASSERT_EQ(profiles_.get_info(&profile_, HSA_VEN_AMD_AQLPROFILE_INFO_DISABLE_CMD, &packet),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(commands_of(packet), commands_.data());
  EXPECT_EQ(commands_[0], static_cast<uint32_t>(HSABE_COUNTERS_DISABLE));
}

TEST_F(CounterProfilesTest, CoordinatesIdentifySample) {
  std::map<std::string, std::pair<int, int>> found;  // coordinate and extent by name
  const auto keep = [](int, int, int extent, int coordinate, const char* name, void* data) -> hsa_status_t {
    (*static_cast<decltype(found)*>(data))[name] = {coordinate, extent};
    return HSA_STATUS_SUCCESS;
  };
  ASSERT_EQ(profiles_.iterate_event_coord(gpu_, {kSq, 0, 4}, 4, keep, &found), HSA_STATUS_SUCCESS);
  const decltype(found) of_engine = {{"INSTANCE", {0, 1}}, {"XCD", {1, 2}}, {"SE", {1, 3}}};
  EXPECT_EQ(found, of_engine);
  found.clear();
  ASSERT_EQ(profiles_.iterate_event_coord(gpu_, {kTa, 5, 4}, 1, keep, &found), HSA_STATUS_SUCCESS);
  const decltype(found) of_instance = {{"INSTANCE", {5, 16}}, {"XCD", {1, 2}}};
  EXPECT_EQ(found, of_instance);
  EXPECT_EQ(profiles_.iterate_event_coord(gpu_, {kSq, 0, 4}, 6, keep, &found),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(CounterProfilesTest, PacketIsNotConvertedIfEveryQueueTakesIt) {
  const hsa_ext_amd_aql_pm4_packet_t packet{};
  uint32_t slots[48] = {};
  EXPECT_EQ(profiles_.legacy_get_pm4(&packet, slots), HSA_STATUS_ERROR);
}

}  // namespace
}  // namespace rigel
