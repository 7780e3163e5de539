// Programs that break and keep the rules of packets (2xx): see validate_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "plugins/validate/testing/program.hpp"

namespace validate::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PacketRules : public ::testing::Test {
 protected:
  Program program;
  hsa_queue_t* const queue = program.queue(64);
  const hsa_signal_t done = program.signal();
  uint32_t* const words = static_cast<uint32_t*>(program.memory((kWords + 1) * 4));
  AddUpArgs* const args = [this] {
    auto* const arguments = static_cast<AddUpArgs*>(program.memory(sizeof(AddUpArgs)));
    *arguments = {words, words + kWords};
    return arguments;
  }();
  const TestKernel add_up = program.kernel("add_up");

  hsa_kernel_dispatch_packet_t good() { return program.dispatch(add_up, args, done); }
  // Ends the program after its work completed, and returns the numbers of the broken rules.
  std::vector<uint32_t> end() {
    hsa_queue_destroy(queue);
    hsa_signal_destroy(done);
    hsa_amd_memory_pool_free(words);
    hsa_amd_memory_pool_free(args);
    return program.end();
  }
};

TEST_F(PacketRules, CorrectProgramGetsNoReports) {
  for (int i = 0; i < 200; ++i) {
    hsa_signal_store_relaxed(done, 1);
    submit(queue, good());
    wait(done);
    hsa_signal_store_relaxed(done, 1);
    submit(queue, barrier(done));
    wait(done);
  }
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V201IsBrokenByDoorbellBeforeHeader) {
  const uint64_t index = reserve(queue);
  ring(queue, index);
  const auto packet = good();
  write_packet(queue, index, &packet);
  ring(queue, index);
  wait(done);
  EXPECT_THAT(end(), ElementsAre(201));
}

TEST_F(PacketRules, V201IsKeptByOneDoorbellForSeveralPackets) {
  hsa_signal_store_relaxed(done, 3);
  uint64_t index = 0;
  for (int i = 0; i < 3; ++i) {
    index = reserve(queue);
    const auto packet = good();
    write_packet(queue, index, &packet);
  }
  ring(queue, index);
  wait(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V202IsBrokenByWritingFieldsAfterHeader) {
  const uint64_t index = reserve(queue);
  auto packet = good();
  write_packet(queue, index, &packet);
  ring(queue, index);
  auto* const slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index;
  slot->grid_size_x = 2 * kWords;
  wait(done);
  hsa_signal_store_relaxed(done, 1);
  submit(queue, barrier(done));
  wait(done);
  EXPECT_THAT(end(), ElementsAre(202));
}

TEST_F(PacketRules, V202IsKeptByWritingToReservedSlots) {
  for (uint32_t i = 0; i < 2 * queue->size; ++i) {
    const uint64_t first = reserve(queue), second = reserve(queue);
    const auto run = [&](uint64_t index) {
      hsa_signal_store_relaxed(done, 1);
      const auto packet = barrier(done);
      write_packet(queue, index, &packet);
      ring(queue, index);
      wait(done);
    };
    run(first);
    auto* const slot = static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + second % queue->size;
    slot->reserved1 = 0;
    run(second);
  }
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V203IsBrokenByReservedFields) {
  auto packet = good();
  packet.reserved0 = 1;
  submit(queue, packet);
  wait(done);
  hsa_signal_store_relaxed(done, 1);
  auto fence = barrier(done);
  fence.reserved1 = 5;
  submit(queue, fence);
  wait(done);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(203, 203));

  // The reserved fields at the end of the packets, and those of an agent dispatch.
  hsa_signal_store_relaxed(done, 2);
  packet.reserved0 = 0;
  packet.reserved2 = 1;
  submit(queue, packet);
  fence = barrier(done);
  fence.reserved2 = 1;
  submit(queue, fence);
  wait(done);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(203, 203));
  hsa_agent_dispatch_packet_t call{};
  call.header = HSA_PACKET_TYPE_AGENT_DISPATCH;
  call.reserved0 = 1;
  call.reserved2 = 1;
  submit(queue, call);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(203, 203));
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V203IsKeptByDefinedBits) {
  constexpr auto kAll = static_cast<uint16_t>(
      1 << HSA_PACKET_HEADER_BARRIER | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  hsa_signal_store_relaxed(done, 2);
  auto packet = good();
  packet.header |= kAll;
  packet.setup = 3;
  submit(queue, packet);
  auto fence = barrier(done);
  fence.header |= kAll;
  submit(queue, fence);
  wait(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V204IsBrokenByUnknownType) {
  hsa_agent_dispatch_packet_t packet{};
  packet.header = 77 << HSA_PACKET_HEADER_TYPE;
  submit(queue, packet);
  EXPECT_THAT(end(), ElementsAre(204));
}

TEST_F(PacketRules, V204IsKeptByEverySupportedType) {
  hsa_signal_store_relaxed(done, 4);
  submit(queue, good());
  submit(queue, barrier(done));
  submit(queue, barrier(done, {}, HSA_PACKET_TYPE_BARRIER_OR));
  submit(queue, barrier_value({0}, done));
  wait(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V205IsBrokenByDoorbellForUnreservedPacket) {
  const uint64_t index = reserve(queue);
  const auto packet = good();
  write_packet(queue, index, &packet);
  ring(queue, index + 1);
  wait(done);
  EXPECT_THAT(end(), ElementsAre(205));
}

TEST_F(PacketRules, V205IsKeptByReservingSeveralSlots) {
  hsa_signal_store_relaxed(done, 2);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 2);
  const auto packet = good();
  write_packet(queue, index, &packet);
  ring(queue, index);
  write_packet(queue, index + 1, &packet);
  ring(queue, index + 1);
  wait(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V206IsBrokenByPacketAboveRingSize) {
  const hsa_signal_t held = program.signal();
  HeldKernel kernel(program, queue, held);
  // Do not ring the doorbell, so that no packet is consumed.
  const auto packet = barrier({0});
  uint64_t index = 0;
  for (uint32_t i = 0; i < queue->size + 1; ++i) {
    index = reserve(queue);
    write_packet(queue, index, &packet);
  }
  ring(queue, index);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(206));
  kernel.release();
  wait(held);
  hsa_signal_destroy(held);
  hsa_amd_memory_pool_free(kernel.args());
  hsa_amd_memory_pool_free(kernel.words());
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V206IsKeptByFullRing) {
  const hsa_signal_t held = program.signal();
  HeldKernel kernel(program, queue, held);
  hsa_signal_store_relaxed(done, queue->size);
  const auto packet = barrier(done);
  uint64_t index = 0;
  for (uint32_t i = 0; i < queue->size; ++i) {
    index = reserve(queue);
    while (index >= hsa_queue_load_read_index_scacquire(queue) + queue->size) std::this_thread::yield();
    write_packet(queue, index, &packet);
  }
  ring(queue, index);
  kernel.release();
  wait(done);
  wait(held);
  hsa_signal_destroy(held);
  hsa_amd_memory_pool_free(kernel.args());
  hsa_amd_memory_pool_free(kernel.words());
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V207IsBrokenByKernelOfDestroyedExecutable) {
  auto packet = good();
  program.unload_kernels();
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(207));
  packet.kernel_object = 0x1000;
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(207));
}

TEST_F(PacketRules, V207IsKeptByReloadedKernel) {
  submit(queue, good());
  wait(done);
  program.unload_kernels();
  const TestKernel again = program.kernel("add_up");
  hsa_signal_store_relaxed(done, 1);
  submit(queue, program.dispatch(again, args, done));
  wait(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V208IsBrokenByTooSmallKernarg) {
  auto* const block = static_cast<char*>(program.memory(4096));
  auto packet = good();
  // At the end of a block, with space for only half of the arguments.
  packet.kernarg_address = block + 4096 - add_up.kernarg_size / 2;
  program.unload_kernels();  // so that the kernel does not run
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(208));
  packet.kernarg_address = nullptr;
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(208));
}

TEST_F(PacketRules, V208IsKeptByKernargAtEndOfAllocation) {
  auto* const block = static_cast<char*>(program.memory(4096));
  auto packet = good();
  packet.kernarg_address = block + 4096 - add_up.kernarg_size;
  std::memcpy(packet.kernarg_address, args, sizeof *args);
  submit(queue, packet);
  wait(done);
  hsa_amd_memory_pool_free(block);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V209IsBrokenByKernargAlignedTo8Bytes) {
  auto* const block = static_cast<char*>(program.memory(4096));
  auto packet = good();
  packet.kernarg_address = block + 8;
  program.unload_kernels();  // so that the kernel does not run
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(209));
}

TEST_F(PacketRules, V209IsKeptByKernargAlignedTo16Bytes) {
  auto* const block = static_cast<char*>(program.memory(4096));
  auto packet = good();
  packet.kernarg_address = block + 16;
  std::memcpy(packet.kernarg_address, args, sizeof *args);
  submit(queue, packet);
  wait(done);
  hsa_amd_memory_pool_free(block);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V210IsBrokenByChangingKernargOfRunningKernel) {
  HeldKernel kernel(program, queue, done);
  static_cast<HoldArgs*>(kernel.args())->begun = words;
  kernel.release();
  wait(done);
  hsa_amd_memory_pool_free(kernel.args());
  hsa_amd_memory_pool_free(kernel.words());
  EXPECT_THAT(end(), ElementsAre(210));
}

TEST_F(PacketRules, V210IsKeptByChangingKernargAfterCompletion) {
  for (int i = 0; i < 100; ++i) {
    submit(queue, program.dispatch(add_up, args));
    auto fence = barrier(done);
    fence.header |= 1 << HSA_PACKET_HEADER_BARRIER;
    submit(queue, fence);
    wait(done);
    args->words = words + i % 2;
    hsa_signal_store_relaxed(done, 1);
  }
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V211IsBrokenWithoutGroupSegment) {
  auto packet = good();
  ASSERT_GT(packet.group_segment_size, 0u);
  packet.group_segment_size = 0;
  program.unload_kernels();  // so that the kernel does not run
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(211));
}

TEST_F(PacketRules, V211IsKeptByMoreThanDeclaredSize) {
  auto packet = good();
  packet.group_segment_size += 1024;
  submit(queue, packet);
  wait(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V213IsBrokenByInconsistentDimensionsAndSizes) {
  auto packet = good();
  packet.setup = 1;
  packet.grid_size_y = 2;
  program.unload_kernels();  // so that none of these kernels runs
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(213));
  packet = good();
  packet.setup = 0;
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(213));
  packet = good();
  packet.workgroup_size_x = 0;
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(213));
}

TEST_F(PacketRules, V213IsKeptByOneToThreeDimensions) {
  words[1] = 1;
  auto* const hold = static_cast<HoldArgs*>(program.memory(sizeof(HoldArgs)));
  *hold = {&words[0], &words[1]};
  hsa_signal_store_relaxed(done, 3);
  for (uint16_t dimensions = 1; dimensions <= 3; ++dimensions) {
    auto packet = program.dispatch(program.kernel("hold"), hold, done);
    packet.setup = dimensions;
    packet.workgroup_size_x = 2;
    packet.grid_size_x = 3;  // the last work-group is partial
    if (dimensions >= 2) packet.workgroup_size_y = 2, packet.grid_size_y = 2;
    if (dimensions >= 3) packet.workgroup_size_z = 2, packet.grid_size_z = 4;
    submit(queue, packet);
  }
  wait(done);
  hsa_amd_memory_pool_free(hold);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PacketRules, V214IsBrokenByOversizedWorkGroup) {
  auto packet = good();
  packet.setup = 3;
  packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1024;
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1024;
  program.unload_kernels();  // so that the kernel does not run
  submit(queue, packet);
  EXPECT_THAT(Program::take_numbers(), Contains(214));
}

TEST_F(PacketRules, V214IsKeptByLargestWorkGroup) {
  uint16_t most[3]{};
  uint32_t size = 0;
  hsa_agent_get_info(program.agent(), HSA_AGENT_INFO_WORKGROUP_MAX_DIM, most);
  hsa_agent_get_info(program.agent(), HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, &size);
  words[1] = 1;
  auto* const hold = static_cast<HoldArgs*>(program.memory(sizeof(HoldArgs)));
  *hold = {&words[0], &words[1]};
  auto packet = program.dispatch(program.kernel("hold"), hold, done);
  packet.workgroup_size_x = static_cast<uint16_t>(std::min<uint32_t>(most[0], size));
  packet.grid_size_x = packet.workgroup_size_x;
  submit(queue, packet);
  wait(done);
  hsa_amd_memory_pool_free(hold);
  EXPECT_THAT(end(), IsEmpty());
}

}  // namespace
}  // namespace validate::testing
