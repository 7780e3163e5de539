// The GPUs that run litmus kernels, with memory that all of them and the host can access.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "support/agents.hpp"
#include "support/kernels.hpp"
#include "support/memory.hpp"
#include "support/queues.hpp"
#include "support/session.hpp"
#include "support/signals.hpp"

namespace conformance {

/// Created once per test suite. *Threads:* one.
class Machine {
 public:
  struct Gpu {
    hsa_agent_t agent{};
    uint32_t wave = 0;
    KernelSet kernels;
    std::deque<ScopedQueue> queues;
  };

  /// If the tests cannot run, missing() is the reason.
  Machine() {
    if (session_.status() != HSA_STATUS_SUCCESS) {
      missing_ = std::string("hsa_init returned ") + status_name(session_.status());
      return;
    }
    for (const hsa_agent_t agent : all_agents()) {
      const auto type = agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE);
      if (type == HSA_DEVICE_TYPE_CPU && host_.handle == 0) host_ = agent;
      if (type == HSA_DEVICE_TYPE_GPU) open(agent);
    }
    if (gpus_.empty() && missing_.empty()) missing_ = "there is no GPU";
    if (!missing_.empty()) return;
    const auto data = find_pool(host_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    const auto kernarg = find_pool(host_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
    if (!data || !kernarg) {
      missing_ = "the host has no fine-grained pool, or none for arguments";
      return;
    }
    data_pool_ = *data, kernarg_pool_ = *kernarg;
  }

  const std::string& missing() const { return missing_; }
  std::deque<Gpu>& gpus() { return gpus_; }
  hsa_agent_t host() const { return host_; }

  /// Memory that all GPUs and the host can access, with every word set to `value`.
  class Words {
   public:
    Words() = default;
    Words(Machine& machine, size_t count, uint32_t value, bool is_kernarg = false)
        : memory_(
              allocate(is_kernarg ? machine.kernarg_pool_ : machine.data_pool_, count * 4, machine.host_)) {
      std::vector<hsa_agent_t> agents;
      for (const Gpu& gpu : machine.gpus_) agents.push_back(gpu.agent);
      EXPECT_HSA(hsa_amd_agents_allow_access(static_cast<uint32_t>(agents.size()), agents.data(), nullptr,
                                             memory_.get()));
      for (size_t i = 0; i < count; ++i) get()[i] = value;
    }
    uint32_t* get() const { return static_cast<uint32_t*>(memory_.get()); }
    uint32_t operator[](size_t i) const { return get()[i]; }

   private:
    PoolMemory memory_;
  };

  template <class Args>
  Words kernarg(const Args& args) {
    Words words(*this, (sizeof args + 3) / 4, 0, true);
    std::memcpy(words.get(), &args, sizeof args);
    return words;
  }

  /// Returns queue `index` of a GPU. Creates it on first use.
  ScopedQueue& queue(Gpu& gpu, size_t index) {
    while (gpu.queues.size() <= index) gpu.queues.emplace_back().create(gpu.agent, 64);
    return gpu.queues[index];
  }

 private:
  void open(hsa_agent_t agent) {
    std::string reason;
    auto code = find_code_object(agent, reason, "_litmus");
    if (code.empty()) {
      missing_ = reason;
      return;
    }
    Gpu& gpu = gpus_.emplace_back();
    gpu.agent = agent;
    gpu.wave = agent_info<uint32_t>(agent, HSA_AGENT_INFO_WAVEFRONT_SIZE);
    gpu.kernels.load(agent, std::move(code));
  }

  Session session_;
  std::string missing_;
  hsa_agent_t host_{};
  hsa_amd_memory_pool_t data_pool_{}, kernarg_pool_{};
  std::deque<Gpu> gpus_;
};

/// A fixture with the GPUs. LITMUS_TIMES=n repeats each test n times.
class LitmusTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { machine_ = std::make_unique<Machine>(); }
  static void TearDownTestSuite() { machine_.reset(); }
  void SetUp() override {
    if (!machine_->missing().empty()) GTEST_SKIP() << machine_->missing();
  }
  static Machine& machine() { return *machine_; }
  static unsigned times() {
    const char* const times = std::getenv("LITMUS_TIMES");
    return times == nullptr ? 4 : static_cast<unsigned>(std::max(1, std::atoi(times)));
  }

 private:
  static inline std::unique_ptr<Machine> machine_;
};

}  // namespace conformance
