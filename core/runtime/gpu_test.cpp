// Tests GPUs through the public API. The library opens the virtual GPU as a driver transport in this process.
// conformance/ tests the requirements for all agents. This file tests properties of GPUs and effects of their
// driver.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/runtime/testing/test_machine.hpp"
#include "core/signal/signal.hpp"

namespace {

using std::chrono::milliseconds;
using namespace rigel::testing;

class GpuBoards : public ::testing::TestWithParam<const char*> {};

TEST_P(GpuBoards, RunPacketsInEveryRuntime) {
  for (int round = 0; round < 3; ++round) {
    const TestMachine machine(GetParam());
    ASSERT_EQ(machine.status, HSA_STATUS_SUCCESS);
    ASSERT_FALSE(machine.gpus.empty());
    for (const hsa_agent_t gpu : machine.gpus) EXPECT_TRUE(runs_a_barrier(gpu));
  }
}

TEST_P(GpuBoards, WakeWaiterAndHandler) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  hsa_queue_t* const queue = make_queue(machine.gpus[0]);
  hsa_signal_t gate{}, done{};
  hsa_signal_create(1, 0, nullptr, &gate);
  hsa_signal_create(1, 0, nullptr, &done);
  static std::atomic<int> handled;
  handled = 0;
  hsa_amd_signal_async_handler(
      done, HSA_SIGNAL_CONDITION_LT, 1,
      [](hsa_signal_value_t, void*) {
        ++handled;
        return false;
      },
      nullptr);
  submit_barrier(queue, gate, done);
  std::thread opener([&] {
    // The waits below have started by then, which the API does not report.
    std::this_thread::sleep_for(milliseconds(20));
    hsa_signal_store_screlease(gate, 0);
  });
  EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
            0);
  opener.join();
  while (handled == 0) std::this_thread::yield();
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  hsa_signal_destroy(done);
}

// The callback continues after the end of the queue, the device and the runtime.
TEST_P(GpuBoards, SupportShutDownInQueueCallback) {
  for (const bool destroys : {false, true}) {
    SCOPED_TRACE(destroys ? "destroys the queue first" : "leaves the queue to the runtime");
    struct Ending {
      bool destroys;
      std::atomic<hsa_status_t> status{HSA_STATUS_INFO_BREAK};
    } ending{destroys};
    {
      TestMachine machine(GetParam());
      ASSERT_FALSE(machine.gpus.empty());
      machine.status = HSA_STATUS_ERROR;  // the callback shuts down
      hsa_queue_t* queue = nullptr;
      ASSERT_EQ(hsa_queue_create(
                    machine.gpus[0], 64, HSA_QUEUE_TYPE_MULTI,
                    [](hsa_status_t, hsa_queue_t* source, void* data) {
                      auto& own = *static_cast<Ending*>(data);
                      hsa_status_t status = own.destroys ? hsa_queue_destroy(source) : HSA_STATUS_SUCCESS;
                      if (status == HSA_STATUS_SUCCESS) status = hsa_shut_down();
                      own.status = status;
                    },
                    &ending, UINT32_MAX, UINT32_MAX, &queue),
                HSA_STATUS_SUCCESS);
      const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
      constexpr uint16_t kNoPacketType = 7;
      __atomic_store_n(static_cast<uint16_t*>(queue->base_address), kNoPacketType, __ATOMIC_RELEASE);
      hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    }
    // The callback must not access the signal after its answer, as a wake-up would.
    while (ending.status == HSA_STATUS_INFO_BREAK) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(ending.status, HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
    const TestMachine next(GetParam());
    ASSERT_FALSE(next.gpus.empty());
    EXPECT_TRUE(runs_a_barrier(next.gpus[0]));
  }
}

TEST_P(GpuBoards, CopyMemoryWithoutAccess) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  for (const size_t size : {size_t{1}, size_t{1000}, size_t{300'000}, size_t{1} << 20, size_t{3'000'001}}) {
    std::vector<unsigned char> from(size), to(size);
    for (size_t i = 0; i < size; ++i) from[i] = static_cast<unsigned char>(i * 7 + (i >> 9));
    for (const hsa_agent_t gpu : machine.gpus) {
      void* local = nullptr;
      ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(gpu), size, 0, &local), HSA_STATUS_SUCCESS);
      EXPECT_EQ(hsa_memory_copy(local, from.data(), size), HSA_STATUS_SUCCESS);
      EXPECT_EQ(hsa_memory_copy(to.data(), local, size), HSA_STATUS_SUCCESS);
      EXPECT_EQ(from, to);
      EXPECT_EQ(hsa_amd_memory_pool_free(local), HSA_STATUS_SUCCESS);
    }
  }
}

TEST_P(GpuBoards, CopyAfterDependenciesAndRecordTimes) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  constexpr size_t kSize = 1 << 20;
  const hsa_agent_t gpu = machine.gpus[0];
  const hsa_agent_t host = machine.hosts[0];
  void *from = nullptr, *to = nullptr, *local = nullptr;
  ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(host), kSize, 0, &from), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(host), kSize, 0, &to), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(gpu), kSize, 0, &local), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu, nullptr, from), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &gpu, nullptr, to), HSA_STATUS_SUCCESS);
  std::memset(from, 0x5a, kSize);
  std::memset(to, 0, kSize);
  EXPECT_EQ(hsa_amd_profiling_async_copy_enable(true), HSA_STATUS_SUCCESS);
  hsa_signal_t gate{}, up{}, down{};
  for (hsa_signal_t* signal : {&gate, &up, &down}) hsa_signal_create(1, 0, nullptr, signal);
  EXPECT_EQ(hsa_amd_memory_async_copy(to, host, local, gpu, kSize, 1, &up, down), HSA_STATUS_SUCCESS)
      << "submitted before the copy that it waits for";
  EXPECT_EQ(hsa_amd_memory_async_copy(local, gpu, from, host, kSize, 1, &gate, up), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_load_scacquire(down), 1);
  hsa_signal_store_screlease(gate, 0);
  EXPECT_EQ(hsa_signal_wait_scacquire(down, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
            0);
  EXPECT_EQ(std::memcmp(from, to, kSize), 0);
  hsa_amd_profiling_async_copy_time_t first{}, second{};
  EXPECT_EQ(hsa_amd_profiling_get_async_copy_time(up, &first), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_profiling_get_async_copy_time(down, &second), HSA_STATUS_SUCCESS);
  EXPECT_LE(first.start, first.end);
  EXPECT_LE(second.start, second.end);
  for (hsa_signal_t signal : {gate, up, down}) hsa_signal_destroy(signal);
  for (void* memory : {from, to, local}) EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  hsa_amd_profiling_async_copy_enable(false);
}

TEST_P(GpuBoards, ReportExhaustedMemory) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  const hsa_amd_memory_pool_t pool = coarse_pool(machine.gpus[0]);
  std::vector<void*> blocks;
  hsa_status_t status = HSA_STATUS_SUCCESS;
  while (status == HSA_STATUS_SUCCESS && blocks.size() < 100) {
    void* block = nullptr;
    status = hsa_amd_memory_pool_allocate(pool, 16 << 20, 0, &block);
    if (status == HSA_STATUS_SUCCESS) blocks.push_back(block);
  }
  EXPECT_EQ(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_LT(blocks.size(), 100u);
  for (void* block : blocks) EXPECT_EQ(hsa_amd_memory_pool_free(block), HSA_STATUS_SUCCESS);
  void* again = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate(pool, 16 << 20, 0, &again), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(again), HSA_STATUS_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(All, GpuBoards,
                         ::testing::Values("gfx803:vram=128M", "gfx900:vram=128M", "gfx1010:vram=128M",
                                           "gfx1030:vram=128M:bar=small",
                                           "gfx906:vram=128M,gfx803:vram=128M,gfx1030:vram=128M"),
                         board_test_name);

// --- Doorbells -------------------------------------------------------------------------------------------

TEST_P(GpuBoards, RingDoorbellsByCalls) {
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  hsa_queue_t* const queue = make_queue(machine.gpus[0]);
  const auto& doorbell = rigel::Signal::of_live(queue->doorbell_signal);
  EXPECT_TRUE(doorbell.has_attribute(rigel::kSignalDoorbellIsCalled));
  hsa_signal_t done{};
  ASSERT_EQ(hsa_signal_create(1, 0, nullptr, &done), HSA_STATUS_SUCCESS);
  for (int i = 0; i < 50; ++i) {
    // The device sometimes goes to sleep, and must be woken.
    if (i % 5 == 0) std::this_thread::sleep_for(milliseconds(3));
    hsa_signal_store_relaxed(done, 1);
    submit_barrier(queue, {0}, done);
    EXPECT_EQ(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
              0);
  }
  hsa_signal_destroy(done);
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
}

TEST(Gpus, LockedMemoryHasDifferentAddress) {
  const TestMachine machine("gfx900:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  std::vector<char> mine(100'000, 'x'), back(mine.size());
  hsa_agent_t gpu = machine.gpus[0];
  void* seen = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(mine.data(), mine.size(), &gpu, 1, &seen), HSA_STATUS_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(seen) % 4096, reinterpret_cast<uintptr_t>(mine.data()) % 4096);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  EXPECT_EQ(hsa_amd_pointer_info(mine.data(), &info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(info.agentBaseAddress, seen);
  void* local = nullptr;
  ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(gpu), mine.size(), 0, &local), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_memory_copy(local, mine.data(), mine.size()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_memory_copy(back.data(), local, mine.size()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(mine, back);
  EXPECT_EQ(hsa_amd_memory_unlock(mine.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(local), HSA_STATUS_SUCCESS);
}

// Sizes beyond the staging buffer are pinned; memory that the driver cannot pin uses the staging buffer.
TEST(Gpus, CopyUnpinnableMemory) {
  const TestMachine machine("gfx1030:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  constexpr size_t kBytes = 3 << 20;
  std::vector<unsigned char> data(kBytes), back(kBytes);
  for (size_t i = 0; i < kBytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + (i >> 9));
  void* local = nullptr;
  ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(machine.gpus[0]), kBytes, 0, &local),
            HSA_STATUS_SUCCESS);

  const int file = memfd_create("read-only", MFD_CLOEXEC);
  ASSERT_EQ(write(file, data.data(), kBytes), ssize_t{kBytes});
  void* const read_only = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(read_only, MAP_FAILED);
  EXPECT_EQ(hsa_memory_copy(local, read_only, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_memory_copy(back.data(), local, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(back, data);
  munmap(read_only, kBytes);
  close(file);

  void* const range = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  hsa_amd_svm_attribute_pair_t for_gpu{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, machine.gpus[0].handle};
  ASSERT_EQ(hsa_amd_svm_attributes_set(range, kBytes, &for_gpu, 1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_memory_copy(range, local, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(std::memcmp(range, data.data(), kBytes), 0);
  std::memset(range, 7, kBytes);
  EXPECT_EQ(hsa_memory_copy(local, range, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_memory_copy(back.data(), local, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(std::memcmp(back.data(), range, kBytes), 0);

  munmap(range, kBytes);
  EXPECT_EQ(hsa_memory_copy(local, range, kBytes), HSA_STATUS_ERROR_OUT_OF_RESOURCES) << "nothing is there";
  EXPECT_EQ(hsa_amd_memory_pool_free(local), HSA_STATUS_SUCCESS);
}

// The host does a part of copies of memory without access for a GPU, if the host has access.
TEST(Gpus, CopyVirtualMemory) {
  const TestMachine machine("gfx1030:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  const hsa_agent_t gpu = machine.gpus[0], host = machine.hosts[0];
  constexpr size_t kBytes = 4 << 20;
  void *local = nullptr, *va = nullptr;
  ASSERT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(gpu), kBytes, 0, &local), HSA_STATUS_SUCCESS);
  hsa_amd_vmem_alloc_handle_t handle{};
  ASSERT_EQ(hsa_amd_vmem_address_reserve(&va, kBytes, 0, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_vmem_handle_create(coarse_pool(host), kBytes, MEMORY_TYPE_NONE, 0, &handle),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_vmem_map(va, kBytes, 0, handle, 0), HSA_STATUS_SUCCESS);

  const struct {
    hsa_access_permission_t of_host, of_gpu;
    hsa_status_t from, to;
  } cases[] = {
      {HSA_ACCESS_PERMISSION_NONE, HSA_ACCESS_PERMISSION_NONE, HSA_STATUS_ERROR_INVALID_ALLOCATION,
       HSA_STATUS_ERROR_INVALID_ALLOCATION},
      {HSA_ACCESS_PERMISSION_RO, HSA_ACCESS_PERMISSION_NONE, HSA_STATUS_SUCCESS,
       HSA_STATUS_ERROR_INVALID_ALLOCATION},
      {HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_NONE, HSA_STATUS_SUCCESS, HSA_STATUS_SUCCESS},
      {HSA_ACCESS_PERMISSION_NONE, HSA_ACCESS_PERMISSION_RW, HSA_STATUS_SUCCESS, HSA_STATUS_SUCCESS},
  };
  for (const auto& [of_host, of_gpu, from, to] : cases) {
    SCOPED_TRACE(::testing::Message() << "host " << of_host << ", GPU " << of_gpu);
    const hsa_amd_memory_access_desc_t access[] = {{of_host, host}, {of_gpu, gpu}};
    ASSERT_EQ(hsa_amd_vmem_set_access(va, kBytes, access, 2), HSA_STATUS_SUCCESS);
    for (const size_t size : {size_t{1000}, kBytes}) {  // with the staging buffer, and pinned
      EXPECT_EQ(hsa_memory_copy(local, va, size), from);
      EXPECT_EQ(hsa_memory_copy(va, local, size), to);
    }
  }
  EXPECT_EQ(hsa_amd_vmem_unmap(va, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_vmem_handle_release(handle), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_vmem_address_free(va, kBytes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(local), HSA_STATUS_SUCCESS);
}

TEST(Gpus, FaultCallsHandler) {
  const TestMachine machine("gfx900:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  static std::atomic<uint64_t> address;
  address = 0;
  ASSERT_EQ(hsa_amd_register_system_event_handler(
                [](const hsa_amd_event_t* event, void*) {
                  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
                  EXPECT_EQ(event->memory_fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
                            uint32_t{HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT});
                  address = event->memory_fault.virtual_address;
                  return HSA_STATUS_SUCCESS;
                },
                nullptr),
            HSA_STATUS_SUCCESS);
  hsa_queue_t* const queue = make_queue(machine.gpus[0]);
  submit_barrier(queue, {0x10000}, {0});
  while (address == 0) std::this_thread::yield();
  EXPECT_EQ(address, 0x10000u);
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
}

// As a process does that calls exit() in the handler.
TEST(Gpus, SupportShutDownInFaultHandler) {
  TestMachine machine("gfx900:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  machine.status = HSA_STATUS_ERROR;  // the handler shuts down
  static std::atomic<hsa_status_t> status;
  status = HSA_STATUS_INFO_BREAK;
  ASSERT_EQ(hsa_amd_register_system_event_handler(
                [](const hsa_amd_event_t*, void*) {
                  status = hsa_shut_down();
                  status.notify_one();
                  return HSA_STATUS_SUCCESS;
                },
                nullptr),
            HSA_STATUS_SUCCESS);
  submit_barrier(make_queue(machine.gpus[0]), {0x10000}, {0});
  status.wait(HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(status, HSA_STATUS_SUCCESS);
  const TestMachine next("gfx900:vram=128M");
  ASSERT_FALSE(next.gpus.empty());
  EXPECT_TRUE(runs_a_barrier(next.gpus[0]));
}

// A range of 0 layers means 1 layer for an image that has only one: the other image must then have it as
// well.
TEST(Gpus, RejectImageLayerPastLast) {
  const TestMachine machine("gfx906:vram=64M");
  ASSERT_EQ(machine.gpus.size(), 1u);
  const hsa_agent_t gpu = machine.gpus[0];
  const auto make = [&](hsa_ext_image_geometry_t geometry, size_t depth, void*& data) {
    const hsa_ext_image_descriptor_t shape{
        geometry, 16, 16,
        depth,    0,  {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}};
    hsa_ext_image_data_info_t needs{};
    EXPECT_EQ(hsa_ext_image_data_get_info(gpu, &shape, HSA_ACCESS_PERMISSION_RW, &needs), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_amd_memory_pool_allocate(coarse_pool(gpu), needs.size, 0, &data), HSA_STATUS_SUCCESS);
    hsa_ext_image_t image{};
    EXPECT_EQ(hsa_ext_image_create(gpu, &shape, data, HSA_ACCESS_PERMISSION_RW, &image), HSA_STATUS_SUCCESS);
    return image;
  };
  void *planes = nullptr, *plane = nullptr;
  const hsa_ext_image_t from = make(HSA_EXT_IMAGE_GEOMETRY_3D, 3, planes);
  const hsa_ext_image_t to = make(HSA_EXT_IMAGE_GEOMETRY_2D, 0, plane);
  const hsa_dim3_t origin{0, 0, 0}, last{0, 0, 2}, behind{0, 0, 3}, range{16, 16, 0};
  EXPECT_EQ(hsa_ext_image_copy(gpu, from, &last, to, &origin, &range), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_ext_image_copy(gpu, from, &behind, to, &origin, &range), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_ext_image_destroy(gpu, from), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_ext_image_destroy(gpu, to), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(planes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(plane), HSA_STATUS_SUCCESS);
}

TEST(Gpus, ReportIntegratedGpus) {
  const TestMachine machine("gfx902:vram=64M,gfx906:vram=64M,gfx1036:vram=64M");
  ASSERT_EQ(machine.gpus.size(), 3u);
  const bool expected[] = {true, false, true};
  for (size_t i = 0; i < 3; ++i) {
    uint8_t properties[8];
    std::memset(properties, 0xff, sizeof properties);
    ASSERT_EQ(
        hsa_agent_get_info(machine.gpus[i],
                           static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES), properties),
        HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_flag_isset64(properties, HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU), expected[i]);
    EXPECT_EQ(properties[0], expected[i] ? 2 : 0) << "nothing else is known";
  }
}

TEST(Gpus, WorkInForkedChildAndParent) {
  // The child could wait forever for a lock of the allocator that a thread of its parent held.
  if (kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer does not guard its allocator when it forks";
  const TestMachine machine("gfx900:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  EXPECT_TRUE(runs_a_barrier(machine.gpus[0]));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (hsa_shut_down() != HSA_STATUS_ERROR_NOT_INITIALIZED) _exit(1);
    bool right = false;
    {
      const TestMachine own("gfx900:vram=128M");
      right = own.gpus.size() == 1 && runs_a_barrier(own.gpus[0]);
    }
    _exit(right ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(runs_a_barrier(machine.gpus[0]));
}

TEST(Gpus, AreSelectedByEnvironment) {
  ::setenv("ROCR_VISIBLE_DEVICES", "2,0,7,1", 1);
  {
    const TestMachine machine("gfx803:vram=64M,gfx900:vram=64M,gfx1030:vram=64M");
    ASSERT_EQ(machine.gpus.size(), 2u) << "the list ends at the first that is none";
    char name[64] = {};
    hsa_agent_get_info(machine.gpus[0], HSA_AGENT_INFO_NAME, name);
    EXPECT_STREQ(name, "gfx1030");
  }
  ::setenv("ROCR_VISIBLE_DEVICES", "", 1);
  EXPECT_TRUE(TestMachine("gfx900:vram=64M").gpus.empty());
  ::unsetenv("ROCR_VISIBLE_DEVICES");
}

TEST(Gpus, LimitScratchByEnvironment) {
  const auto limit = [](const char* text) {
    ::setenv("HSA_SCRATCH_SINGLE_LIMIT", text, 1);
    const TestMachine machine("gfx900:vram=64M");
    uint64_t bytes = 0;
    if (machine.gpus.empty()) return bytes;
    hsa_agent_get_info(machine.gpus[0],
                       static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT), &bytes);
    return bytes;
  };
  const uint64_t first = limit("");
  EXPECT_EQ(first, uint64_t{140} << 20);
  EXPECT_EQ(limit("1048576"), uint64_t{1} << 20);
  EXPECT_EQ(limit("0"), 0u);
  EXPECT_EQ(limit("much"), first);
  EXPECT_EQ(limit("1M"), first) << "no number either";
  EXPECT_EQ(limit("99999999999999999999"), uint64_t{4} << 30);
  ::unsetenv("HSA_SCRATCH_SINGLE_LIMIT");
}

constexpr auto kReduced = static_cast<hsa_status_t>(HSA_STATUS_CU_MASK_REDUCED);

/// The first 64 compute units that a queue may use.
uint64_t units_of(const hsa_queue_t* queue) {
  uint32_t words[3] = {7, 7, 7};
  EXPECT_EQ(hsa_amd_queue_cu_get_mask(queue, 96, words), HSA_STATUS_SUCCESS);
  return uint64_t{words[1]} << 32 | words[0];
}

uint32_t count_of(hsa_agent_t gpu, hsa_amd_agent_info_t attribute) {
  uint32_t count = UINT32_MAX;
  EXPECT_EQ(hsa_agent_get_info(gpu, static_cast<hsa_agent_info_t>(attribute), &count), HSA_STATUS_SUCCESS);
  return count;
}

uint64_t all_units_of(hsa_agent_t gpu) {
  const uint32_t count = count_of(gpu, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  return count >= 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
}

TEST_P(GpuBoards, ReportComputeUnitsOfQueue) {
  const TestMachine machine(GetParam());
  for (const hsa_agent_t gpu : machine.gpus) {
    hsa_queue_t* const queue = make_queue(gpu);
    const uint64_t all = all_units_of(gpu);
    EXPECT_EQ(units_of(queue), all);
    const uint32_t some[] = {0x3c, 0}, everything[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, none[] = {0};
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 64, some), HSA_STATUS_SUCCESS);
    EXPECT_EQ(units_of(queue), 0x3cu);
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 32, none), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(units_of(queue), 0x3cu) << "as before";
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 0, nullptr), HSA_STATUS_SUCCESS);
    EXPECT_EQ(units_of(queue), all);
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 32, some), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 96, everything), HSA_STATUS_SUCCESS)
        << "what the device does not have is no matter";
    EXPECT_EQ(units_of(queue), all);
    hsa_queue_destroy(queue);
  }
}

TEST_P(GpuBoards, LimitComputeUnitsByEnvironment) {
  const Variable mask("HSA_CU_MASK", "0-9:0-3");
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  for (const hsa_agent_t gpu : machine.gpus) {
    hsa_queue_t* const queue = make_queue(gpu);
    EXPECT_EQ(units_of(queue), 0xfu);
    const uint32_t more[] = {0xfc}, fewer[] = {0xc}, others[] = {0xf0};
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 32, more), kReduced);
    EXPECT_EQ(units_of(queue), 0xcu);
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 0, nullptr), kReduced) << "that asks for all";
    EXPECT_EQ(units_of(queue), 0xfu);
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 32, fewer), HSA_STATUS_SUCCESS);
    EXPECT_EQ(units_of(queue), 0xcu);
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 32, others), HSA_STATUS_ERROR_INVALID_ARGUMENT)
        << "nothing is left";
    EXPECT_EQ(units_of(queue), 0xcu);
    hsa_queue_destroy(queue);
    EXPECT_TRUE(runs_a_barrier(gpu));
    EXPECT_EQ(count_of(gpu, HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT),
              count_of(gpu, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT));
  }
}

TEST_P(GpuBoards, StartWithAllComputeUnitsByEnvironment) {
  const Variable mask("HSA_CU_MASK", "0-9:0-3"), skip("HSA_CU_MASK_SKIP_INIT", "1");
  const Variable cooperative("HSA_COOP_CU_COUNT", "1");
  const TestMachine machine(GetParam());
  ASSERT_FALSE(machine.gpus.empty());
  for (const hsa_agent_t gpu : machine.gpus) {
    hsa_queue_t* const queue = make_queue(gpu);
    EXPECT_EQ(units_of(queue), all_units_of(gpu));
    EXPECT_EQ(hsa_amd_queue_cu_set_mask(queue, 0, nullptr), kReduced);
    EXPECT_EQ(units_of(queue), 0xfu);
    hsa_queue_destroy(queue);
    EXPECT_EQ(count_of(gpu, HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT), 0u);
  }
}

TEST(Gpus, UseProgramsNumberingForMasks) {
  const Variable visible("ROCR_VISIBLE_DEVICES", "1,0"), mask("HSA_CU_MASK", "0:0x30;1:0-1,4-5,9;7:1");
  const TestMachine machine("gfx900:vram=64M,gfx1030:vram=64M");
  ASSERT_EQ(machine.gpus.size(), 2u);
  const uint64_t expected[] = {0x30, 0x233};
  for (size_t i = 0; i < 2; ++i) {
    hsa_queue_t* const queue = make_queue(machine.gpus[i]);
    EXPECT_EQ(units_of(queue), expected[i]);
    hsa_queue_destroy(queue);
  }
}

TEST(Gpus, IgnoreInvalidMasks) {
  const Variable mask("HSA_CU_MASK", "0:0-2;1:0-2,,");
  const TestMachine machine("gfx1030:vram=64M,gfx900:vram=64M");
  ASSERT_EQ(machine.gpus.size(), 2u);
  for (const hsa_agent_t gpu : machine.gpus) {
    hsa_queue_t* const queue = make_queue(gpu);
    EXPECT_EQ(units_of(queue), all_units_of(gpu)) << "a pair would be split, and a list is none";
    hsa_queue_destroy(queue);
  }
}

TEST(Gpus, LimitQueuesByEnvironment) {
  const auto queues = [](const TestMachine& machine) {
    uint32_t count = 0;
    hsa_agent_get_info(machine.gpus.at(0), HSA_AGENT_INFO_QUEUES_MAX, &count);
    return count;
  };
  uint32_t usual = 0;
  {
    const TestMachine machine("gfx900:vram=64M");
    usual = queues(machine);
  }
  ASSERT_GT(usual, 2u);
  {
    const Variable most("HSA_MAX_QUEUES", "2");
    const TestMachine machine("gfx900:vram=64M");
    EXPECT_EQ(queues(machine), 2u);
    hsa_queue_t* const first = make_queue(machine.gpus[0]);
    hsa_queue_t* const second = make_queue(machine.gpus[0]);
    hsa_queue_t* third = nullptr;
    EXPECT_EQ(hsa_queue_create(machine.gpus[0], 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &third),
              HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    hsa_queue_destroy(first);
    hsa_queue_destroy(make_queue(machine.gpus[0]));
    hsa_queue_destroy(second);
    uint32_t of_the_host = 0;
    hsa_agent_get_info(machine.hosts.at(0), HSA_AGENT_INFO_QUEUES_MAX, &of_the_host);
    EXPECT_GT(of_the_host, 2u);
  }
  for (const char* text : {"0", "1000", "few"}) {
    const Variable most("HSA_MAX_QUEUES", text);
    EXPECT_EQ(queues(TestMachine("gfx900:vram=64M")), usual) << text;
  }
}

TEST(Gpus, OverrideEccByEnvironment) {
  const auto isa = [](const char* text) {
    const Variable ecc("HSA_ENABLE_SRAMECC", text);
    const TestMachine machine("gfx906:vram=64M");
    return isa_name(machine.gpus.at(0));
  };
  const std::string as_it_is = isa("");
  EXPECT_EQ(isa("1"), "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-");
  EXPECT_EQ(isa("0"), "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-");
  EXPECT_EQ(isa("yes"), as_it_is);
}

std::vector<std::string> isa_names(hsa_agent_t agent) {
  std::vector<std::string> names;
  hsa_agent_iterate_isas(
      agent,
      [](hsa_isa_t isa, void* list) {
        char name[64] = {};
        hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return HSA_STATUS_SUCCESS;
      },
      &names);
  return names;
}

TEST(Gpus, ListGenericTargetForOpenMp) {
  constexpr const char* kBoards = "gfx906:vram=64M,gfx1030:vram=64M";
  using Names = std::vector<std::string>;
  const std::string prefix = "amdgcn-amd-amdhsa--";
  const Names vega20{prefix + "gfx906:sramecc+:xnack-"}, navi21{prefix + "gfx1030"};
  {
    const TestMachine machine(kBoards);
    ASSERT_EQ(machine.gpus.size(), 2u);
    EXPECT_EQ(isa_names(machine.gpus[0]), vega20);
    EXPECT_EQ(isa_names(machine.gpus[1]), navi21);
  }
  void* const openmp = dlopen(RIGEL_TEST_OPENMP, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(openmp, nullptr) << dlerror();
  {
    const TestMachine machine(kBoards);
    ASSERT_EQ(machine.gpus.size(), 2u);
    EXPECT_EQ(isa_names(machine.gpus[0]), (Names{vega20[0], prefix + "gfx9-generic:xnack-"}));
    EXPECT_EQ(isa_names(machine.gpus[1]), (Names{navi21[0], prefix + "gfx10-3-generic"}));
  }
  dlclose(openmp);
}

TEST(Gpus, KeepDriverXnackSettingIfRejected) {
  for (const char* text : {"0", "1", "on"}) {
    const Variable xnack("HSA_XNACK", text);
    const TestMachine machine("gfx900:vram=64M");
    ASSERT_EQ(machine.gpus.size(), 1u);
    EXPECT_EQ(isa_name(machine.gpus[0]), "amdgcn-amd-amdhsa--gfx900:xnack-");
    bool enabled = true;
    hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_XNACK_ENABLED), &enabled);
    EXPECT_FALSE(enabled);
  }
}

TEST(Gpus, AreTheOnlySampledAgents) {
  const TestMachine machine("gfx900:vram=128M");
  ASSERT_FALSE(machine.gpus.empty());
  const auto is_sampled = [](hsa_agent_t agent) {
    bool result = false;
    EXPECT_EQ(hsa_agent_extension_supported(HSA_EXTENSION_AMD_PC_SAMPLING, agent, 1, 0, &result),
              HSA_STATUS_SUCCESS);
    return result;
  };
  EXPECT_TRUE(is_sampled(machine.gpus[0]));
  EXPECT_FALSE(is_sampled(machine.hosts.at(0)));
}

TEST(Gpus, WithoutBackendAreSkipped) {
  ::setenv("HSA_OVERRIDE_GFX_VERSION_1", "63.0.0", 1);
  const TestMachine machine("gfx900:vram=64M,gfx906:vram=64M");
  ::unsetenv("HSA_OVERRIDE_GFX_VERSION_1");
  EXPECT_EQ(machine.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(machine.gpus.size(), 1u) << "the other one is left out";
}

TEST(Gpus, ReportsVersionOverrideForMissingGpu) {
  const Variable mine("HSA_OVERRIDE_GFX_VERSION_1", "9.0.0"), host("HSA_OVERRIDE_GFX_VERSION_0", "9.0.0"),
      none("HSA_OVERRIDE_GFX_VERSION_9", "9.0.0"), empty("HSA_OVERRIDE_GFX_VERSION_8", "");
  const TestMachine machine("gfx900:vram=64M,gfx906:vram=64M");
  ASSERT_EQ(machine.gpus.size(), 2u);
  hsa_ven_rigel_report_1_pfn_t table{};
  ASSERT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof table, &table),
            HSA_STATUS_SUCCESS);
  std::string report;
  table.hsa_ven_rigel_discovery_report(
      HSA_VEN_RIGEL_REPORT_TEXT,
      [](const char* text, size_t size, void* out) {
        static_cast<std::string*>(out)->assign(text, size);
        return HSA_STATUS_SUCCESS;
      },
      &report);
  for (const char* line : {"HSA_OVERRIDE_GFX_VERSION_0: no GPU is node '0' (GPU nodes: 1, 2)",
                           "HSA_OVERRIDE_GFX_VERSION_9: no GPU is node '9' (GPU nodes: 1, 2)"}) {
    EXPECT_NE(report.find(line), report.npos) << line << report;
  }
  for (const char* name : {"HSA_OVERRIDE_GFX_VERSION_1: no", "HSA_OVERRIDE_GFX_VERSION_8"}) {
    EXPECT_EQ(report.find(name), report.npos) << name << report;
  }
}

}  // namespace
