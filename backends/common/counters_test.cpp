#include "backends/common/counters.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

using Event = hsa_ven_amd_aqlprofile_event_t;

constexpr uint32_t kIndexRegister = 0xc200, kLow = 0xd1c0, kControlRegister = 0xd808,
                   kSelectRegister = 0xd9c0;

// What commands do: the last value of each register, and the registers that are stored, by address.
struct Effects {
  std::map<uint32_t, uint32_t> registers;
  struct Store {
    uint32_t address, index, die;
  };
  std::map<uint64_t, Store> stores;
};

Effects run(const CounterDevice& device, uint32_t action, const std::vector<Event>& events, uint64_t output) {
  std::vector<uint32_t> commands(write_counter_commands(device, action, events, output, nullptr));
  EXPECT_EQ(write_counter_commands(device, action, events, output, commands.data()), commands.size());
  Effects effects;
  uint32_t die = 0;
  size_t die_end = commands.size();
  for (size_t i = 0; i < commands.size();) {
    if (i == die_end) die = 0;
    const uint32_t* const packet = &commands[i];
    i += (packet[0] >> 16 & 0x3fff) + 2;
    switch (packet[0] >> 8 & 0xff) {
      case pm4::kSetUconfigReg:
        effects.registers[0xc000 + packet[1]] = packet[2];
        break;
      case pm4::kSetShReg:
        effects.registers[0x2c00 + packet[1]] = packet[2];
        break;
      case pm4::kCopyData:
        effects.stores[uint64_t{packet[5]} << 32 | packet[4]] = {packet[2], effects.registers[kIndexRegister],
                                                                 die};
        break;
      case pm4::kPredExec:
        die = static_cast<uint32_t>(__builtin_ctz(packet[1] >> 24));
        die_end = i + (packet[1] & 0x3fff);
        break;
      default:
        break;
    }
  }
  return effects;
}

class Counters : public ::testing::Test {
 protected:
  static CounterDevice device(const Family& family, const NodeFacts& facts) {
    return {*family.generation, facts};
  }

  const NodeFacts vega_ = testing::vega10().facts(), mi300_ = testing::mi300x().facts(),
                  navi31_ = testing::navi31().facts();
};

TEST_F(Counters, StartSelectsEventsAndEnablesQueue) {
  const auto effects =
      run(device(gfx9::kFamily, vega_), HSABE_COUNTERS_START, {{kSq, 0, 4}, {kSq, 0, 26}}, 0);
  EXPECT_EQ(effects.registers.at(kSelectRegister), 0x0f0ff004u);
  EXPECT_EQ(effects.registers.at(kSelectRegister + 1), 0x0f0ff01au);
  EXPECT_EQ(effects.registers.at(kControlRegister), 1u);
  EXPECT_EQ(effects.registers.at(0x2e0b), 1u) << "COMPUTE_PERFCOUNT_ENABLE";
  EXPECT_EQ(effects.registers.at(kIndexRegister), 0xe0000000u) << "broadcast";
  EXPECT_TRUE(effects.stores.empty());
}

TEST_F(Counters, ReadStoresBothHalvesOfEachEngine) {
  const auto effects =
      run(device(gfx9::kFamily, vega_), HSABE_COUNTERS_READ, {{kSq, 0, 4}, {kSq, 0, 26}}, 0x1000);
  ASSERT_EQ(effects.stores.size(), 2u * 4 * 2);
  for (uint32_t engine = 0; engine < 4; ++engine) {
    const auto& high_of_second = effects.stores.at(0x1000 + (4 + engine) * 8 + 4);
    EXPECT_EQ(high_of_second.address, kLow + 3);
    EXPECT_EQ(high_of_second.index, 0x60000000 | engine << 16);
  }
  EXPECT_EQ(effects.registers.at(kControlRegister), 1u | 1u << 10) << "counters go on";
}

TEST_F(Counters, StopStoresSamplesToo) {
  const auto effects = run(device(gfx9::kFamily, vega_), HSABE_COUNTERS_STOP, {{kSq, 0, 4}}, 0x1000);
  EXPECT_EQ(effects.stores.size(), 4u * 2);
  EXPECT_EQ(effects.registers.at(kControlRegister), 2u);
}

TEST_F(Counters, EachDieStoresItsSamples) {
  const auto effects =
      run(device(gfx9::kFamily, mi300_), HSABE_COUNTERS_READ, {{kSq, 0, 4}, {kSq, 0, 26}}, 0);
  ASSERT_EQ(effects.stores.size(), 8u * 2 * 4 * 2);
  const auto& store = effects.stores.at((5 * 2 * 4 + 4 + 3) * 8);  // die 5, second event, engine 3
  EXPECT_EQ(store.die, 5u);
  EXPECT_EQ(store.address, kLow + 2);
  EXPECT_EQ(store.index, 0x60030000u);
}

// From gfx11 on, each work-group processor has counters of 32 bits, selected by every second register.
TEST_F(Counters, EachProcessorStoresItsSamples) {
  const CounterDevice navi = device(gfx11::kFamily, navi31_);
  EXPECT_EQ(run(navi, HSABE_COUNTERS_START, {{kSq, 0, 4}, {kSq, 0, 62}}, 0).registers.at(kSelectRegister + 2),
            62u);
  const auto effects = run(navi, HSABE_COUNTERS_READ, {{kSq, 0, 4}, {kSq, 0, 62}}, 0);
  ASSERT_EQ(effects.stores.size(), 2u * 6 * 2 * 4);
  const auto& store = effects.stores.at((48 + (5 * 2 + 1) * 4 + 2) * 8);
  EXPECT_EQ(store.address, kLow + 2);
  EXPECT_EQ(store.index, 5u << 16 | 1u << 8 | 2u << 2);
}

// vega10_enum.h and navi10_enum.h: SQ_PERF_SEL_WAVES is 4; INSTS_VALU is 26 and 64; 2 measures time.
TEST_F(Counters, EventsDependOnGeneration) {
  const NodeFacts navi = testing::navi10().facts();
  const CounterDevice gfx9 = device(gfx9::kFamily, vega_), gfx10 = device(gfx10::kFamily, navi);
  for (const CounterDevice& each : {gfx9, gfx10}) {
    EXPECT_TRUE(counts_event(each, {kSq, 0, 4}));
    EXPECT_FALSE(counts_event(each, {kSq, 0, 2}));
    EXPECT_FALSE(counts_event(each, {kSq, 1, 4}));
    EXPECT_FALSE(counts_event(each, {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM, 0, 4}));
  }
  EXPECT_TRUE(counts_event(gfx9, {kSq, 0, 26}));
  EXPECT_FALSE(counts_event(gfx10, {kSq, 0, 26}));
  EXPECT_TRUE(counts_event(gfx10, {kSq, 0, 64}));
  NodeFacts mi200 = vega_;
  mi200.version = {9, 0, 10};
  EXPECT_TRUE(counts_event(gfx9, {kSq, 0, 30})) << "SQ_INSTS_SALU";
  EXPECT_FALSE(counts_event(device(gfx9::kFamily, mi200), {kSq, 0, 30})) << "SQ_INSTS_VALU_TRANS_F16";
  EXPECT_TRUE(counts_event(device(gfx9::kFamily, mi200), {kSq, 0, 56}));
}

TEST_F(Counters, BlocksDependOnChip) {
  NodeFacts mi200 = vega_;
  mi200.version = {9, 0, 10};
  constexpr auto kTcc = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC;
  hsabe_counter_block_t block{};
  EXPECT_EQ(describe_block(device(gfx9::kFamily, vega_), kTcc, block), HSA_STATUS_SUCCESS);
  EXPECT_EQ(block.instances, 16u);
  EXPECT_EQ(block.counters, 0u);
  EXPECT_EQ(describe_block(device(gfx9::kFamily, mi200), kTcc, block), HSA_STATUS_SUCCESS);
  EXPECT_EQ(block.instances, 32u);
  EXPECT_EQ(describe_block(device(gfx11::kFamily, navi31_), kTcc, block), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(Counters, PacketRunsCommands) {
  hsa_ext_amd_aql_pm4_packet_t packet{};
  packet.header = 0x1234;
  packet.completion_signal.handle = 77;
  make_counter_packet(0x123456789abc, 21, packet);
  EXPECT_EQ(packet.header, 0x1234u);
  EXPECT_EQ(packet.completion_signal.handle, 77u);
  const pm4::Slot expected = pm4::aql_slot_vendor(0x123456789abc, 21, 77, 0);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const char*>(&packet) + 2,
                        reinterpret_cast<const char*>(expected.data()) + 2, 62),
            0);
}

TEST_F(Counters, ConvertedPacketSignalsAfterCommands) {
  hsa_ext_amd_aql_pm4_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 2u << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  packet.completion_signal.handle = 77;
  make_counter_packet(0x123456789abc, 21, packet);
  std::byte memory[HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE + 1];
  std::byte* const slots = memory + 1;  // need not be aligned
  convert_counter_packet(packet, std::span(memory).subspan<1>());
  hsa_barrier_and_packet_t first, last;
  std::memcpy(&first, slots, sizeof first);
  std::memcpy(&last, slots + 128, sizeof last);
  EXPECT_EQ(first.header & 0xff, HSA_PACKET_TYPE_BARRIER_AND);
  EXPECT_EQ(first.completion_signal.handle, 0u);
  EXPECT_NE(last.header >> HSA_PACKET_HEADER_BARRIER & 1, 0) << "the signal waits for the commands";
  EXPECT_EQ(last.completion_signal.handle, 77u);
  const pm4::Slot expected = pm4::aql_slot_gfx8(0x123456789abc, 21);
  EXPECT_EQ(std::memcmp(slots + 64, expected.data(), sizeof expected), 0);
}

}  // namespace
}  // namespace rigel::gfx
