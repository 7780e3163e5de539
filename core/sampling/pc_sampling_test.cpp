// Sessions with a driver that delivers samples when the test wants it.
#include "core/sampling/pc_sampling.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/signal/handler_thread.hpp"

namespace rigel {
namespace {

using Sample = perf_sample_hosttrap_v1_t;

constexpr auto kMethod = HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1;
constexpr auto kUnits = HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS;
constexpr size_t kBuffer = 4 * sizeof(Sample);

struct FakeDriver final : SamplingDriver {
  explicit FakeDriver(std::optional<hsadrv_sampler_t>& its_sampler) : sampler(its_sampler) {}
  std::optional<uint32_t> find_gpu(const Agent&) const override { return 7; }  // also of a CPU
  int start(uint32_t gpu, const hsadrv_sampler_t& its_sampler) override {
    EXPECT_EQ(gpu, 7u);
    if (sampler) return -EBUSY;
    sampler = its_sampler;
    return 0;
  }
  int stop(uint32_t) override {
    sampler.reset();
    return 0;
  }
  std::optional<hsadrv_sampler_t>& sampler;
};

// A client that copies all samples, or the number that the test permits.
struct Client {
  std::mutex mutex;
  std::condition_variable called;
  std::vector<std::vector<uint64_t>> calls;  // program counters
  std::vector<size_t> offered;               // samples
  uint64_t lost = 0;
  std::atomic<size_t> most = 1000;    // samples that it copies in a call
  std::function<void()> during_call;  // set before the calls
  std::atomic<bool> was_called = false;

  static void ready(void* self, size_t size, size_t lost, hsa_ven_amd_pcs_data_copy_callback_t copy,
                    void* argument) {
    auto& client = *static_cast<Client*>(self);
    client.was_called = true;
    if (client.during_call) client.during_call();
    std::vector<Sample> samples(std::min(size / sizeof(Sample), client.most.load()));
    if (!samples.empty()) {
      EXPECT_EQ(copy(argument, samples.size() * sizeof(Sample), samples.data()), HSA_STATUS_SUCCESS);
    }
    EXPECT_EQ(copy(argument, size + sizeof(Sample), &client), HSA_STATUS_ERROR_EXCEPTION);
    EXPECT_EQ(copy(argument, 0, nullptr), HSA_STATUS_SUCCESS);
    const std::lock_guard lock(client.mutex);
    client.lost += lost;
    client.offered.push_back(size / sizeof(Sample));
    auto& pcs = client.calls.emplace_back();
    for (const Sample& sample : samples) pcs.push_back(sample.pc);
    client.called.notify_all();
  }
  void wait_for_start() {
    while (!was_called) std::this_thread::yield();
  }
  void wait_for_calls(size_t count) {
    std::unique_lock lock(mutex);
    called.wait(lock, [&] { return calls.size() >= count; });
  }
};

class PcSamplingTest : public ::testing::Test {
 protected:
  PcSamplingTest() {
    Capabilities capabilities;
    capabilities.caps.device_type = HSA_DEVICE_TYPE_GPU;
    gpu_ = machine_.add_agent(Node{}, backend_, host_, std::move(capabilities), std::vector<const Isa*>{})
               .handle();
    cpu_ = machine_.add_agent(Node{}, backend_, host_, Capabilities{}, std::vector<const Isa*>{}).handle();
  }
  hsa_ven_amd_pcs_t create() {
    hsa_ven_amd_pcs_t session{};
    EXPECT_EQ(sampling_.create(gpu_, kMethod, kUnits, 100, 0, kBuffer, Client::ready, &client_, &session),
              HSA_STATUS_SUCCESS);
    return session;
  }
  void deliver(uint64_t first, uint64_t count, uint64_t lost = 0) {
    std::vector<hsadrv_sample_t> samples;
    for (uint64_t i = 0; i < count; ++i) samples.push_back({first + i, ~0ull, 5, {1, 2, 3}, 4});
    ASSERT_TRUE(sampler_.has_value());
    sampler_->take(sampler_->context, samples.data(), count, lost);
  }

  const LoadedBackend backend_;
  const hsabe_host_t host_{};
  Machine machine_;
  hsa_agent_t gpu_{}, cpu_{};
  std::optional<hsadrv_sampler_t> sampler_;
  Client client_;
  PcSampling sampling_{machine_, std::make_unique<FakeDriver>(sampler_)};
};

TEST_F(PcSamplingTest, FullBufferCallsClient) {
  const auto session = create();
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  EXPECT_EQ(sampler_->interval, 100u);
  deliver(10, 3);
  deliver(13, 3, 2);
  client_.wait_for_calls(1);
  EXPECT_EQ(client_.calls[0], (std::vector<uint64_t>{10, 11, 12, 13}));
  EXPECT_EQ(client_.lost, 2u);
  EXPECT_EQ(sampling_.destroy(session), HSA_STATUS_SUCCESS);
  EXPECT_EQ(client_.calls.size(), 1u) << "the rest is lost";
  EXPECT_FALSE(sampler_.has_value()) << "destroy stops";
}

TEST_F(PcSamplingTest, FlushDeliversEverything) {
  const auto session = create();
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 3);
  ASSERT_EQ(sampling_.stop(session), HSA_STATUS_SUCCESS);
  ASSERT_EQ(sampling_.flush(session), HSA_STATUS_SUCCESS);
  ASSERT_EQ(client_.calls.size(), 1u);
  EXPECT_EQ(client_.calls[0], (std::vector<uint64_t>{10, 11, 12}));
  ASSERT_EQ(sampling_.flush(session), HSA_STATUS_SUCCESS);
  EXPECT_EQ(client_.calls.size(), 1u) << "nothing is left";
}

TEST_F(PcSamplingTest, SamplesThatAreNotCopiedAreOfferedAgain) {
  const auto session = create();
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  client_.most = 2;
  deliver(10, 3);
  ASSERT_EQ(sampling_.flush(session), HSA_STATUS_SUCCESS);
  EXPECT_EQ(client_.offered, (std::vector<size_t>{3, 1}));
  EXPECT_EQ(client_.calls[1], (std::vector<uint64_t>{12}));
}

TEST_F(PcSamplingTest, SecondSessionOfGpuIsBusy) {
  const auto first = create(), second = create();
  ASSERT_EQ(sampling_.start(first), HSA_STATUS_SUCCESS);
  EXPECT_EQ(sampling_.start(first), HSA_STATUS_SUCCESS) << "it is already on";
  EXPECT_EQ(sampling_.start(second), static_cast<Status>(HSA_STATUS_ERROR_RESOURCE_BUSY));
  ASSERT_EQ(sampling_.stop(first), HSA_STATUS_SUCCESS);
  EXPECT_EQ(sampling_.start(second), HSA_STATUS_SUCCESS);
}

TEST_F(PcSamplingTest, InvalidArgumentsAreRejected) {
  hsa_ven_amd_pcs_t session{};
  const auto create_with = [&](hsa_agent_t agent, auto units, size_t interval, size_t buffer) {
    return sampling_.create(agent, kMethod, units, interval, 0, buffer, Client::ready, &client_, &session);
  };
  EXPECT_EQ(create_with(cpu_, kUnits, 1, kBuffer), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(create_with(gpu_, HSA_VEN_AMD_PCS_INTERVAL_UNITS_MICRO_SECONDS, 1, kBuffer),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(create_with(gpu_, kUnits, 0, kBuffer), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(create_with(gpu_, kUnits, 1, sizeof(Sample)), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      sampling_.create_from_id(1, gpu_, kMethod, kUnits, 1, 0, kBuffer, Client::ready, &client_, &session),
      HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      sampling_.create_from_id(1, cpu_, kMethod, kUnits, 1, 0, kBuffer, Client::ready, &client_, &session),
      HSA_STATUS_ERROR_INVALID_AGENT);
  for (const auto& call : {&PcSampling::start, &PcSampling::stop, &PcSampling::flush, &PcSampling::destroy})
    EXPECT_EQ((sampling_.*call)({99}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(PcSamplingTest, OnlyGpusAreSupported) {
  EXPECT_TRUE(sampling_.supports(*machine_.find_agent(gpu_)));
  EXPECT_FALSE(sampling_.supports(*machine_.find_agent(cpu_)));
}

TEST_F(PcSamplingTest, SlowClientLosesSamples) {
  const auto session = create();
  client_.most = 0;
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(0, 1000);
  client_.wait_for_calls(1);
  client_.most = 1000;
  ASSERT_EQ(sampling_.flush(session), HSA_STATUS_SUCCESS);
  uint64_t copied = 0;
  for (const auto& call : client_.calls) copied += call.size();
  EXPECT_EQ(copied + client_.lost, 1000u);
  EXPECT_GT(client_.lost, 0u);
}

TEST_F(PcSamplingTest, SessionCallsOnThreadOfRuntime) {
  const auto session = create();
  bool is_handler = false, takes_signals = true;
  std::string name(16, '\0');
  client_.during_call = [&] {
    is_handler = is_handler_thread();
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    takes_signals = sigismember(&blocked, SIGTERM) == 0;
    pthread_getname_np(pthread_self(), name.data(), name.size());
  };
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 4);
  client_.wait_for_calls(1);
  EXPECT_EQ(sampling_.destroy(session), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(is_handler) << "hsa_init of the client would wait for the shutdown, which waits for the client";
  EXPECT_FALSE(takes_signals);
  EXPECT_STREQ(name.c_str(), "hsa-sampling");
}

TEST_F(PcSamplingTest, DestroyWaitsForFlush) {
  const auto session = create();
  client_.most = 1;
  std::atomic<bool> is_destroyed = false;
  bool is_called_afterwards = false;
  client_.during_call = [&] {
    if (client_.calls.empty()) {
      while (sampling_.stop(session) == HSA_STATUS_SUCCESS)
        std::this_thread::yield();                                 // it is being destroyed
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // only an incorrect destroy returns now
    }
    is_called_afterwards |= is_destroyed;
  };
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 3);
  std::thread flushing([&] { sampling_.flush(session); });
  client_.wait_for_start();
  EXPECT_EQ(sampling_.destroy(session), HSA_STATUS_SUCCESS);
  is_destroyed = true;
  flushing.join();
  EXPECT_FALSE(is_called_afterwards);
}

TEST_F(PcSamplingTest, ClientIsNotCalledAfterEnd) {
  const auto session = create();
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 3);
  sampling_.end();
  EXPECT_FALSE(sampler_.has_value());
  EXPECT_EQ(sampling_.flush(session), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(client_.calls.empty());
}

TEST_F(PcSamplingTest, ExceptionOfClientLosesItsSamples) {
  const auto session = create();
  int calls = 0;
  client_.during_call = [&] {
    if (++calls == 1) throw std::runtime_error("of the test");
  };
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 4, 2);
  deliver(14, 4);
  client_.wait_for_calls(1);
  EXPECT_EQ(client_.calls[0], (std::vector<uint64_t>{14, 15, 16, 17}));
  EXPECT_EQ(client_.lost, 6u);
}

TEST_F(PcSamplingTest, SamplesThatArriveDuringFlushAreLeftToSession) {
  const auto session = create();
  client_.during_call = [&] {
    if (client_.calls.size() < 3) deliver(20, 1);
  };
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 3);
  ASSERT_EQ(sampling_.flush(session), HSA_STATUS_SUCCESS);
  EXPECT_EQ(client_.calls, (std::vector<std::vector<uint64_t>>{{10, 11, 12}}));
}

TEST_F(PcSamplingTest, SamplesThatArriveDuringRefusedCallAreOffered) {
  const auto session = create();
  client_.most = 0;
  client_.during_call = [&] {
    if (client_.most == 0) deliver(14, 1);
    client_.most = client_.offered.empty() ? 0 : 1000;
  };
  ASSERT_EQ(sampling_.start(session), HSA_STATUS_SUCCESS);
  deliver(10, 4);
  client_.wait_for_calls(2);
  EXPECT_EQ(client_.calls[1], (std::vector<uint64_t>{10, 11, 12, 13}));
}

}  // namespace
}  // namespace rigel
