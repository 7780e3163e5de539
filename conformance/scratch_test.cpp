// Private memory of kernels, which GPUs take from their local memory: who has it, who gets it when there is
// not enough, and the limit of what queues keep. Boards with little memory make this quick (CMakeLists.txt).
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
  static constexpr uint32_t kItems = 5000;

  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU)
      GTEST_SKIP() << "not a GPU";
    local_ = local_pool(agent());
    if (pool_info<size_t>(local_, HSA_AMD_MEMORY_POOL_INFO_SIZE) > size_t{1} << 30)
      GTEST_SKIP() << "the board has too much memory to use up";
    for (ScopedQueue* each : {&one_, &other_}) {
      each->create(agent(), 64);
      ASSERT_NE(each->get(), nullptr);
    }
    sums_ = shared<uint32_t>(kItems);
  }

  /// Drivers from Linux 6.12 on cannot take a queue of gfx8 off the device and put it back.
  bool keeps_for_good() const {
    const auto name = agent_info<std::array<char, 64>>(agent(), HSA_AGENT_INFO_NAME);
    return std::string_view(name.data()).starts_with("gfx8");
  }
  hsa_kernel_dispatch_packet_t packet(uint32_t private_bytes = 0) {
    auto packet = dispatch_packet(kernels_.kernel("keep"), kernarg(KeepArgs{sums_, kItems, 0}), kItems, 64);
    packet.private_segment_size = std::max(packet.private_segment_size, private_bytes);
    return packet;
  }
  /// Runs the kernel and checks what it did.
  testing::AssertionResult keep(ScopedQueue& queue, uint32_t private_bytes = 0) {
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
  static uint64_t kept_by(const ScopedQueue& queue) {
    const volatile auto& bytes =
        reinterpret_cast<const amd_queue_t*>(queue.get())->scratch_backing_memory_byte_size;
    return bytes;
  }
  /// Nothing tells when memory is given back.
  static bool keeps_nothing_soon(const ScopedQueue& queue) {
    const auto deadline = steady_clock::now() + kPatience;
    while (kept_by(queue) != 0 && steady_clock::now() < deadline)
      std::this_thread::sleep_for(milliseconds(1));
    return kept_by(queue) == 0;
  }

  hsa_amd_memory_pool_t local_{};
  uint32_t* sums_ = nullptr;
  ScopedQueue one_, other_;  // go first
};

TEST_P(Scratch, StaysWithAQueueWhileThereIsEnough) {
  ASSERT_TRUE(keep(one_));
  const uint64_t kept = kept_by(one_);
  EXPECT_GT(kept, 0u);
  ASSERT_TRUE(keep(one_));
  EXPECT_EQ(kept_by(one_), kept);
}

TEST_P(Scratch, IsTakenFromAQueueThatIsIdle) {
  if (keeps_for_good()) GTEST_SKIP() << "its queues keep their scratch";
  ASSERT_TRUE(keep(one_));
  ASSERT_GT(kept_by(one_), 0u);
  PoolUsedUp used(local_, kept_by(one_));
  ASSERT_TRUE(keep(one_));
  ASSERT_TRUE(keep(other_));
  EXPECT_EQ(kept_by(one_), 0u);
  EXPECT_GT(kept_by(other_), 0u);
  ASSERT_TRUE(keep(one_)) << "and back";
  EXPECT_EQ(one_.errors().count + other_.errors().count, 0);
}

TEST_P(Scratch, OfIdleQueuesIsThereForAllocations) {
  if (keeps_for_good()) GTEST_SKIP() << "its queues keep their scratch";
  size_t before = 0;
  {
    const PoolUsedUp used(local_);
    before = used.bytes();
  }
  ASSERT_TRUE(keep(one_));
  ASSERT_GT(kept_by(one_), 0u);
  {
    const PoolUsedUp used(local_);
    EXPECT_EQ(used.bytes(), before);
    EXPECT_EQ(kept_by(one_), 0u);
  }
  EXPECT_TRUE(keep(one_));
}

TEST_P(Scratch, OfAStoppedQueueIsThereForAllocationsAndLimits) {
  REQUIRE_HSA(hsa_amd_agent_set_async_scratch_limit);
  for (const bool limit : {false, true}) {
    ScopedQueue queue;
    queue.create(agent(), 64);
    ASSERT_TRUE(keep(queue));
    ASSERT_GT(kept_by(queue), 0u);
    ASSERT_HSA(hsa_queue_inactivate(queue.get()));
    if (limit) {
      const auto first = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT);
      EXPECT_HSA(hsa_amd_agent_set_async_scratch_limit(agent(), 0));
      EXPECT_HSA(hsa_amd_agent_set_async_scratch_limit(agent(), first));
    } else {
      const PoolUsedUp used(local_);
    }
    EXPECT_EQ(kept_by(queue), 0u);
  }
}

TEST_P(Scratch, IsWaitedForWhileAnotherQueueIsAtWork) {
  if (keeps_for_good()) GTEST_SKIP() << "its queues keep their scratch";
  constexpr uint32_t kMuch =
      100'000;  // a work-item: a work-group on each of eight shader arrays needs 48 MiB
  ASSERT_TRUE(keep(other_));
  const ScopedSignal gate(1), done(1);
  auto busy = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  busy.dep_signal[0] = gate;
  submit(other_.get(), busy);
  PoolUsedUp used(local_, kMuch * 64 * 12);
  ASSERT_GT(kept_by(other_), 0u) << "it is at work";
  auto dispatch = packet(kMuch);
  dispatch.completion_signal = done;
  {
    const PoolUsedUp rest(local_);  // only what the other has is left
    submit(one_.get(), dispatch);
    // Time for the dispatch to run wrongly, or to fail: neither may happen while there is no memory.
    std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(done.value(), 1);
    EXPECT_EQ(one_.errors().count, 0);
  }
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0)) << "some came back";
  hsa_signal_store_screlease(gate, 0);
  EXPECT_TRUE(keep(other_));
  EXPECT_EQ(one_.errors().count + other_.errors().count, 0);
}

TEST_P(Scratch, AQueueMayEndWhileItWaits) {
  if (keeps_for_good()) GTEST_SKIP() << "its queues keep their scratch";
  ASSERT_TRUE(keep(other_));
  const ScopedSignal gate(1);
  auto busy = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  busy.dep_signal[0] = gate;
  submit(other_.get(), busy);
  std::array<ScopedQueue, 8> queues;
  for (ScopedQueue& queue : queues) {
    queue.create(agent(), 64);
    ASSERT_NE(queue.get(), nullptr);
  }
  const PoolUsedUp used(local_);
  std::chrono::microseconds pause{0};
  for (ScopedQueue& queue :
       queues) {  // as it asks, when its handler has heard of it, while it is tried again
    submit(queue.get(), packet(100'000));
    std::this_thread::sleep_for(pause);  // nothing tells how far it is
    queue.destroy();
    EXPECT_EQ(queue.errors().count, 0);
    pause = 2 * pause + std::chrono::microseconds(50);
  }
  hsa_signal_store_screlease(gate, 0);
}

TEST_P(Scratch, BeyondTheLimitServesOneDispatch) {
  REQUIRE_HSA(hsa_amd_agent_set_async_scratch_limit);
  const auto most = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX);
  const auto first = agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT);
  const auto set = [&](uint64_t bytes) { return hsa_amd_agent_set_async_scratch_limit(agent(), bytes); };
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, set(most + 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_agent_set_async_scratch_limit({1}, first));
  ASSERT_TRUE(keep(one_));
  const uint64_t kept = kept_by(one_);
  EXPECT_HSA(set(kept + (1 << 20)));
  EXPECT_EQ(kept_by(one_), kept);
  EXPECT_HSA(set(kept / 2));
  EXPECT_EQ(agent_info<uint64_t>(agent(), HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT), kept / 2);
  EXPECT_EQ(kept_by(one_), keeps_for_good() ? kept : 0) << "it is taken back at once";
  ScopedQueue& queue = keeps_for_good() ? other_ : one_;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(keep(queue));
    EXPECT_TRUE(keeps_nothing_soon(queue));
  }
  EXPECT_HSA(set(first));
  ASSERT_TRUE(keep(queue));
  EXPECT_TRUE(keeps_for_good() || kept_by(queue) == kept);
}

TEST_P(Scratch, ALowerLimitWaitsForDispatches) {
  REQUIRE_HSA(hsa_amd_agent_set_async_scratch_limit);
  if (keeps_for_good()) GTEST_SKIP() << "its queues keep their scratch";
  ASSERT_TRUE(keep(one_));
  const ScopedSignal gate(1);
  auto busy = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
  busy.dep_signal[0] = gate;
  submit(one_.get(), busy);
  std::thread opener([&] {
    // The dispatch that wants memory has been looked at by then.
    std::this_thread::sleep_for(milliseconds(10));
    hsa_signal_store_screlease(gate, 0);
  });
  EXPECT_HSA(hsa_amd_agent_set_async_scratch_limit(agent(), 0));
  EXPECT_EQ(gate.value(), 0);
  EXPECT_EQ(kept_by(one_), 0u);
  opener.join();
  ASSERT_TRUE(keep(one_));
}

TEST_P(Scratch, OfManyQueuesAtOnce) {
  constexpr int kQueues = 6, kRounds = 4;
  ScopedQueue queues[kQueues];
  for (ScopedQueue& each : queues) {
    each.create(agent(), 64);
    ASSERT_NE(each.get(), nullptr);
  }
  const PoolUsedUp used(local_, size_t{100} << 20);
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
