// Rules that need several devices, on two virtual GPUs. Work that breaks a rule is never executed: it waits
// for a signal until its queue is destroyed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "plugins/validate/testing/program.hpp"

namespace validate::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class DeviceRules : public ::testing::Test {
 protected:
  void SetUp() override {
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* list) {
          hsa_device_type_t device = HSA_DEVICE_TYPE_CPU;
          hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &device);
          if (device == HSA_DEVICE_TYPE_GPU) static_cast<std::vector<hsa_agent_t>*>(list)->push_back(agent);
          return HSA_STATUS_SUCCESS;
        },
        &gpus);
    ASSERT_EQ(gpus.size(), 2u);
    queue = program.queue();
    hsa_queue_create(gpus[0], 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &gpu_queue);
    gate = program.signal();
    submit(queue, barrier({0}, {gate}));
    submit(gpu_queue, barrier({0}, {gate}));
  }
  // Ends the program after its work completed, and returns the numbers of the broken rules.
  std::vector<uint32_t> end() {
    hsa_queue_destroy(queue);
    hsa_queue_destroy(gpu_queue);
    hsa_signal_destroy(gate);
    for (void* const block : blocks) hsa_amd_memory_pool_free(block);
    return program.end();
  }
  // Allocates coarse-grained memory of a GPU that no other agent may access.
  void* device_memory(hsa_agent_t gpu) {
    struct Found {
      hsa_amd_memory_pool_t pool;
    } found{};
    hsa_amd_agent_iterate_memory_pools(
        gpu,
        [](hsa_amd_memory_pool_t pool, void* data) {
          hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GROUP;
          uint32_t flags = 0;
          hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
          if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
          hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
          if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0)
            static_cast<Found*>(data)->pool = pool;
          return HSA_STATUS_SUCCESS;
        },
        &found);
    EXPECT_EQ(hsa_amd_memory_pool_allocate(found.pool, 4096, 0, &blocks.emplace_back()), HSA_STATUS_SUCCESS);
    return blocks.back();
  }
  void allow(void* block, hsa_agent_t agent) {
    EXPECT_EQ(hsa_amd_agents_allow_access(1, &agent, nullptr, block), HSA_STATUS_SUCCESS);
  }
  // Creates a dispatch with the block as an argument.
  hsa_kernel_dispatch_packet_t dispatch_with(void* block, hsa_signal_t completion = {0}) {
    auto* const args = static_cast<AddUpArgs*>(blocks.emplace_back(program.memory(sizeof(AddUpArgs))));
    auto* const words = static_cast<uint32_t*>(block);
    *args = {words, words + kWords};
    return program.dispatch(program.kernel("add_up"), args, completion);
  }

  Program program;
  std::vector<hsa_agent_t> gpus;
  hsa_queue_t* queue = nullptr;
  hsa_queue_t* gpu_queue = nullptr;
  hsa_signal_t gate{};
  std::vector<void*> blocks;
};

TEST_F(DeviceRules, V304IsKeptAfterFailureOfCountedQueue) {
  std::atomic<bool> failed{false};
  hsa_queue_t* counted = nullptr;
  ASSERT_EQ(hsa_amd_counted_queue_acquire(
                gpus[0], HSA_QUEUE_TYPE_MULTI, HSA_AMD_QUEUE_PRIORITY_NORMAL,
                [](hsa_status_t, hsa_queue_t*, void* data) { *static_cast<std::atomic<bool>*>(data) = true; },
                &failed, 0, &counted),
            HSA_STATUS_SUCCESS);
  const hsa_signal_t before = program.signal(), done = program.signal();
  submit(counted, barrier({0}, {before}));
  fail(counted);
  submit(counted, barrier(done));
  EXPECT_THAT(Program::take_numbers(), UnorderedElementsAre(207, 213)) << "which is how it fails";
  hsa_signal_store_screlease(before, 0);
  while (!failed) std::this_thread::yield();
  hsa_signal_destroy(done);
  EXPECT_EQ(hsa_amd_counted_queue_release(counted), HSA_STATUS_SUCCESS);
  hsa_signal_destroy(before);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(DeviceRules, V402IsBrokenByKernelWithMemoryOfOtherAgent) {
  void* const block = device_memory(gpus[0]);
  submit(queue, dispatch_with(block));
  EXPECT_THAT(end(), ElementsAre(402));
}

TEST_F(DeviceRules, V402IsKeptByKernelWithAccess) {
  void* const block = device_memory(gpus[0]);
  allow(block, program.agent());
  submit(queue, dispatch_with(block));
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(DeviceRules, V402IsBrokenByCopyWithoutAgentThatAccessesBothSides) {
  void* const to = device_memory(gpus[0]);
  void* const from = device_memory(gpus[1]);
  // Never starts, as its signal stays at 1.
  hsa_amd_memory_async_copy(to, gpus[0], from, gpus[1], 64, 1, &gate, program.signal());
  EXPECT_THAT(Program::take_numbers(), ElementsAre(402));
}

TEST_F(DeviceRules, V402IsKeptByCopyWithAgentThatAccessesBothSides) {
  void* const to = device_memory(gpus[0]);
  void* const from = device_memory(gpus[1]);
  const hsa_signal_t done = program.signal();
  allow(from, gpus[0]);
  ASSERT_EQ(hsa_amd_memory_async_copy(to, gpus[0], from, gpus[1], 64, 0, nullptr, done), HSA_STATUS_SUCCESS);
  wait(done);
  hsa_signal_destroy(done);
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(DeviceRules, V403IsBrokenByConcurrentKernelsOfTwoAgents) {
  void* const block = device_memory(gpus[0]);
  allow(block, program.agent());
  submit(queue, dispatch_with(block));
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  // The dispatch of a CPU kernel on the GPU also breaks rule 207.
  submit(gpu_queue, dispatch_with(block));
  EXPECT_THAT(end(), UnorderedElementsAre(207, 403));
}

TEST_F(DeviceRules, V403IsKeptBySequentialKernels) {
  void* const block = device_memory(gpus[0]);
  allow(block, program.agent());
  const hsa_signal_t completion = program.signal();
  submit(queue, dispatch_with(block, completion));
  submit(gpu_queue, barrier({0}, {completion}));
  submit(gpu_queue, dispatch_with(block));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(207));
  hsa_queue_destroy(queue);
  hsa_queue_destroy(gpu_queue);
  hsa_signal_destroy(completion);
  hsa_signal_destroy(gate);
  for (void* const memory : blocks) hsa_amd_memory_pool_free(memory);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST_F(DeviceRules, V403IsKeptByKernelThatTheOtherWaitsFor) {
  void* const block = device_memory(gpus[0]);
  allow(block, program.agent());
  const hsa_signal_t completion = program.signal();
  submit(gpu_queue, barrier({0}, {completion}));
  submit(gpu_queue, dispatch_with(block));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(207));
  submit(queue, dispatch_with(block, completion));
  hsa_signal_destroy(completion);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(304)) << "which they still name";
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(DeviceRules, V212IsBrokenWithoutPrivateSegmentAndV212IsKeptByDeclaredSize) {
  std::ifstream file(VALIDATE_GPU_KERNELS, std::ios::binary);
  if (!file) GTEST_SKIP() << "there is no " << VALIDATE_GPU_KERNELS;
  const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_executable_symbol_t symbol{};
  ASSERT_EQ(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                      &executable),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_load_agent_code_object(executable, gpus[0], reader, nullptr, nullptr),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_freeze(executable, nullptr), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_get_symbol_by_name(executable, "keep.kd", &gpus[0], &symbol), HSA_STATUS_SUCCESS);
  TestKernel keep;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &keep.object);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                 &keep.private_size);
  ASSERT_GT(keep.private_size, 0u);
  void* const args = blocks.emplace_back(program.memory(256));
  submit(gpu_queue, program.dispatch(keep, args));
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  keep.private_size = 0;
  submit(gpu_queue, program.dispatch(keep, args));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(212));
  hsa_queue_destroy(gpu_queue);
  gpu_queue = nullptr;
  hsa_executable_destroy(executable);
  hsa_code_object_reader_destroy(reader);
}

}  // namespace
}  // namespace validate::testing
