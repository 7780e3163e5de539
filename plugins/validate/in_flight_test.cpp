// What happens when packets end, and signals fall, just then. The rest is tested by whole programs (validate_test).
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

TEST(InFlight, CountsNoPacketThatEndsBeforeTheValueOfItsSignalIsRead) {
  std::atomic<int64_t> value{2};
  std::thread end;
  InFlight* all = nullptr;
  // The tool is told of the first packet's end before the program is, as by the runtime.
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

}  // namespace
}  // namespace validate
