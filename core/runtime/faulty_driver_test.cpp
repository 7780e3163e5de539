// The runtime on a driver whose operations fail one after the other. hsa_init returns a documented status or
// omits GPUs, without hangs and leaks, and the next hsa_init works.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <hsa_plugin/kfd_abi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/testing/faulty_driver.hpp"
#include "core/runtime/testing/test_machine.hpp"

namespace {

using rigel::testing::coarse_pool;
using rigel::testing::FaultyDriver;
using rigel::testing::TestMachine;

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

testing::AssertionResult is_documented(hsa_status_t status) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_ERROR_OUT_OF_RESOURCES)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "status " << std::hex << status;
}

class FaultInjection : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv("HSA_DRIVER", RIGEL_FAULTY_DRIVER, 1);
    void* const module = dlopen(RIGEL_FAULTY_DRIVER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(module, nullptr) << dlerror();
    driver_ = static_cast<FaultyDriver*>(dlsym(module, "faulty_driver"));
    ASSERT_NE(driver_, nullptr);
    driver_->heal();
  }
  void TearDown() override {
    if (driver_ == nullptr) return;
    driver_->heal();
    driver_->can_retry = driver_->retries = driver_->lacks_atomics = 0;
  }

  /// Uses memory, copies, queues and signals of every GPU. Failures must have documented statuses.
  void use(const TestMachine& machine) {
    for (const hsa_agent_t gpu : machine.gpus) {
      use_memory(gpu);
      use_queue(gpu);
    }
  }

  void use_memory(hsa_agent_t gpu) {
    constexpr size_t kBytes = 3 << 20;
    void* local = nullptr;
    const hsa_status_t status = hsa_amd_memory_pool_allocate(coarse_pool(gpu), kBytes, 0, &local);
    EXPECT_TRUE(is_documented(status));
    if (status != HSA_STATUS_SUCCESS) return;
    std::vector<char> from(kBytes, 'a'), to(kBytes);
    if (hsa_memory_copy(local, from.data(), kBytes) == HSA_STATUS_SUCCESS &&
        hsa_memory_copy(to.data(), local, kBytes) == HSA_STATUS_SUCCESS) {
      EXPECT_EQ(from, to);
    }
    void* seen = nullptr;
    const hsa_status_t locked = hsa_amd_memory_lock(from.data(), kBytes, &gpu, 1, &seen);
    EXPECT_TRUE(is_documented(locked));
    if (locked == HSA_STATUS_SUCCESS) {
      EXPECT_EQ(hsa_amd_memory_unlock(from.data()), HSA_STATUS_SUCCESS);
    }
    EXPECT_EQ(hsa_amd_memory_pool_free(local), HSA_STATUS_SUCCESS);
  }

  void use_queue(hsa_agent_t gpu) {
    hsa_queue_t* queue = nullptr;
    const hsa_status_t status =
        hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue);
    EXPECT_TRUE(is_documented(status));
    if (status != HSA_STATUS_SUCCESS) return;
    hsa_signal_t done{};
    EXPECT_EQ(hsa_signal_create(1, 0, nullptr, &done), HSA_STATUS_SUCCESS);
    rigel::testing::submit_barrier(queue, {0}, done);
    EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
              0);
    EXPECT_EQ(hsa_signal_destroy(done), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  }

  /// Checks that the expected number of GPUs works.
  void expect_healthy(size_t gpus) {
    driver_->heal();
    const TestMachine machine(GetParam());
    ASSERT_EQ(machine.status, HSA_STATUS_SUCCESS);
    ASSERT_EQ(machine.gpus.size(), gpus);
    for (const hsa_agent_t gpu : machine.gpus) EXPECT_TRUE(rigel::testing::runs_a_barrier(gpu));
    use(machine);
  }

  size_t count_gpus() {
    const TestMachine machine(GetParam());
    return machine.gpus.size();
  }

  FaultyDriver* driver_ = nullptr;
};

TEST_P(FaultInjection, InitSucceedsAfterAnyFailure) {
  const size_t gpus = count_gpus();
  ASSERT_GT(gpus, 0u);
  expect_healthy(gpus);
  const size_t files = open_files();
  uint32_t least = UINT32_MAX;
  for (uint32_t first = 1; first < 2000; ++first) {
    SCOPED_TRACE("operation " + std::to_string(first));
    driver_->fail(first);
    {
      const TestMachine machine(GetParam());
      EXPECT_TRUE(is_documented(machine.status));
      least = std::min(least, static_cast<uint32_t>(machine.gpus.size()));
      use(machine);
    }
    if (driver_->failed == 0) break;
    SCOPED_TRACE("which was " + std::to_string(driver_->failed));
    if (first % 8 == 0) expect_healthy(gpus);
    ASSERT_EQ(open_files(), files);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(driver_->failed, 0u) << "there are more operations than were tried";
  EXPECT_LT(least, gpus) << "no failure was one";
  expect_healthy(gpus);
}

TEST_P(FaultInjection, InitSucceedsAfterDriverFailuresEnd) {
  const size_t gpus = count_gpus();
  expect_healthy(gpus);
  const size_t files = open_files();
  for (uint32_t first = 1; first < 2000; first = first * 9 / 8 + 1) {
    SCOPED_TRACE("operation " + std::to_string(first));
    driver_->fail(first, UINT32_MAX);
    {
      const TestMachine machine(GetParam());
      EXPECT_TRUE(is_documented(machine.status));
      use(machine);
    }
    if (driver_->failed == 0) break;
    expect_healthy(gpus);
    ASSERT_EQ(open_files(), files);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(FaultInjection, HasNoGpusWithoutEvents) {
  const size_t gpus = count_gpus();
  driver_->fail(1, UINT32_MAX, KFD_NR_CREATE_EVENT, ENOSPC);
  {
    const TestMachine machine(GetParam());
    EXPECT_EQ(machine.status, HSA_STATUS_SUCCESS);
    EXPECT_TRUE(machine.gpus.empty());
    EXPECT_FALSE(machine.hosts.empty());
  }
  expect_healthy(gpus);
}

// A lost wake-up hangs, which the time limit of the test reports.
TEST_P(FaultInjection, WaitContinuesAfterOutOfMemory) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  hsa_queue_t* const queue = rigel::testing::make_queue(machine.gpus[0]);
  hsa_signal_t gate{}, done{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &gate), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &done), HSA_STATUS_SUCCESS);
  for (int turn = 0; turn < 3; ++turn) {
    hsa_signal_store_relaxed(gate, 1);
    hsa_signal_store_relaxed(done, 1);
    driver_->fail(1, 4, KFD_NR_WAIT_EVENTS);
    rigel::testing::submit_barrier(queue, gate, done);
    std::thread opener([&] {
      // The thread is asleep by then, and its call of the driver has failed.
      while (driver_->operations <= 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      hsa_signal_store_screlease(gate, 0);
    });
    EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
              0);
    opener.join();
    EXPECT_EQ(driver_->failed, uint32_t{KFD_NR_WAIT_EVENTS});
  }
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_destroy(gate), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_destroy(done), HSA_STATUS_SUCCESS);
}

TEST_P(FaultInjection, CopiesWithoutQueues) {
  const size_t gpus = count_gpus();
  driver_->fail(1, UINT32_MAX, KFD_NR_CREATE_QUEUE, ENOSPC);
  {
    const TestMachine machine(GetParam());
    ASSERT_EQ(machine.gpus.size(), gpus);
    for (const hsa_agent_t gpu : machine.gpus) {
      hsa_queue_t* queue = nullptr;
      EXPECT_EQ(
          hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue),
          HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    }
    use(machine);
    driver_->heal();
    for (const hsa_agent_t gpu : machine.gpus) EXPECT_TRUE(rigel::testing::runs_a_barrier(gpu));
  }
  expect_healthy(gpus);
}

// An engine could not report the end of a copy.
TEST_P(FaultInjection, CopiesWithKernelsWithoutAtomicsToHost) {
  const rigel::testing::Variable engines("HSA_ENABLE_SDMA", "1");
  for (const bool lacks : {false, true}) {
    SCOPED_TRACE(lacks);
    driver_->lacks_atomics = lacks;
    driver_->copy_queues = 0;
    const TestMachine machine(GetParam());
    ASSERT_FALSE(machine.gpus.empty());
    use(machine);
    EXPECT_EQ(driver_->copy_queues == 0, lacks);
  }
}

TEST_P(FaultInjection, RequestsMemoryOfAllocationsKind) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  const hsa_agent_t gpu = machine.gpus[0];
  const hsa_amd_memory_pool_t pool = coarse_pool(gpu), host = coarse_pool(machine.hosts.at(0));
  constexpr uint32_t kKinds = KFD_MEM_COHERENT | KFD_MEM_UNCACHED | KFD_MEM_CONTIGUOUS;
  const auto kind_of_last = [&] { return driver_->memory_flags.exchange(0) & kKinds; };
  const struct {
    uint32_t flags, kind;
  } expected[] = {
      {HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG, KFD_MEM_CONTIGUOUS},
      {HSA_AMD_MEMORY_POOL_PCIE_FLAG, KFD_MEM_COHERENT},
      {HSA_AMD_MEMORY_POOL_UNCACHED_FLAG, KFD_MEM_COHERENT | KFD_MEM_UNCACHED},
      {HSA_AMD_MEMORY_POOL_UNCACHED_FLAG | HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG, kKinds},
  };
  for (const auto& [flags, kind] : expected) {
    void* memory = nullptr;
    ASSERT_EQ(hsa_amd_memory_pool_allocate(pool, 4096, flags, &memory), HSA_STATUS_SUCCESS);
    EXPECT_EQ(kind_of_last(), kind) << "for flags " << flags;
    EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  }

  // The driver receives host memory when the first GPU gets access.
  void* memory = nullptr;
  ASSERT_EQ(hsa_amd_memory_pool_allocate(host, 4096, HSA_AMD_MEMORY_POOL_UNCACHED_FLAG, &memory),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(kind_of_last(), KFD_MEM_COHERENT | KFD_MEM_UNCACHED);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_pool_allocate(host, 2 << 20, 0, &memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(kind_of_last(), 0u) << "what was uncached is not used again for others";
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);

  hsa_amd_vmem_alloc_handle_t handle{};
  ASSERT_EQ(
      hsa_amd_vmem_handle_create(pool, 2 << 20, MEMORY_TYPE_NONE, HSA_AMD_MEMORY_POOL_UNCACHED_FLAG, &handle),
      HSA_STATUS_SUCCESS);
  EXPECT_EQ(kind_of_last(), KFD_MEM_COHERENT | KFD_MEM_UNCACHED);
  EXPECT_EQ(hsa_amd_vmem_handle_release(handle), HSA_STATUS_SUCCESS);
}

TEST_P(FaultInjection, RetriesFaultsAsConfigured) {
  const auto check = [&](const char* wanted, bool is_on) {
    SCOPED_TRACE(wanted);
    const rigel::testing::Variable xnack("HSA_XNACK", wanted);
    const TestMachine machine(GetParam());
    ASSERT_FALSE(machine.gpus.empty());
    bool enabled = !is_on;
    EXPECT_EQ(
        hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_XNACK_ENABLED), &enabled),
        HSA_STATUS_SUCCESS);
    EXPECT_EQ(enabled, is_on);
    for (const hsa_agent_t gpu : machine.gpus) {
      const std::string isa = rigel::testing::isa_name(gpu);
      if (isa.find("xnack") == isa.npos) continue;  // not supported by this chip
      EXPECT_NE(isa.find(is_on ? "xnack+" : "xnack-"), isa.npos) << isa;
    }
    use(machine);
  };
  driver_->can_retry = 1;
  check("", false);
  check("1", true);
  EXPECT_EQ(driver_->retries, 1);
  check("", true);  // the driver's setting applies
  check("maybe", true);
  check("0", false);
  EXPECT_EQ(driver_->retries, 0);
  driver_->can_retry = 0;
  check("1", false);  // rejected
}

// hsa_shut_down waits for the client, so hsa_init must not wait for hsa_shut_down.
TEST_P(FaultInjection, SamplingClientMayInitialiseDuringLastShutDown) {
  struct Meeting {
    std::atomic<bool> has_begun = false;
    std::atomic<hsa_status_t> status = HSA_STATUS_SUCCESS;
  } meeting;
  const auto ready = [](void* data, size_t, size_t, hsa_ven_amd_pcs_data_copy_callback_t, void*) {
    auto& own = *static_cast<Meeting*>(data);
    own.has_begun = true;
    uint16_t major = 0;
    while (hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major) == HSA_STATUS_SUCCESS)
      std::this_thread::yield();
    own.status = hsa_init();
  };
  {
    const TestMachine machine(GetParam());
    ASSERT_FALSE(machine.gpus.empty());
    hsa_ven_amd_pc_sampling_1_00_pfn_t api{};
    ASSERT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_PC_SAMPLING, 1, sizeof api, &api),
              HSA_STATUS_SUCCESS);
    hsa_ven_amd_pcs_t session{};
    ASSERT_EQ(api.hsa_ven_amd_pcs_create(machine.gpus[0], HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1,
                                         HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS, 1, 0,
                                         2 * sizeof(perf_sample_hosttrap_v1_t), ready, &meeting, &session),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(api.hsa_ven_amd_pcs_start(session), HSA_STATUS_SUCCESS);
    const hsadrv_sample_t samples[2] = {};
    driver_->sampler.take(driver_->sampler.context, samples, 2, 0);
    while (!meeting.has_begun) std::this_thread::yield();
  }
  EXPECT_EQ(meeting.status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

INSTANTIATE_TEST_SUITE_P(All, FaultInjection,
                         testing::Values("gfx803:vram=128M", "gfx900:vram=128M", "gfx1030:vram=128M",
                                         "gfx906:vram=128M,gfx1010:vram=128M"),
                         rigel::testing::board_test_name);

}  // namespace
