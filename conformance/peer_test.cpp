// Several GPUs in one process: concurrent kernels, and access to peer memory by copies and kernels. The
// variable HSA_CONFORMANCE_GPUS contains the expected number of GPUs.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/agents.hpp"
#include "support/kernels.hpp"
#include "support/memory.hpp"
#include "support/queues.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

constexpr uint32_t kWords = 10'000;

struct Gpu {
  hsa_agent_t agent{};
  ScopedQueue queue;
  KernelSet kernels;
  PoolMemory local;  // kWords words of local memory
};

class Peers : public HsaTest {
 protected:
  void SetUp() override {
    HsaTest::SetUp();
    if (IsSkipped()) return;
    for (const hsa_agent_t agent : all_agents()) {
      const auto type = agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE);
      if (type == HSA_DEVICE_TYPE_CPU && host_.handle == 0) host_ = agent;
      if (type != HSA_DEVICE_TYPE_GPU) continue;
      std::string reason;
      auto code = find_code_object(agent, reason);
      if (code.empty()) GTEST_SKIP() << reason;
      Gpu& gpu = gpus_.emplace_back();
      gpu.agent = agent;
      gpu.queue.create(agent, 64);
      gpu.kernels.load(agent, std::move(code));
      ASSERT_FALSE(HasFatalFailure());
      gpu.local = allocate(local_pool(agent), kWords * 4, agent);
      ASSERT_NE(gpu.local, nullptr);
    }
    if (const char* wanted = std::getenv("HSA_CONFORMANCE_GPUS")) {
      ASSERT_EQ(gpus_.size(), static_cast<size_t>(std::atoi(wanted)));
    }
    if (gpus_.size() < 2) GTEST_SKIP() << "there are not two GPUs";
    in_ = shared(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    out_ = shared(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  }

  /// Host memory that every GPU reaches.
  uint32_t* shared(uint32_t flag) {
    const auto pool = find_pool(host_, flag);
    EXPECT_TRUE(pool.has_value());
    memory_.push_back(allocate(*pool, kWords * 4, host_));
    allow_all(memory_.back().get());
    return static_cast<uint32_t*>(memory_.back().get());
  }
  void allow_all(void* memory) {
    std::vector<hsa_agent_t> agents;
    for (const Gpu& gpu : gpus_) agents.push_back(gpu.agent);
    EXPECT_HSA(
        hsa_amd_agents_allow_access(static_cast<uint32_t>(agents.size()), agents.data(), nullptr, memory));
  }
  template <class Args>
  void* kernarg(const Args& args) {
    auto* const copy = shared(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
    std::memcpy(copy, &args, sizeof args);
    return copy;
  }
  void copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent) {
    const ScopedSignal done(1);
    ASSERT_HSA(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, kWords * 4, 0, nullptr, done));
    ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_LT, 1));
    ASSERT_EQ(done.value(), 0);
  }
  /// Fills `in_` with words that differ for every pair of GPUs, and zeroes `out_`.
  void fill(size_t a, size_t b) {
    for (uint32_t i = 0; i < kWords; ++i) in_[i] = static_cast<uint32_t>(a * 1'000'003 + b * 10'007 + i * 17);
    std::fill(out_, out_ + kWords, 0);
  }
  bool reaches(const Gpu& gpu, const Gpu& other) {
    hsa_amd_memory_pool_access_t access{};
    EXPECT_HSA(hsa_amd_agent_memory_pool_get_info(gpu.agent, local_pool(other.agent),
                                                  HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
    return access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  }

  hsa_agent_t host_{};
  uint32_t* in_ = nullptr;
  uint32_t* out_ = nullptr;
  std::deque<PoolMemory> memory_;
  std::deque<Gpu> gpus_;  // destroyed before the memory
};

TEST_F(Peers, RunKernelsConcurrently) {
  constexpr int kRounds = 5;
  fill(1, 1);
  const ScopedSignal left(static_cast<hsa_signal_value_t>(gpus_.size()) * kRounds);
  std::vector<uint32_t*> results;
  for (int round = 0; round < kRounds; ++round) {
    for (Gpu& gpu : gpus_) {
      results.push_back(shared(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED));
      auto packet = dispatch_packet(gpu.kernels.kernel("scale"),
                                    kernarg(ScaleArgs{in_, results.back(), kWords, 0}), kWords, 256);
      packet.completion_signal = left;
      submit(gpu.queue.get(), packet);
    }
  }
  ASSERT_TRUE(wait_for(left, HSA_SIGNAL_CONDITION_EQ, 0)) << left.value() << " left";
  for (const uint32_t* result : results) {
    for (uint32_t i = 0; i < kWords; ++i) ASSERT_EQ(result[i], in_[i] * 3) << i;
  }
}

// A chain of kernels and copies through all GPUs, each waiting for the previous one, while another thread
// makes the runtime calibrate clocks. No step starts before the previous one has ended, whichever clock
// recorded it.
TEST_F(Peers, TimestampsFollowOrderOfExecution) {
  constexpr int kRounds = 20;
  fill(1, 1);
  for (Gpu& gpu : gpus_) ASSERT_HSA(hsa_amd_profiling_set_profiler_enabled(gpu.queue.get(), 1));
  ASSERT_HSA(hsa_amd_profiling_async_copy_enable(true));
  struct Step {
    hsa_agent_t agent;
    bool copies;
    ScopedSignal done{1};
    uint64_t start = 0, end = 0;
    void query_times() {
      if (copies) {
        hsa_amd_profiling_async_copy_time_t time{};
        EXPECT_HSA(hsa_amd_profiling_get_async_copy_time(done, &time));
        start = time.start, end = time.end;
      } else {
        hsa_amd_profiling_dispatch_time_t time{};
        EXPECT_HSA(hsa_amd_profiling_get_dispatch_time(agent, done, &time));
        start = time.start, end = time.end;
      }
    }
  };
  std::atomic<bool> stop{false};
  std::thread calibrating([&] {
    while (!stop) {
      for (Gpu& gpu : gpus_) hsa_amd_profiling_set_profiler_enabled(gpu.queue.get(), 1);
    }
  });
  uint64_t last = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::deque<Step> steps;
    for (Gpu& gpu : gpus_) {
      for (const bool copies : {false, true}) {
        const hsa_signal_t before = steps.empty() ? hsa_signal_t{0} : steps.back().done.get();
        Step& step = steps.emplace_back(Step{gpu.agent, copies});
        if (copies) {
          ASSERT_HSA(hsa_amd_memory_async_copy(gpu.local.get(), gpu.agent, in_, host_, kWords * 4, 1, &before,
                                               step.done));
        } else {
          auto wait = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND);
          wait.dep_signal[0] = before;
          submit(gpu.queue.get(), wait);
          auto packet = dispatch_packet(gpu.kernels.kernel("scale"), kernarg(ScaleArgs{in_, out_, kWords, 0}),
                                        kWords, 256);
          packet.header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true);
          packet.completion_signal = step.done;
          submit(gpu.queue.get(), packet);
        }
      }
    }
    if (!wait_for(steps.back().done, HSA_SIGNAL_CONDITION_LT, 1)) {
      ADD_FAILURE() << "the chain never ended";
      break;
    }
    for (Step& step : steps) {
      step.query_times();
      EXPECT_LE(last, step.start) << "round " << round << (step.copies ? ", a copy" : ", a kernel");
      EXPECT_LT(step.start, step.end);
      last = step.end;
    }
    for (Step& step : steps) {
      const uint64_t start = step.start, end = step.end;
      step.query_times();
      EXPECT_EQ(step.start, start);
      EXPECT_EQ(step.end, end);
    }
    memory_.resize(2);
  }
  stop = true;
  calibrating.join();
  EXPECT_HSA(hsa_amd_profiling_async_copy_enable(false));
}

TEST_F(Peers, CopyBetweenAllPairs) {
  size_t pairs = 0;
  for (size_t a = 0; a < gpus_.size(); ++a) {
    for (size_t b = 0; b < gpus_.size(); ++b) {
      if (a == b) continue;
      SCOPED_TRACE("from " + std::to_string(a) + " to " + std::to_string(b));
      fill(a, b);
      copy(gpus_[a].local.get(), gpus_[a].agent, in_, host_);
      // Both agents of a copy need access to both buffers.
      if (!reaches(gpus_[b], gpus_[a]) || !reaches(gpus_[a], gpus_[b])) continue;
      EXPECT_HSA(hsa_amd_agents_allow_access(1, &gpus_[b].agent, nullptr, gpus_[a].local.get()));
      EXPECT_HSA(hsa_amd_agents_allow_access(1, &gpus_[a].agent, nullptr, gpus_[b].local.get()));
      copy(gpus_[b].local.get(), gpus_[b].agent, gpus_[a].local.get(), gpus_[a].agent);
      copy(out_, host_, gpus_[b].local.get(), gpus_[b].agent);
      ASSERT_FALSE(HasFatalFailure());
      ASSERT_TRUE(std::equal(in_, in_ + kWords, out_));
      ++pairs;
    }
  }
  if (pairs == 0) GTEST_SKIP() << "no GPU reaches another's memory";
}

TEST_F(Peers, KernelsReadPeerMemory) {
  size_t pairs = 0;
  for (size_t a = 0; a < gpus_.size(); ++a) {
    for (size_t b = 0; b < gpus_.size(); ++b) {
      if (a == b || !reaches(gpus_[b], gpus_[a])) continue;
      SCOPED_TRACE("by " + std::to_string(b) + " from " + std::to_string(a));
      ++pairs;
      fill(a, b);
      copy(gpus_[a].local.get(), gpus_[a].agent, in_, host_);
      EXPECT_HSA(hsa_amd_agents_allow_access(1, &gpus_[b].agent, nullptr, gpus_[a].local.get()));
      const ScopedSignal done(1);
      auto packet = dispatch_packet(
          gpus_[b].kernels.kernel("scale"),
          kernarg(ScaleArgs{static_cast<uint32_t*>(gpus_[a].local.get()), out_, kWords, 0}), kWords, 256);
      packet.completion_signal = done;
      submit(gpus_[b].queue.get(), packet);
      ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
      for (uint32_t i = 0; i < kWords; ++i) ASSERT_EQ(out_[i], in_[i] * 3) << i;
    }
  }
  if (pairs == 0) GTEST_SKIP() << "no GPU reaches another's memory";
}

}  // namespace
}  // namespace conformance
