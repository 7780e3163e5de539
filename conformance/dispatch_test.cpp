// Kernel dispatches: grids, arguments, memory, order, completion and profiling times.
#include <hsa/amd_hsa_signal.h>

#include <atomic>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

class Dispatch : public DispatchTest {
 protected:
  // Runs `identify` over the grid and checks what each work-item saw.
  void expect_identities(int dimensions, const uint32_t (&grid)[3], const uint16_t (&group)[3]) {
    const size_t count = size_t{grid[0]} * grid[1] * grid[2];
    auto* const items = shared<WorkItemIdentity>(count);
    hsa_kernel_dispatch_packet_t packet =
        dispatch_packet(kernels_.kernel("identify"), kernarg(IdentifyArgs{items}), grid[0], group[0]);
    packet.setup = static_cast<uint16_t>(dimensions << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
    packet.grid_size_y = grid[1];
    packet.grid_size_z = grid[2];
    packet.workgroup_size_y = group[1];
    packet.workgroup_size_z = group[2];
    ASSERT_TRUE(run(packet));
    for (size_t flat = 0; flat < count; ++flat) {
      const WorkItemIdentity& item = items[flat];
      ASSERT_EQ(item.visits, 1u) << "work-item " << flat;
      const uint32_t at[3] = {static_cast<uint32_t>(flat % grid[0]),
                              static_cast<uint32_t>(flat / grid[0] % grid[1]),
                              static_cast<uint32_t>(flat / grid[0] / grid[1])};
      for (int d = 0; d < 3; ++d) {
        ASSERT_EQ(item.global[d], at[d]) << flat << " in dimension " << d;
        ASSERT_EQ(item.group[d], at[d] / group[d]) << flat << " in dimension " << d;
        ASSERT_EQ(item.local[d], at[d] % group[d]) << flat << " in dimension " << d;
        const uint32_t left = grid[d] - item.group[d] * group[d];
        ASSERT_EQ(item.group_size[d], std::min<uint32_t>(left, group[d])) << flat << " in dimension " << d;
      }
    }
  }
};

TEST_P(Dispatch, CopiesVector) {
  constexpr uint32_t kCount = 100'000;
  auto* const from = shared<uint32_t>(kCount);
  auto* const to = shared<uint32_t>(kCount);
  for (uint32_t i = 0; i < kCount; ++i) from[i] = i * 2654435761u;
  ASSERT_TRUE(
      run(dispatch_packet(kernels_.kernel("copy"), kernarg(CopyArgs{from, to, kCount, 0}), kCount, 256)));
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(to[i], from[i]) << i;
}

TEST_P(Dispatch, RunsOneDimensionalGrids) {
  expect_identities(1, {1, 1, 1}, {1, 1, 1});
  expect_identities(1, {64, 1, 1}, {64, 1, 1});
  expect_identities(1, {1000, 1, 1}, {64, 1, 1});
  expect_identities(1, {3, 1, 1}, {256, 1, 1});
  expect_identities(1, {77, 1, 1}, {1, 1, 1});
}

TEST_P(Dispatch, RunsTwoDimensionalGrids) {
  expect_identities(2, {16, 16, 1}, {8, 8, 1});
  expect_identities(2, {33, 17, 1}, {16, 4, 1});
  expect_identities(2, {1, 50, 1}, {1, 7, 1});
}

TEST_P(Dispatch, RunsThreeDimensionalGrids) {
  expect_identities(3, {8, 8, 8}, {4, 4, 4});
  expect_identities(3, {13, 7, 5}, {4, 2, 3});
  expect_identities(3, {1, 1, 9}, {1, 1, 4});
}

TEST_P(Dispatch, RunsLargestWorkgroup) {
  const auto largest = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
  expect_identities(1, {largest * 2 + 1, 1, 1}, {static_cast<uint16_t>(largest), 1, 1});
}

TEST_P(Dispatch, GroupMemoryIsSharedAcrossABarrier) {
  constexpr uint32_t kGroups = 50;
  auto* const words = shared<uint32_t>(kGroups * kReverseGroup);
  for (uint32_t i = 0; i < kGroups * kReverseGroup; ++i) words[i] = i;
  ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("reverse"), kernarg(ReverseArgs{words}),
                                  kGroups * kReverseGroup, kReverseGroup)));
  for (uint32_t g = 0; g < kGroups; ++g) {
    for (uint32_t i = 0; i < kReverseGroup; ++i) {
      ASSERT_EQ(words[g * kReverseGroup + i], g * kReverseGroup + kReverseGroup - 1 - i);
    }
  }
}

TEST_P(Dispatch, PacketAddsGroupMemory) {
  constexpr uint32_t kGroup = 32;
  constexpr uint32_t kGroups = 20;
  auto* const words = shared<uint32_t>(kGroup * kGroups);
  auto* const sums = shared<uint32_t>(kGroups);
  for (uint32_t i = 0; i < kGroup * kGroups; ++i) words[i] = i;
  hsa_kernel_dispatch_packet_t packet = dispatch_packet(
      kernels_.kernel("dynamic_sum"), kernarg(DynamicSumArgs{words, sums}), kGroup * kGroups, kGroup);
  packet.group_segment_size += kGroup * 4;
  ASSERT_TRUE(run(packet));
  for (uint32_t g = 0; g < kGroups; ++g) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < kGroup; ++i) expected += g * kGroup + i;
    EXPECT_EQ(sums[g], expected) << g;
  }
}

TEST_P(Dispatch, CountsAtomicsOfAllWorkItems) {
  auto* const counter = shared<uint32_t>(1);
  ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{counter}), 50'000, 64)));
  EXPECT_EQ(*counter, 50'000u);
}

TEST_P(Dispatch, ReadsVariableOfCodeObject) {
  auto* const in = shared<uint32_t>(100);
  auto* const out = shared<uint32_t>(100);
  for (uint32_t i = 0; i < 100; ++i) in[i] = i;
  ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("scale"), kernarg(ScaleArgs{in, out, 100, 0}), 100, 64)));
  for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(out[i], i * 3);

  hsa_executable_symbol_t symbol{};
  const hsa_agent_t own = agent();
  ASSERT_HSA(hsa_executable_get_symbol_by_name(kernels_.executable(), "factor", &own, &symbol));
  uint64_t address = 0;
  ASSERT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
  uint32_t size = 0;
  ASSERT_HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size));
  EXPECT_EQ(size, 4u);
  const uint32_t five = 5;
  ASSERT_HSA(hsa_memory_copy(reinterpret_cast<void*>(address), &five, sizeof five));
  ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("scale"), kernarg(ScaleArgs{in, out, 100, 0}), 100, 64)));
  for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(out[i], i * 5);
}

TEST_P(Dispatch, RunsWithoutCompletionSignal) {
  auto* const counter = shared<uint32_t>(1);
  submit(queue(), dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{counter}), 10, 10));
  ASSERT_TRUE(run(barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, {0}, true)));
  EXPECT_EQ(*counter, 10u);
}

TEST_P(Dispatch, CompletionDecrementsSignalByOne) {
  const ScopedSignal done(10);
  hsa_kernel_dispatch_packet_t packet = dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), 1, 1);
  packet.completion_signal = done;
  for (int i = 0; i < 4; ++i) submit(queue(), packet);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 6));
}

TEST_P(Dispatch, BarrierBitWaitsForEarlierPackets) {
  auto* const flag = shared<uint32_t>(1);
  auto* const seen = shared<uint32_t>(1);
  auto* const counter = shared<uint32_t>(1);
  const ScopedSignal first(1);
  const ScopedSignal second(1);
  hsa_kernel_dispatch_packet_t waits =
      dispatch_packet(kernels_.kernel("wait_for"), kernarg(WaitArgs{flag, seen}), 1, 1);
  waits.completion_signal = first;
  hsa_kernel_dispatch_packet_t counts =
      dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{counter}), 1, 1);
  counts.header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true);
  counts.completion_signal = second;
  submit(queue(), waits);
  submit(queue(), counts);
  // The second packet would incorrectly overtake the first one during this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(second.value(), 1);
  std::atomic_ref<uint32_t>(*flag).store(9);
  ASSERT_TRUE(wait_for(second, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(first.value(), 0);
  EXPECT_EQ(*seen, 9u);
  EXPECT_EQ(*counter, 1u);
}

TEST_P(Dispatch, QueuesRunIndependently) {
  if (agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUES_MAX) < 2) GTEST_SKIP() << "the agent has one queue";
  auto* const flag = shared<uint32_t>(1);
  auto* const seen = shared<uint32_t>(1);
  ScopedQueue other;
  other.create(agent(), queue()->size);
  ASSERT_NE(other.get(), nullptr);
  const ScopedSignal waiting(1);
  const ScopedSignal passing(1);
  hsa_kernel_dispatch_packet_t waits =
      dispatch_packet(kernels_.kernel("wait_for"), kernarg(WaitArgs{flag, seen}), 1, 1);
  waits.completion_signal = waiting;
  submit(queue(), waits);
  hsa_kernel_dispatch_packet_t passes = dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), 1, 1);
  passes.completion_signal = passing;
  submit(other.get(), passes);
  EXPECT_TRUE(wait_for(passing, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(waiting.value(), 1);
  std::atomic_ref<uint32_t>(*flag).store(1);
  EXPECT_TRUE(wait_for(waiting, HSA_SIGNAL_CONDITION_EQ, 0));
}

TEST_P(Dispatch, RingWrapsManyTimes) {
  auto* const counter = shared<uint32_t>(1);
  void* const args = kernarg(CountArgs{counter});
  const Kernel kernel = kernels_.kernel("count");
  const uint32_t packets = queue()->size * 20 + 7;
  for (uint32_t i = 0; i < packets; ++i) submit(queue(), dispatch_packet(kernel, args, 1, 1));
  ASSERT_TRUE(run(barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, {0}, true)));
  EXPECT_EQ(*counter, packets);
  EXPECT_EQ(hsa_queue_load_write_index_relaxed(queue()), packets + 1);
}

TEST_P(Dispatch, ManyProducersShareOneQueue) {
  constexpr int kProducers = 4;
  constexpr int kPackets = 500;
  auto* const counter = shared<uint32_t>(1);
  void* const args = kernarg(CountArgs{counter});
  const Kernel kernel = kernels_.kernel("count");
  const ScopedSignal done(kProducers * kPackets);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&] {
      for (int i = 0; i < kPackets; ++i) {
        hsa_kernel_dispatch_packet_t packet = dispatch_packet(kernel, args, 3, 2);
        packet.completion_signal = done;
        submit(queue(), packet);
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(*counter, static_cast<uint32_t>(kProducers * kPackets * 3));
}

// Times depend neither on the thread that queries them nor on clock calibrations between queries.
TEST_P(Dispatch, ProfilingTimesAreStableAndMonotonic) {
  ASSERT_HSA(hsa_amd_profiling_set_profiler_enabled(queue(), 1));
  const ScopedSignal done(1);
  hsa_kernel_dispatch_packet_t packet =
      dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{shared<uint32_t>(1)}), 10'000, 64);
  packet.completion_signal = done;
  submit(queue(), packet);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_LT, 1));
  hsa_amd_profiling_dispatch_time_t time{};
  ASSERT_HSA(hsa_amd_profiling_get_dispatch_time(agent(), done, &time));
  const auto& stamps = *reinterpret_cast<const amd_signal_t*>(done.get().handle);
  std::atomic<int> different{0}, running{3};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int times = 0; times < 1'000'000; ++times) {
        uint64_t start = 0;
        hsa_amd_profiling_convert_tick_to_system_domain(agent(), stamps.start_ts, &start);
        if (start != time.start) ++different;
      }
      --running;
    });
  }
  while (running != 0) hsa_amd_profiling_set_profiler_enabled(queue(), 1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
  uint64_t last = 0;
  for (uint64_t tick = stamps.start_ts - 1000; tick < stamps.end_ts + 1000; tick += 7) {
    uint64_t now = 0;
    ASSERT_HSA(hsa_amd_profiling_convert_tick_to_system_domain(agent(), tick, &now));
    ASSERT_LE(last, now);
    last = now;
  }
  hsa_amd_profiling_dispatch_time_t again{};
  ASSERT_HSA(hsa_amd_profiling_get_dispatch_time(agent(), done, &again));
  EXPECT_EQ(again.start, time.start);
  EXPECT_EQ(again.end, time.end);
}

TEST_P(Dispatch, ProfilingTimesLieBetweenSubmissionAndCompletion) {
  ASSERT_HSA(hsa_amd_profiling_set_profiler_enabled(queue(), 1));
  uint64_t before = 0;
  uint64_t after = 0;
  const ScopedSignal done(1);
  auto* const counter = shared<uint32_t>(1);
  hsa_kernel_dispatch_packet_t packet =
      dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{counter}), 10'000, 64);
  packet.completion_signal = done;
  ASSERT_HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
  submit(queue(), packet);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  ASSERT_HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
  hsa_amd_profiling_dispatch_time_t time{};
  ASSERT_HSA(hsa_amd_profiling_get_dispatch_time(agent(), done, &time));
  EXPECT_LE(time.start, time.end);
  // Converting the device's clock has some error.
  const uint64_t slack = ticks(std::chrono::microseconds(200));
  EXPECT_GE(time.start + slack, before);
  EXPECT_LE(time.end, after + slack);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_profiling_get_dispatch_time({1}, done, &time));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_profiling_get_dispatch_time(agent(), done, nullptr));
}

TEST_P(Dispatch, ChainsKernelsOfTwoQueuesThroughSignals) {
  ScopedQueue other;
  other.create(agent(), queue()->size);
  ASSERT_NE(other.get(), nullptr);
  auto* const words = shared<uint32_t>(kReverseGroup);
  for (uint32_t i = 0; i < kReverseGroup; ++i) words[i] = i;
  void* const args = kernarg(ReverseArgs{words});
  const Kernel kernel = kernels_.kernel("reverse");
  const ScopedSignal first(1);
  const ScopedSignal second(1);
  hsa_barrier_and_packet_t wait = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  wait.dep_signal[2] = first;
  submit(other.get(), wait);
  hsa_kernel_dispatch_packet_t packet = dispatch_packet(kernel, args, kReverseGroup, kReverseGroup);
  packet.header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true);
  packet.completion_signal = second;
  submit(other.get(), packet);
  packet.header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH);
  packet.completion_signal = first;
  submit(queue(), packet);
  ASSERT_TRUE(wait_for(second, HSA_SIGNAL_CONDITION_EQ, 0));
  for (uint32_t i = 0; i < kReverseGroup; ++i) EXPECT_EQ(words[i], i) << "reversed twice";
}

INSTANTIATE_FOR_AGENTS(Dispatch);

}  // namespace
}  // namespace conformance
