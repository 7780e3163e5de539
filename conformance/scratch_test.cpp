// Scratch: private memory of kernels, which GPUs allocate in local memory. Which queue keeps it, how it is
// reclaimed when memory runs out, and the limit of what queues keep. These tests are quick on boards with
// little memory (CMakeLists.txt).
#include <hsa/amd_hsa_queue.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"
#include "support/optional_function.hpp"
#include "support/used_up.hpp"

namespace conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Scratch : public DispatchTest {
 protected:
  static constexpr uint32_t kItems = 1500;

  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU)
      GTEST_SKIP() << "not a GPU";
    local_ = local_pool(agent());
    // Queues of large GPUs keep this kernel's scratch only with a higher limit than the initial one.
    if (const auto set_limit = OPTIONAL_HSA(hsa_amd_agent_set_async_scratch_limit)) {
      const auto most = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX);
      ASSERT_HSA(set_limit(agent(), std::min(most, uint64_t{300} << 20)));
    }
    if (pool_info<size_t>(local_, HSA_AMD_MEMORY_POOL_INFO_SIZE) > size_t{1} << 30)
      GTEST_SKIP() << "the board has too much memory to use up";
    for (ScopedQueue* each : {&first_, &second_}) {
      each->create(agent(), 64);
      ASSERT_NE(each->get(), nullptr);
    }
    sums_ = shared<uint32_t>(kItems);
  }

  /// Whether queues never return scratch: since Linux 6.12, the driver cannot unmap and remap a gfx8 queue.
  bool never_returns_scratch() const {
    const auto name = agent_info<std::array<char, 64>>(agent(), HSA_AGENT_INFO_NAME);
    return std::string_view(name.data()).starts_with("gfx8");
  }
  hsa_kernel_dispatch_packet_t packet(uint32_t private_bytes = 0) {
    auto packet = dispatch_packet(kernels_.kernel("keep"), kernarg(KeepArgs{sums_, kItems, 0}), kItems, 64);
    packet.private_segment_size = std::max(packet.private_segment_size, private_bytes);
    return packet;
  }
  /// Runs the kernel on `queue` and checks its results.
  testing::AssertionResult run_and_check(ScopedQueue& queue, uint32_t private_bytes = 0) {
    std::fill(sums_, sums_ + kItems, 0);
    const ScopedSignal done(1);
    auto dispatch = packet(private_bytes);
    dispatch.completion_signal = done;
    submit(queue.get(), dispatch);
    if (!wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0)) return testing::AssertionFailure() << "never completed";
    for (uint32_t i = 0; i < kItems; ++i) {
      if (sums_[i] != sum_of_kept(i)) return testing::AssertionFailure() << "wrong at " << i;
    }
    return testing::AssertionSuccess();
  }
  static uint64_t scratch_of(const ScopedQueue& queue) {
    const volatile auto& bytes =
        reinterpret_cast<const amd_queue_t*>(queue.get())->scratch_backing_memory_byte_size;
    return bytes;
  }
  /// Polls until the queue has returned its scratch, as the API does not report that. False after kPatience.
  static bool returns_scratch(const ScopedQueue& queue) {
    const auto deadline = steady_clock::now() + kPatience;
    while (scratch_of(queue) != 0 && steady_clock::now() < deadline)
      std::this_thread::sleep_for(milliseconds(1));
    return scratch_of(queue) == 0;
  }

  hsa_amd_memory_pool_t local_{};
  uint32_t* sums_ = nullptr;
  ScopedQueue first_, second_;  // destroyed before the memory
};

TEST_P(Scratch, QueueKeepsScratchWhileMemorySuffices) {
  ASSERT_TRUE(run_and_check(first_));
  const uint64_t scratch = scratch_of(first_);
  EXPECT_GT(scratch, 0u);
  ASSERT_TRUE(run_and_check(first_));
  EXPECT_EQ(scratch_of(first_), scratch);
}

TEST_P(Scratch, IsReclaimedFromIdleQueue) {
  if (never_returns_scratch()) GTEST_SKIP() << "its queues keep their scratch";
  ASSERT_TRUE(run_and_check(first_));
  ASSERT_GT(scratch_of(first_), 0u);
  ExhaustedPool exhausted(local_, scratch_of(first_));
  ASSERT_TRUE(run_and_check(first_));
  ASSERT_TRUE(run_and_check(second_));
  EXPECT_EQ(scratch_of(first_), 0u);
  EXPECT_GT(scratch_of(second_), 0u);
  ASSERT_TRUE(run_and_check(first_)) << "and back";
  EXPECT_EQ(first_.errors().count + second_.errors().count, 0);
}

TEST_P(Scratch, IdleQueuesYieldToAllocations) {
  if (never_returns_scratch()) GTEST_SKIP() << "its queues keep their scratch";
  size_t before = 0;
  {
    const ExhaustedPool exhausted(local_);
    before = exhausted.bytes();
  }
  ASSERT_TRUE(run_and_check(first_));
  ASSERT_GT(scratch_of(first_), 0u);
  {
    const ExhaustedPool exhausted(local_);
    EXPECT_EQ(exhausted.bytes(), before);
    EXPECT_EQ(scratch_of(first_), 0u);
  }
  EXPECT_TRUE(run_and_check(first_));
}

TEST_P(Scratch, StoppedQueueYieldsToAllocationsAndLimits) {
  REQUIRE_HSA(hsa_amd_agent_set_async_scratch_limit);
  for (const bool limit : {false, true}) {
    ScopedQueue queue;
    queue.create(agent(), 64);
    ASSERT_TRUE(run_and_check(queue));
    ASSERT_GT(scratch_of(queue), 0u);
    ASSERT_HSA(hsa_queue_inactivate(queue.get()));
    if (limit) {
      const auto initial_limit = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT);
      EXPECT_HSA(hsa_amd_agent_set_async_scratch_limit(agent(), 0));
      EXPECT_HSA(hsa_amd_agent_set_async_scratch_limit(agent(), initial_limit));
    } else {
      const ExhaustedPool exhausted(local_);
    }
    EXPECT_EQ(scratch_of(queue), 0u);
  }
}

TEST_P(Scratch, DispatchWaitsForBusyQueue) {
  if (never_returns_scratch()) GTEST_SKIP() << "its queues keep their scratch";
  // Bytes per work-item: one work-group on each of twelve shader arrays needs 73 MiB.
  constexpr uint32_t kLargePrivateSize = 100'000;
  ASSERT_TRUE(run_and_check(second_));
  const ScopedSignal gate(1), done(1);
  auto busy = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  busy.dep_signal[0] = gate;
  submit(second_.get(), busy);
  ExhaustedPool exhausted(local_, kLargePrivateSize * 64 * 16);
  ASSERT_GT(scratch_of(second_), 0u) << "it is at work";
  auto dispatch = packet(kLargePrivateSize);
  dispatch.completion_signal = done;
  {
    const ExhaustedPool rest(local_);  // from here on only the scratch of second_ can be reclaimed
    submit(first_.get(), dispatch);
    // The dispatch must neither run nor fail while there is no memory.
    std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(done.value(), 1);
    EXPECT_EQ(first_.errors().count, 0);
  }
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0)) << "some came back";
  hsa_signal_store_screlease(gate, 0);
  EXPECT_TRUE(run_and_check(second_));
  EXPECT_EQ(first_.errors().count + second_.errors().count, 0);
}

TEST_P(Scratch, QueueMayBeDestroyedWhileWaiting) {
  if (never_returns_scratch()) GTEST_SKIP() << "its queues keep their scratch";
  ASSERT_TRUE(run_and_check(second_));
  const ScopedSignal gate(1);
  auto busy = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  busy.dep_signal[0] = gate;
  submit(second_.get(), busy);
  std::array<ScopedQueue, 8> queues;
  for (ScopedQueue& queue : queues) {
    queue.create(agent(), 64);
    ASSERT_NE(queue.get(), nullptr);
  }
  const ExhaustedPool exhausted(local_);
  std::chrono::microseconds pause{0};
  // The pauses differ, so that a queue is destroyed while it requests scratch, while its handler runs, and
  // while the request is repeated.
  for (ScopedQueue& queue : queues) {
    submit(queue.get(), packet(100'000));
    std::this_thread::sleep_for(pause);
    queue.destroy();
    EXPECT_EQ(queue.errors().count, 0);
    pause = 2 * pause + std::chrono::microseconds(50);
  }
  hsa_signal_store_screlease(gate, 0);
}

TEST_P(Scratch, AboveLimitServesOneDispatch) {
  REQUIRE_HSA(hsa_amd_agent_set_async_scratch_limit);
  const auto maximum = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX);
  const auto initial_limit = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT);
  const auto set = [&](uint64_t bytes) { return hsa_amd_agent_set_async_scratch_limit(agent(), bytes); };
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, set(maximum + 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_agent_set_async_scratch_limit({1}, initial_limit));
  ASSERT_TRUE(run_and_check(first_));
  const uint64_t scratch = scratch_of(first_);
  EXPECT_HSA(set(scratch + (1 << 20)));
  EXPECT_EQ(scratch_of(first_), scratch);
  EXPECT_HSA(set(scratch / 2));
  EXPECT_EQ(agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT), scratch / 2);
  EXPECT_EQ(scratch_of(first_), never_returns_scratch() ? scratch : 0) << "it is taken back at once";
  ScopedQueue& queue = never_returns_scratch() ? second_ : first_;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run_and_check(queue));
    EXPECT_TRUE(returns_scratch(queue));
  }
  EXPECT_HSA(set(initial_limit));
  ASSERT_TRUE(run_and_check(queue));
  EXPECT_TRUE(never_returns_scratch() || scratch_of(queue) == scratch);
}

TEST_P(Scratch, LoweringLimitWaitsForDispatches) {
  REQUIRE_HSA(hsa_amd_agent_set_async_scratch_limit);
  if (never_returns_scratch()) GTEST_SKIP() << "its queues keep their scratch";
  ASSERT_TRUE(run_and_check(first_));
  const ScopedSignal gate(1);
  auto busy = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  busy.dep_signal[0] = gate;
  submit(first_.get(), busy);
  std::thread opener([&] {
    // Time for the call below to wait for the dispatch.
    std::this_thread::sleep_for(milliseconds(10));
    hsa_signal_store_screlease(gate, 0);
  });
  EXPECT_HSA(hsa_amd_agent_set_async_scratch_limit(agent(), 0));
  EXPECT_EQ(gate.value(), 0);
  EXPECT_EQ(scratch_of(first_), 0u);
  opener.join();
  ASSERT_TRUE(run_and_check(first_));
}

TEST_P(Scratch, ManyQueuesShareMemory) {
  constexpr int kQueues = 6, kRounds = 4;
  ScopedQueue queues[kQueues];
  for (ScopedQueue& each : queues) {
    each.create(agent(), 64);
    ASSERT_NE(each.get(), nullptr);
  }
  const ExhaustedPool exhausted(local_, size_t{100} << 20);
  const ScopedSignal left(kQueues * kRounds);
  for (int i = 0; i < kQueues * kRounds; ++i) {
    auto dispatch = packet(1500 + static_cast<uint32_t>(i % 3) * 300);
    dispatch.completion_signal = left;
    submit(queues[i % kQueues].get(), dispatch);
  }
  ASSERT_TRUE(wait_for(left, HSA_SIGNAL_CONDITION_EQ, 0)) << left.value() << " left";
  for (uint32_t i = 0; i < kItems; ++i) ASSERT_EQ(sums_[i], sum_of_kept(i)) << i;
  for (const ScopedQueue& each : queues) EXPECT_EQ(each.errors().count, 0);
}

INSTANTIATE_FOR_AGENTS(Scratch);

}  // namespace
}  // namespace conformance
