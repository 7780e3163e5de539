// Asynchronous copies: dependencies, completion, profiling times, boxes, batches, files.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/optional_function.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kAnyGrain = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
                               HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED |
                               HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED;

class AsyncCopy : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto pool = find_pool(agent(), kAnyGrain);
    if (!pool) GTEST_SKIP() << "no pool allocates";
    pool_ = *pool;
  }

  PoolMemory buffer(size_t size) { return allocate(pool_, size, agent()); }
  hsa_status_t copy(void* to, const void* from, size_t size, const std::vector<hsa_signal_t>& after,
                    hsa_signal_t done) {
    return hsa_amd_memory_async_copy(to, agent(), from, agent(), size, static_cast<uint32_t>(after.size()),
                                     after.empty() ? nullptr : after.data(), done);
  }

  hsa_amd_memory_pool_t pool_{};
};

std::vector<unsigned char> pattern(size_t size, unsigned seed = 1) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 31 + i / 257 + seed);
  return bytes;
}

TEST_P(AsyncCopy, CopiesBytesAndDecrementsSignal) {
  for (const size_t size : {size_t{1}, size_t{4095}, size_t{1} << 16, (size_t{5} << 20) + 3}) {
    const PoolMemory from = buffer(size);
    const PoolMemory to = buffer(size + 1);
    const auto bytes = pattern(size);
    std::memcpy(from.get(), bytes.data(), size);
    std::memset(to.get(), 0, size + 1);
    const ScopedSignal done(3);
    ASSERT_HSA(copy(to.get(), from.get(), size, {}, done));
    ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 2));
    EXPECT_EQ(std::memcmp(to.get(), bytes.data(), size), 0);
    EXPECT_EQ(static_cast<unsigned char*>(to.get())[size], 0);
  }
}

TEST_P(AsyncCopy, WaitsForEachDependency) {
  const PoolMemory from = buffer(4096);
  const PoolMemory to = buffer(4096);
  std::memset(from.get(), 1, 4096);
  std::memset(to.get(), 0, 4096);
  const ScopedSignal first(1);
  const ScopedSignal second(1);
  const ScopedSignal done(1);
  ASSERT_HSA(copy(to.get(), from.get(), 4096, {first, second}, done));
  hsa_signal_store_screlease(second, 0);
  // A copy that does not wait for both signals would finish during this time.
  std::this_thread::sleep_for(3ms);
  EXPECT_EQ(done.value(), 1);
  EXPECT_EQ(*static_cast<char*>(to.get()), 0);
  std::memset(from.get(), 2, 4096);
  hsa_signal_store_screlease(first, 0);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(*static_cast<char*>(to.get()), 2) << "what was written before the last dependency was fulfilled";
}

TEST_P(AsyncCopy, ChainsThroughSignals) {
  constexpr size_t kLinks = 50;
  std::vector<PoolMemory> buffers;
  std::vector<ScopedSignal> signals;
  for (size_t i = 0; i <= kLinks; ++i) {
    buffers.push_back(buffer(4096));
    std::memset(buffers.back().get(), 0, 4096);
    signals.emplace_back(1);
  }
  // Submitted in reverse: only the signals order the copies.
  for (size_t i = kLinks; i > 0; --i) {
    ASSERT_HSA(copy(buffers[i].get(), buffers[i - 1].get(), 4096, {signals[i - 1]}, signals[i]));
  }
  std::memset(buffers[0].get(), 0x42, 4096);
  hsa_signal_store_screlease(signals[0], 0);
  ASSERT_TRUE(wait_for(signals[kLinks], HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(static_cast<char*>(buffers[kLinks].get())[4095], 0x42);
}

TEST_P(AsyncCopy, CompletesManyConcurrentCopies) {
  constexpr size_t kCopies = 500;
  const PoolMemory from = buffer(kCopies * 64);
  const PoolMemory to = buffer(kCopies * 64);
  const auto bytes = pattern(kCopies * 64);
  std::memcpy(from.get(), bytes.data(), bytes.size());
  const ScopedSignal done(kCopies);
  for (size_t i = 0; i < kCopies; ++i) {
    ASSERT_HSA(
        copy(static_cast<char*>(to.get()) + i * 64, static_cast<char*>(from.get()) + i * 64, 64, {}, done));
  }
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(std::memcmp(to.get(), bytes.data(), bytes.size()), 0);
}

TEST_P(AsyncCopy, IgnoresSizeZero) {
  const PoolMemory memory = buffer(64);
  const ScopedSignal done(1);
  EXPECT_HSA(copy(memory.get(), static_cast<char*>(memory.get()) + 32, 0, {}, done));
  // An incorrect change of the signal would happen during this time.
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(done.value(), 1);
}

TEST_P(AsyncCopy, RejectsNullsAndInvalidHandles) {
  const PoolMemory memory = buffer(64);
  void* const to = static_cast<char*>(memory.get()) + 32;
  const ScopedSignal done(1);
  const hsa_signal_t null_signal{0};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, copy(nullptr, memory.get(), 32, {}, done));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, copy(to, nullptr, 32, {}, done));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_memory_async_copy(to, agent(), memory.get(), agent(), 32, 1, nullptr, done));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_amd_memory_async_copy(to, {1}, memory.get(), agent(), 32, 0, nullptr, done));
  EXPECT_STATUS_IN(copy(to, memory.get(), 32, {}, null_signal), HSA_STATUS_ERROR_INVALID_SIGNAL,
                   HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(done.value(), 1);
}

TEST_P(AsyncCopy, ReportsTimesIfProfilingIsEnabled) {
  const PoolMemory from = buffer(1 << 20);
  const PoolMemory to = buffer(1 << 20);
  std::memset(from.get(), 1, 1 << 20);
  const ScopedSignal done(1);
  ASSERT_HSA(hsa_amd_profiling_async_copy_enable(true));
  uint64_t before = 0;
  uint64_t after = 0;
  ASSERT_HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
  ASSERT_HSA(copy(to.get(), from.get(), 1 << 20, {}, done));
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  ASSERT_HSA(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
  hsa_amd_profiling_async_copy_time_t time{};
  EXPECT_HSA(hsa_amd_profiling_get_async_copy_time(done, &time));
  EXPECT_LE(time.start, time.end);
  EXPECT_GE(time.start, before);
  EXPECT_LE(time.end, after);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_profiling_get_async_copy_time(done, nullptr));
  EXPECT_HSA(hsa_amd_profiling_async_copy_enable(false));
}

// --- Boxes -----------------------------------------------------------------------------------------------

TEST_P(AsyncCopy, CopiesBox) {
  constexpr size_t kPitch = 256;
  constexpr size_t kSlice = kPitch * 16;
  constexpr size_t kSize = kSlice * 8;
  const PoolMemory from = buffer(kSize);
  const PoolMemory to = buffer(kSize);
  const auto bytes = pattern(kSize);
  std::memcpy(from.get(), bytes.data(), kSize);
  std::memset(to.get(), 0, kSize);
  const hsa_pitched_ptr_t destination{to.get(), kPitch, kSlice};
  const hsa_pitched_ptr_t source{from.get(), kPitch, kSlice};
  const hsa_dim3_t from_corner{8, 2, 1};
  const hsa_dim3_t to_corner{64, 4, 3};
  const hsa_dim3_t range{96, 5, 4};
  const ScopedSignal done(1);
  const hsa_status_t status = hsa_amd_memory_async_copy_rect(
      &destination, &to_corner, &source, &from_corner, &range, agent(), hsaDeviceToDevice, 0, nullptr, done);
  if (status == HSA_STATUS_ERROR_INVALID_AGENT || status == HSA_STATUS_ERROR_OUT_OF_RESOURCES) {
    GTEST_SKIP() << "the agent copies no boxes: " << status_name(status);
  }
  ASSERT_HSA(status);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  std::vector<unsigned char> expected(kSize, 0);
  for (size_t z = 0; z < range.z; ++z) {
    for (size_t y = 0; y < range.y; ++y) {
      std::memcpy(&expected[(to_corner.z + z) * kSlice + (to_corner.y + y) * kPitch + to_corner.x],
                  &bytes[(from_corner.z + z) * kSlice + (from_corner.y + y) * kPitch + from_corner.x],
                  range.x);
    }
  }
  EXPECT_EQ(std::memcmp(to.get(), expected.data(), kSize), 0);
}

TEST_P(AsyncCopy, RejectsInvalidBoxes) {
  const PoolMemory memory = buffer(4096);
  const hsa_pitched_ptr_t box{memory.get(), 64, 1024};
  const hsa_dim3_t corner{0, 0, 0};
  const hsa_dim3_t range{4, 1, 1};
  const ScopedSignal done(1);
  const auto copy = [&](const hsa_pitched_ptr_t* to, const hsa_dim3_t* extent) {
    return hsa_amd_memory_async_copy_rect(to, &corner, &box, &corner, extent, agent(), hsaDeviceToDevice, 0,
                                          nullptr, done);
  };
  EXPECT_STATUS_IN(copy(nullptr, &range), HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_STATUS_IN(copy(&box, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(done.value(), 1);
}

INSTANTIATE_FOR_AGENTS(AsyncCopy);

class CopyEngines : public HsaTest {};

TEST_F(CopyEngines, StatusRejectsCpuAgentPair) {
  const auto agents = all_agents();
  hsa_agent_t host{};
  for (const hsa_agent_t agent : agents) {
    if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) host = agent;
  }
  REQUIRE_HSA(hsa_amd_memory_copy_engine_status);
  uint32_t mask = 0;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_memory_copy_engine_status(host, host, &mask));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_memory_copy_engine_status({1}, host, &mask));
}

// --- Batches -----------------------------------------------------------------------------------------------

hsa_amd_memory_copy_op_t operation(hsa_signal_t done) {
  hsa_amd_memory_copy_op_t op{};
  op.version = HSA_AMD_MEMORY_COPY_OP_VERSION;
  op.completion_signal = done;
  return op;
}

TEST_P(AsyncCopy, BatchCopiesAndCountsEachOperation) {
  REQUIRE_HSA(hsa_amd_memory_async_batch_copy);
  constexpr size_t kSize = 70000;
  const PoolMemory from = buffer(kSize);
  const auto bytes = pattern(kSize, 7);
  std::memcpy(from.get(), bytes.data(), kSize);
  const PoolMemory single = buffer(kSize), first = buffer(kSize), second = buffer(kSize),
                   third = buffer(kSize), fourth = buffer(kSize);
  for (const PoolMemory* to : {&single, &first, &second, &third, &fourth}) std::memset(to->get(), 0, kSize);
  const ScopedSignal before(1);
  const ScopedSignal done(3);
  hsa_agent_t agents[] = {agent(), agent()};

  hsa_amd_memory_copy_op_t ops[] = {operation(done), operation(done), operation(done)};
  ops[0].src = from.get();
  ops[0].dst = single.get();
  ops[0].src_agent = ops[0].dst_agent = agent();
  ops[0].size = kSize;
  void* sources[] = {from.get(), static_cast<char*>(from.get()) + 100};
  void* destinations[] = {first.get(), second.get()};
  size_t sizes[] = {kSize, 1000};
  ops[1].num_entries = 2;
  ops[1].src_list = sources;
  ops[1].src_agent = agent();
  ops[1].dst_list = destinations;
  ops[1].dst_agent_list = agents;
  ops[1].size_list = sizes;
  void* everywhere[] = {third.get(), fourth.get()};
  ops[2].type = HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST;
  ops[2].num_entries = 2;
  ops[2].src = from.get();
  ops[2].src_agent = agent();
  ops[2].dst_list = everywhere;
  ops[2].dst_agent_list = agents;
  ops[2].size = kSize;

  const hsa_signal_t dependency = before;
  ASSERT_HSA(hsa_amd_memory_async_batch_copy(ops, 3, 1, &dependency));
  EXPECT_EQ(done.value(), 3) << "the dependency is not fulfilled";
  hsa_signal_store_screlease(before, 0);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  for (const PoolMemory* to : {&single, &first, &third, &fourth})
    EXPECT_EQ(std::memcmp(to->get(), bytes.data(), kSize), 0);
  EXPECT_EQ(std::memcmp(second.get(), bytes.data() + 100, 1000), 0);
  EXPECT_EQ(static_cast<char*>(second.get())[1000], 0);
}

TEST_P(AsyncCopy, BatchWithInvalidOperationCopiesNothing) {
  REQUIRE_HSA(hsa_amd_memory_async_batch_copy);
  const PoolMemory from = buffer(64), to = buffer(64);
  std::memset(from.get(), 1, 64);
  std::memset(to.get(), 0, 64);
  const ScopedSignal done(2), other(2);
  const auto status_with = [&](auto&& change) {
    hsa_amd_memory_copy_op_t ops[] = {operation(done), operation(done)};
    for (auto& op : ops) {
      op.src = from.get();
      op.dst = to.get();
      op.src_agent = op.dst_agent = agent();
      op.size = 64;
    }
    change(ops[1]);
    return hsa_amd_memory_async_batch_copy(ops, 2, 0, nullptr);
  };
  using Op = hsa_amd_memory_copy_op_t;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, status_with([](Op& op) { op.version = 0; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, status_with([](Op& op) { op.type = 6; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, status_with([](Op& op) { op.dst = nullptr; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, status_with([](Op& op) { op.size = 0; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, status_with([](Op& op) { op.reserved1[0] = 1; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([&](Op& op) { op.completion_signal = other; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Op& op) { op.type = HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, status_with([](Op& op) { op.dst_agent = {1}; }));
  EXPECT_STATUS(static_cast<hsa_status_t>(HSA_STATUS_ERROR_NOT_SUPPORTED),
                status_with([](Op& op) { op.type = HSA_AMD_MEMORY_COPY_OP_LINEAR_SWAP; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_memory_async_batch_copy(nullptr, 1, 0, nullptr));
  EXPECT_EQ(done.value(), 2);
  EXPECT_EQ(*static_cast<char*>(to.get()), 0);
}

// --- Files -------------------------------------------------------------------------------------------------

TEST_P(AsyncCopy, WritesAndReadsFiles) {
  REQUIRE_HSA(hsa_amd_ais_file_write);
  REQUIRE_HSA(hsa_amd_ais_file_read);
  const size_t size = (size_t{2} << 20) + 5;
  const PoolMemory from = buffer(size), to = buffer(size);
  const auto bytes = pattern(size, 3);
  std::memcpy(from.get(), bytes.data(), size);
  std::memset(to.get(), 0, size);
  hsa_amd_ais_file_handle_t file{};
  file.fd = ::memfd_create("contents", 0);
  ASSERT_GE(file.fd, 0);
  uint64_t moved = 0;
  int32_t problem = -1;
  ASSERT_HSA(hsa_amd_ais_file_write(file, from.get(), size, 10, &moved, &problem));
  EXPECT_EQ(moved, size);
  EXPECT_EQ(problem, 0);
  ASSERT_HSA(hsa_amd_ais_file_read(file, to.get(), size, 11, &moved, &problem));
  EXPECT_EQ(moved, size - 1) << "the file ends there";
  EXPECT_EQ(std::memcmp(to.get(), bytes.data() + 1, size - 1), 0);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                hsa_amd_ais_file_read(file, to.get(), size + (size_t{64} << 20), 0, &moved, &problem));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ais_file_read(file, to.get(), size, -1, &moved, &problem));
  ::close(file.fd);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_ais_file_read(file, to.get(), size, 0, &moved, &problem));
  EXPECT_EQ(moved, 0u);
  EXPECT_NE(problem, 0);
}

}  // namespace
}  // namespace conformance
