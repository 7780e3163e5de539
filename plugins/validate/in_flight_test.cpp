// Races between the completion of packets and changes of signals. validate_test covers the rest with whole
// programs.
#include "plugins/validate/in_flight.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace validate {
namespace {

constexpr uint64_t kQueue = 1;
constexpr uint64_t kSignal = 0x1000;

InFlightPacket barrier(uint64_t index, uint64_t completion) {
  InFlightPacket packet;
  auto& bytes = reinterpret_cast<hsa_barrier_and_packet_t&>(packet.packet);
  bytes.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
  bytes.completion_signal.handle = completion;
  packet.queue = kQueue;
  packet.index = index;
  return packet;
}

TEST(InFlight, IgnoresPacketCompletedBeforeSignalIsRead) {
  std::atomic<int64_t> value{2};
  std::thread end;
  InFlight* all = nullptr;
  // Like the runtime: report the first packet's completion to the tool before the signal changes.
  InFlight in_flight([&](uint64_t) {
    end = std::thread([&] {
      all->done(kQueue, 0);
      --value;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return value.load();
  });
  all = &in_flight;
  in_flight.add(barrier(0, kSignal));
  EXPECT_EQ(in_flight.add(barrier(1, kSignal)).same_signal, 0u);
  ASSERT_TRUE(end.joinable()) << "nobody has looked at the value";
  end.join();
}

InFlightPacket barrier_value(uint64_t index, hsa_signal_condition_t condition, int64_t value, int64_t mask) {
  InFlightPacket packet;
  auto& bytes = reinterpret_cast<hsa_amd_barrier_value_packet_t&>(packet.packet);
  bytes.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  bytes.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  bytes.signal.handle = kSignal;
  bytes.cond = condition;
  bytes.value = value;
  bytes.mask = mask;
  packet.queue = kQueue;
  packet.index = index;
  packet.dependencies = dependencies_of(packet.packet);
  return packet;
}

TEST(InFlight, BarrierValuePacketProceedsIfConditionHolds) {
  const struct {
    hsa_signal_condition_t condition;
    int64_t value, mask;
    bool goes_on;  // if the signal's value is 0x15
  } rows[] = {
      {HSA_SIGNAL_CONDITION_EQ, 0x15, -1, true},   {HSA_SIGNAL_CONDITION_EQ, 0, -1, false},
      {HSA_SIGNAL_CONDITION_EQ, 5, 0xf, true},     {HSA_SIGNAL_CONDITION_NE, 5, 0xf, false},
      {HSA_SIGNAL_CONDITION_NE, 0, -1, true},      {HSA_SIGNAL_CONDITION_LT, 0x16, -1, true},
      {HSA_SIGNAL_CONDITION_LT, 0x15, -1, false},  {HSA_SIGNAL_CONDITION_LT, 6, 0xf, true},
      {HSA_SIGNAL_CONDITION_GTE, 0x15, -1, true},  {HSA_SIGNAL_CONDITION_GTE, 6, 0xf, false},
      {HSA_SIGNAL_CONDITION_GTE, 0x16, -1, false}, {HSA_SIGNAL_CONDITION_EQ, 0, 0, true},
  };
  for (const auto& row : rows) {
    InFlight in_flight([](uint64_t) { return 0x15; });
    in_flight.add(barrier_value(0, row.condition, row.value, row.mask));
    EXPECT_EQ(in_flight.may_progress(), row.goes_on) << row.condition << ' ' << row.value << ' ' << row.mask;
  }
}

TEST(InFlight, BarrierValuePacketDeadlocksIfItNeedsLaterPackets) {
  const struct {
    int64_t now;
    hsa_signal_condition_t condition;
    int64_t value, mask;
    bool in_cycle;
  } rows[] = {
      {1, HSA_SIGNAL_CONDITION_EQ, 0, -1, true},   {3, HSA_SIGNAL_CONDITION_EQ, 0, -1, true},
      {0, HSA_SIGNAL_CONDITION_EQ, 5, -1, false},  // only a store can fulfil the condition
      {0, HSA_SIGNAL_CONDITION_GTE, 5, -1, false}, {5, HSA_SIGNAL_CONDITION_LT, 5, -1, true},
      {5, HSA_SIGNAL_CONDITION_NE, 5, -1, true},   {0x11, HSA_SIGNAL_CONDITION_EQ, 0, 0xf, true},
  };
  for (const auto& row : rows) {
    InFlight in_flight([&](uint64_t) { return row.now; });
    EXPECT_TRUE(in_flight.add(barrier_value(0, row.condition, row.value, row.mask)).cycle.empty());
    EXPECT_EQ(!in_flight.add(barrier(1, kSignal)).cycle.empty(), row.in_cycle)
        << row.now << ' ' << row.condition << ' ' << row.value << ' ' << row.mask;
  }
}

TEST(InFlight, BarrierValuePacketProceedsIfAnyPacketSuffices) {
  InFlight in_flight([](uint64_t) { return 5; });
  auto elsewhere = barrier(0, kSignal);
  elsewhere.queue = kQueue + 1;
  in_flight.add(elsewhere);
  in_flight.add(barrier_value(0, HSA_SIGNAL_CONDITION_LT, 5, -1));
  EXPECT_TRUE(in_flight.add(barrier(1, kSignal)).cycle.empty());
}

}  // namespace
}  // namespace validate
