// Fixture for tests that run kernels: a queue, kernels and memory, for each agent with kernel dispatches.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include "support/agents.hpp"
#include "support/kernels.hpp"
#include "support/memory.hpp"
#include "support/queues.hpp"
#include "support/signals.hpp"

namespace conformance {

class DispatchTest : public DispatchingAgentTest {
 protected:
  void SetUp() override {
    DispatchingAgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string reason;
    auto code = find_code_object(agent(), reason);
    if (code.empty()) GTEST_SKIP() << reason;
    kernels_.load(agent(), std::move(code));
    ASSERT_FALSE(HasFatalFailure());
    const auto data = find_pool(agent(), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    const auto kernarg = find_pool(agent(), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
    ASSERT_TRUE(data.has_value()) << "no fine-grained pool";
    ASSERT_TRUE(kernarg.has_value()) << "no kernarg pool";
    data_pool_ = *data;
    kernarg_pool_ = *kernarg;
    queue_.create(agent(), std::max(64u, agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MIN_SIZE)));
    ASSERT_NE(queue_.get(), nullptr);
  }

  /// Zeroed memory shared by host and agent, freed with the test.
  template <class T>
  T* shared(size_t count) {
    memory_.push_back(allocate(data_pool_, count * sizeof(T), agent()));
    std::memset(memory_.back().get(), 0, count * sizeof(T));
    return static_cast<T*>(memory_.back().get());
  }

  /// A copy of the arguments in kernarg memory.
  template <class Args>
  void* kernarg(const Args& args) {
    memory_.push_back(allocate(kernarg_pool_, sizeof args, agent()));
    std::memcpy(memory_.back().get(), &args, sizeof args);
    return memory_.back().get();
  }

  /// Submits `packet` and waits until it completes or the queue fails.
  template <class Packet>
  testing::AssertionResult run(const Packet& packet) {
    return run_on(queue_, packet);
  }
  template <class Packet>
  testing::AssertionResult run_on(const ScopedQueue& queue, Packet packet) {
    const ScopedSignal done(1);
    packet.completion_signal = done;
    submit(queue.get(), packet);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    const uint64_t slice = ticks(std::chrono::milliseconds(100));
    do {
      if (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, slice, HSA_WAIT_STATE_BLOCKED) == 0)
        return testing::AssertionSuccess();
      if (queue.errors().count != 0)
        return testing::AssertionFailure() << "the queue failed: status " << queue.errors().status;
    } while (std::chrono::steady_clock::now() < deadline);
    return testing::AssertionFailure() << "it never completed";
  }

  hsa_queue_t* queue() const { return queue_.get(); }
  const QueueErrors& errors() const { return queue_.errors(); }

  KernelSet kernels_;
  hsa_amd_memory_pool_t data_pool_{};
  hsa_amd_memory_pool_t kernarg_pool_{};
  std::deque<PoolMemory> memory_;
  ScopedQueue queue_;  // destroyed before the memory
};

}  // namespace conformance
