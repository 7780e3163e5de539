// Devices that only their backend finds, through the public API: use of their memory, which the host cannot
// access, and devices that violate the contract.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa_backend/hsa_backend.h>
#include <hsa_plugin/kfd_abi.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/testing/test_machine.hpp"
#include "loader/module/testing/manifests.hpp"

namespace {

using Bytes = std::vector<unsigned char>;
using rigel::testing::coarse_pool;

Bytes noise(size_t size) {
  Bytes bytes(size);
  uint32_t state = 1;
  for (auto& byte : bytes) byte = static_cast<unsigned char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

/// The runtime with the test's backend, whose options are members of a JSON object.
class OwnDevices : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "rigel-own-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("HSA_ADD_BACKEND_MANIFESTS", folder_.c_str(), 1);
  }
  void TearDown() override {
    if (running_) stop();
    ::unsetenv("HSA_ADD_BACKEND_MANIFESTS");
    std::filesystem::remove_all(folder_);
  }

  void configure(const std::string& options, const std::string& claims = R"({"bus": "own"})") {
    std::ofstream(folder_ / "own.json") << rigel::manifest_text(
        "own", RIGEL_OWN_BACKEND, R"(, "priority": 200, "config": {)" + options + "}", claims);
  }

  void start(const std::string& options) {
    configure(options);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    running_ = true;
    hosts.clear();
    devices.clear();
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* self) {
          hsa_device_type_t type{};
          hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
          auto& test = *static_cast<OwnDevices*>(self);
          (type == HSA_DEVICE_TYPE_CPU ? test.hosts : test.devices).push_back(agent);
          return HSA_STATUS_SUCCESS;
        },
        this);
    ASSERT_FALSE(hosts.empty());
  }

  void stop() {
    running_ = false;
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  }

  static unsigned char* allocate(hsa_agent_t agent, size_t size) {
    void* block = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(agent), size, 0, &block), HSA_STATUS_SUCCESS);
    return static_cast<unsigned char*>(block);
  }

  static Bytes contents(const unsigned char* block, size_t size) {
    Bytes bytes(size);
    EXPECT_EQ(hsa_memory_copy(bytes.data(), block, size), HSA_STATUS_SUCCESS);
    return bytes;
  }

  static hsa_amd_memory_pool_access_t access(hsa_agent_t agent, hsa_agent_t owner) {
    hsa_amd_memory_pool_access_t value{};
    EXPECT_EQ(hsa_amd_agent_memory_pool_get_info(agent, coarse_pool(owner),
                                                 HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value),
              HSA_STATUS_SUCCESS);
    return value;
  }

  static std::string report() {
    hsa_ven_rigel_report_1_pfn_t table{};
    EXPECT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof table, &table),
              HSA_STATUS_SUCCESS);
    std::string lines;
    const auto take = [](const char* text, size_t, void* data) {
      *static_cast<std::string*>(data) = text;
      return HSA_STATUS_SUCCESS;
    };
    EXPECT_EQ(table.hsa_ven_rigel_discovery_report(HSA_VEN_RIGEL_REPORT_TEXT, take, &lines),
              HSA_STATUS_SUCCESS);
    return lines;
  }

  static constexpr uint64_t kAll = 64 << 20;  // bytes of a device

  static uint64_t left(hsa_agent_t device) {
    uint64_t bytes = 0;
    EXPECT_EQ(
        hsa_agent_get_info(device, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL), &bytes),
        HSA_STATUS_SUCCESS);
    return bytes;
  }

  // Test function that the backend calls, set by an option.
  using Hook = void (*)(const hsabe_host_t* host);
  static std::string hook(const std::string& name, Hook function) {
    return '"' + name + "\": " + std::to_string(reinterpret_cast<uintptr_t>(function));
  }

  std::vector<hsa_agent_t> hosts, devices;

 protected:
  std::filesystem::path folder_;
  bool running_ = false;
};

TEST_F(OwnDevices, BackendCopiesMemory) {
  constexpr size_t kSize = (9 << 20) + 5;
  start(R"("devices": 2)");
  ASSERT_EQ(devices.size(), 2u);
  const Bytes written = noise(kSize);
  unsigned char* const first = allocate(devices[0], kSize);
  unsigned char* const second = allocate(devices[0], kSize);
  unsigned char* const elsewhere = allocate(devices[1], kSize);
  ASSERT_EQ(hsa_memory_copy(first, written.data(), kSize), HSA_STATUS_SUCCESS);
  EXPECT_EQ(contents(first, kSize), written);
  EXPECT_EQ(hsa_memory_copy(second, first, kSize), HSA_STATUS_SUCCESS) << "within the device";
  EXPECT_EQ(contents(second, kSize), written);
  EXPECT_EQ(hsa_memory_copy(elsewhere, second, kSize), HSA_STATUS_SUCCESS) << "to another";
  EXPECT_EQ(contents(elsewhere, kSize), written);
}

TEST_F(OwnDevices, BackendCopiesAfterDependencies) {
  constexpr size_t kSize = 1 << 20;
  start("");
  ASSERT_EQ(devices.size(), 1u);
  const Bytes written = noise(kSize);
  Bytes back(kSize);
  unsigned char* const block = allocate(devices[0], kSize);
  hsa_signal_t go{}, there{}, done{};
  for (hsa_signal_t* const signal : {&go, &there, &done})
    ASSERT_EQ(hsa_signal_create(1, 0, nullptr, signal), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_async_copy(block, devices[0], written.data(), hosts[0], kSize, 1, &go, there),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_async_copy(back.data(), hosts[0], block, devices[0], kSize, 1, &there, done),
            HSA_STATUS_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(hsa_signal_load_scacquire(there), 1);
  hsa_signal_store_screlease(go, 0);
  EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
            0);
  EXPECT_EQ(back, written);
  for (const hsa_signal_t signal : {go, there, done}) hsa_signal_destroy(signal);
}

TEST_F(OwnDevices, BackendFillsMemory) {
  constexpr size_t kWords = 100'000;
  start("");
  ASSERT_EQ(devices.size(), 1u);
  unsigned char* const block = allocate(devices[0], 4 * kWords);
  ASSERT_EQ(hsa_amd_memory_fill(block, 0x07070707, kWords), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_fill(block + 4, 0x05050505, kWords - 2), HSA_STATUS_SUCCESS);
  Bytes expected(4 * kWords, 5);
  for (size_t i = 0; i < 4; ++i) expected[i] = expected[4 * kWords - 1 - i] = 7;
  EXPECT_EQ(contents(block, 4 * kWords), expected);
}

TEST_F(OwnDevices, BackendCopiesBoxes) {
  start("");
  ASSERT_EQ(devices.size(), 1u);
  constexpr size_t kWidth = 48, kHeight = 10, kDepth = 2, kTargetPitch = 128, kSourcePitch = 64;
  constexpr size_t kTargetSlice = 16 * kTargetPitch, kSourceSlice = 12 * kSourcePitch;
  Bytes from = noise(kDepth * kSourceSlice);
  unsigned char* const block = allocate(devices[0], kDepth * kTargetSlice);
  ASSERT_EQ(hsa_amd_memory_fill(block, 0, kDepth * kTargetSlice / 4), HSA_STATUS_SUCCESS);
  const hsa_pitched_ptr_t target{block, kTargetPitch, kTargetSlice},
      source{from.data(), kSourcePitch, kSourceSlice};
  const hsa_dim3_t origin{0, 0, 0}, range{kWidth, kHeight, kDepth};
  hsa_signal_t done{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &done), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_async_copy_rect(&target, &origin, &source, &origin, &range, devices[0],
                                           hsaHostToDevice, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
            0);
  hsa_signal_destroy(done);
  Bytes expected(kDepth * kTargetSlice);
  for (size_t z = 0; z < kDepth; ++z) {
    for (size_t y = 0; y < kHeight; ++y)
      std::copy_n(&from[z * kSourceSlice + y * kSourcePitch], kWidth,
                  &expected[z * kTargetSlice + y * kTargetPitch]);
  }
  EXPECT_EQ(contents(block, expected.size()), expected);
}

TEST_F(OwnDevices, InvisibleMemoryIsNotShared) {
  start(R"("devices": 2)");
  ASSERT_EQ(devices.size(), 2u);
  unsigned char* const block = allocate(devices[0], 4096);
  EXPECT_EQ(access(devices[0], devices[0]), HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT);
  for (const hsa_agent_t other : {hosts[0], devices[1]}) {
    EXPECT_EQ(access(other, devices[0]), HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
    EXPECT_EQ(hsa_amd_agents_allow_access(1, &other, nullptr, block), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
}

TEST_F(OwnDevices, VisibleMemoryIsSharedWithHost) {
  start(R"("devices": 2, "visible": true)");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(access(hosts[0], devices[0]), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
  unsigned char* const theirs = allocate(devices[0], 4096);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, hosts.data(), nullptr, theirs), HSA_STATUS_SUCCESS);
  unsigned char* const ours = allocate(hosts[0], 4096);
  for (const hsa_agent_t device : devices) {
    EXPECT_EQ(access(device, hosts[0]), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
    EXPECT_EQ(hsa_amd_agents_allow_access(1, &device, nullptr, ours), HSA_STATUS_SUCCESS);
    hsa_agent_t nearest{};
    EXPECT_EQ(
        hsa_agent_get_info(device, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_NEAREST_CPU), &nearest),
        HSA_STATUS_SUCCESS);
    EXPECT_EQ(nearest.handle, hosts[0].handle);
  }
}

TEST_F(OwnDevices, FineGrainedMemoryIsSharedWithHost) {
  start(R"("visible": true, "fine": true)");
  ASSERT_EQ(devices.size(), 1u);
  const auto take = [](hsa_amd_memory_pool_t found, void* pool) {
    *static_cast<hsa_amd_memory_pool_t*>(pool) = found;
    return HSA_STATUS_INFO_BREAK;
  };
  hsa_amd_memory_pool_t pool{};
  ASSERT_EQ(hsa_amd_agent_iterate_memory_pools(devices[0], take, &pool), HSA_STATUS_INFO_BREAK);
  void* block = nullptr;
  ASSERT_EQ(hsa_amd_memory_pool_allocate(pool, 4096, 0, &block), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, hosts.data(), nullptr, block), HSA_STATUS_SUCCESS);
}

TEST_F(OwnDevices, CopyOfHostMemoryChecksAccess) {
  constexpr size_t kSize = 64 << 10;
  start("");
  ASSERT_EQ(devices.size(), 1u);
  const Bytes written = noise(kSize);
  Bytes back(kSize);
  hsa_signal_t done{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &done), HSA_STATUS_SUCCESS);
  ASSERT_EQ(
      hsa_amd_memory_async_copy(back.data(), hosts[0], written.data(), devices[0], kSize, 0, nullptr, done),
      HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
            0);
  EXPECT_EQ(back, written);
  hsa_signal_destroy(done);

  void* nobodys = nullptr;
  ASSERT_EQ(hsa_amd_vmem_address_reserve(&nobodys, kSize, 0, 0), HSA_STATUS_SUCCESS);
  unsigned char* const block = allocate(devices[0], kSize);
  EXPECT_EQ(hsa_memory_copy(block, nobodys, kSize), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_memory_copy(nobodys, block, kSize), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_vmem_address_free(nobodys, kSize), HSA_STATUS_SUCCESS);
}

TEST_F(OwnDevices, SurplusDevicesAreSkipped) {
  start(R"("devices": 300)");
  EXPECT_EQ(hosts.size() + devices.size(), 256u);
  EXPECT_EQ(left(devices.back()), kAll);
}

TEST_F(OwnDevices, ReportsAvailableMemory) {
  constexpr uint64_t kSize = 40 << 20;
  start("");
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(left(devices[0]), kAll);
  unsigned char* const block = allocate(devices[0], kSize);
  EXPECT_EQ(left(devices[0]), kAll - kSize);
  EXPECT_EQ(hsa_amd_memory_pool_free(block), HSA_STATUS_SUCCESS);
  EXPECT_EQ(left(devices[0]), kAll);
}

TEST_F(OwnDevices, CodeIsInDeviceMemory) {
  for (const char* const options : {R"("kernels": true)", R"("kernels": true, "visible": true)"}) {
    ASSERT_NO_FATAL_FAILURE(start(options));
    ASSERT_EQ(devices.size(), 1u);
    const int file = ::open(RIGEL_TEST_KERNELS, O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    ASSERT_EQ(hsa_code_object_reader_create_from_file(file, &reader), HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                        &executable),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_executable_load_agent_code_object(executable, devices[0], reader, nullptr, nullptr),
              HSA_STATUS_SUCCESS);
    EXPECT_LT(left(devices[0]), kAll);
    EXPECT_EQ(hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
    EXPECT_EQ(left(devices[0]), kAll);
    EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
    ::close(file);
    stop();
  }
}

TEST_F(OwnDevices, DevicesOfThrowingBackendAreSkipped) {
  for (const std::string function : {"enumerate", "select", "open"}) {
    ASSERT_NO_FATAL_FAILURE(start(R"("devices": 2, "throws": ")" + function + '"'));
    EXPECT_EQ(devices.size(), function == "enumerate" ? 0u : 1u) << function;
    EXPECT_THAT(report(),
                testing::HasSubstr("own: " + function +
                                   "() failed with status 0x1000: threw an exception: as it was told"));
    stop();
  }
}

// --- What a backend may do while it opens a device ---------------------------------------------------------

TEST_F(OwnDevices, OpenCanUseServices) {
  static std::atomic<int> opened;
  opened = 0;
  start(hook("on_open", [](const hsabe_host_t* host) {
    host->events->queue_error(host->self, 1, HSA_STATUS_ERROR);
    hsabe_scratch_event_t event{};
    event.struct_size = sizeof event;
    event.queue_cookie = 1;
    host->events->scratch(host->self, &event);
    EXPECT_EQ(event.host, 0u);
    void* memory = nullptr;
    EXPECT_EQ(host->memory->allocate(host->self, 4096, &memory), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    uint64_t signal = 0;
    EXPECT_EQ(host->signal->create(host->self, 1, &signal), HSA_STATUS_SUCCESS);
    const hsabe_wait_t wait{signal, 0, HSA_SIGNAL_CONDITION_EQ, 0};
    static std::atomic<bool> told;
    told = false;
    const auto tell = [](hsa_signal_value_t, void*) {
      told = true;
      return false;
    };
    EXPECT_EQ(host->signal->watch(host->self, &wait, tell, nullptr), HSA_STATUS_SUCCESS);
    host->signal->store(host->self, signal, 0);
    while (!told) std::this_thread::yield();
    host->signal->destroy(host->self, signal);
    host->signal->settle(host->self);
    ++opened;
  }));
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(devices.size(), 1u);
}

TEST_F(OwnDevices, OpenCanCallApiAndFork) {
  static hsa_status_t status;
  static int child_status;
  start(hook("on_open", [](const hsabe_host_t*) {
    status = hsa_init();
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
    child_status = std::system("exit 7");
  }));
  EXPECT_EQ(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(WEXITSTATUS(child_status), 7);
  EXPECT_EQ(devices.size(), 1u);
}

// The first hsa_init fails without a required backend. Options of tools are checked before its runtime ends.
// Another thread initialises during that time, without the requirement.
TEST_F(OwnDevices, FailedInitLeavesNewRuntimeAlone) {
  static std::atomic<bool> failing, began_meanwhile, has_begun;
  failing = began_meanwhile = has_begun = false;
  configure(hook("on_open", [](const hsabe_host_t*) {
    if (failing) began_meanwhile = true;
  }));
  void (*const on_check)() = [] {
    failing = true;
    // Without a wait, the other thread would open its device soon.
    for (int i = 0; i < 300 && !began_meanwhile; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(began_meanwhile);
    while (began_meanwhile && !has_begun) std::this_thread::yield();
  };
  const auto config = folder_ / "config.json";
  std::ofstream(config) << R"({"config_version": "1.0", "backends": {"required": ["nobody"]}, )"
                        << R"("plugins": [{"name": "watcher", "library": ")" << RIGEL_COPY_WATCHER
                        << R"(", "config": {"on_check": )" << reinterpret_cast<uintptr_t>(on_check) << "}}]}";
  ::setenv("HSA_PLUGIN_CONFIG", config.c_str(), 1);
  std::thread first([] { EXPECT_EQ(hsa_init(), HSA_STATUS_ERROR); });
  while (!failing) std::this_thread::yield();
  ::setenv("HSA_PLUGIN_CONFIG", "none", 1);
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  has_begun = running_ = true;
  first.join();
  hsa_signal_t signal{};
  hsa_amd_ipc_signal_t name{};
  ASSERT_EQ(hsa_amd_signal_create(0, 0, nullptr, HSA_AMD_SIGNAL_IPC, &signal), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_ipc_signal_create(signal, &name), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_destroy(signal), HSA_STATUS_SUCCESS);
}

#ifdef RIGEL_HAS_VGPU
// A backend with a queue listens to the driver; a fault may occur before there is a runtime.
TEST_F(OwnDevices, DriverDeviceCanAttachDoorbellInOpen) {
  static void* doorbell;
  doorbell = nullptr;
  ::setenv("HSA_DRIVER", "libhsa_driver_vgpu.so", 1);
  ::setenv("VGPU_GPUS", "gfx906", 1);
  configure(hook("on_open",
                 [](const hsabe_host_t* host) {
                   ASSERT_NE(host->driver, nullptr);
                   hsabe_driver_facts_t facts{};
                   facts.struct_size = sizeof facts;
                   host->driver->facts(host->self, &facts);
                   doorbell = host->driver->doorbell(
                       host->self, KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(facts.gpu_id), 0);
                 }),
            std::string(rigel::kClaimsGfx9));
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  running_ = true;
  EXPECT_NE(doorbell, nullptr);
  ::unsetenv("HSA_DRIVER");
  ::unsetenv("VGPU_GPUS");
}
#endif

}  // namespace
