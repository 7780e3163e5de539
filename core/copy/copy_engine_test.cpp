#include "core/copy/copy_engine.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "api/support/clock.hpp"
#include "core/memory/memory_fixture.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

using testing::kCpu0;
using testing::kCpu1;
using testing::kGpu0;
using testing::kGpu1;
using testing::kNobody;

constexpr hsa_agent_t kAny{0};
constexpr hsa_signal_t kNone{0};

class Completion {
 public:
  explicit Completion(int64_t value = 1) : signal_(signal_pool::create(value)) {}
  ~Completion() { signal_pool::destroy(*signal_); }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  hsa_signal_t handle() const { return signal_->handle(); }
  operator hsa_signal_t() const { return handle(); }
  Signal* operator->() const { return signal_; }
  int64_t wait() const { return rigel::wait(*signal_, HSA_SIGNAL_CONDITION_LT, 1); }

 private:
  Signal* signal_;
};

std::vector<unsigned char> noise(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<unsigned char> bytes(size);
  // Checked iterators take seconds for these sizes.
  unsigned char* const begin = bytes.data();
  for (size_t at = 0; at < size; at += sizeof(uint32_t)) {
    const auto word = static_cast<uint32_t>(random());
    std::memcpy(begin + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

class CopyEngineTest : public ::testing::Test {
 protected:
  CopyEngineTest() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
  }

  void* allocate(size_t size) {
    void* ptr = nullptr;
    EXPECT_EQ(memory.heaps.memory_pool_allocate(testing::fine_pool(memory), size, 0, &ptr),
              HSA_STATUS_SUCCESS);
    return ptr;
  }

  Status async(void* to, const void* from, size_t size, hsa_signal_t completion,
               const std::vector<hsa_signal_t>& after = {}) {
    return engine.memory_async_copy(to, kCpu0, from, kCpu1, size, static_cast<uint32_t>(after.size()),
                                    after.empty() ? nullptr : after.data(), completion);
  }

  testing::TestMemory memory;
  CopyEngine engine{memory.agents, memory.pointers};
};

TEST_F(CopyEngineTest, SynchronousCopyCopiesEverySize) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{1} << 20, (size_t{20} << 20) + 3}) {
    const auto from = noise(size);
    std::vector<unsigned char> to(size);
    EXPECT_EQ(engine.memory_copy(to.data(), from.data(), size), HSA_STATUS_SUCCESS);
    EXPECT_EQ(to, from);
  }
}

TEST_F(CopyEngineTest, SynchronousCopyChecksArguments) {
  char byte = 0;
  EXPECT_EQ(engine.memory_copy(nullptr, &byte, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_copy(&byte, nullptr, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_copy(&byte, &byte, 0), HSA_STATUS_SUCCESS);
}

TEST_F(CopyEngineTest, RejectsRangesBeyondAllocation) {
  auto* ptr = static_cast<unsigned char*>(allocate(5000));
  std::vector<unsigned char> own(20000);
  Completion done;
  EXPECT_EQ(engine.memory_copy(ptr, own.data(), 8192), HSA_STATUS_SUCCESS) << "allocations are whole pages";
  EXPECT_EQ(engine.memory_copy(ptr, own.data(), 8193), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_copy(own.data(), ptr + 4999, 8000), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(async(ptr + 1, own.data(), 8192, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_copy(ptr, own.data(), ~size_t{0}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(done->load(), 1);
}

TEST_F(CopyEngineTest, AsynchronousCopyCopiesEverySizeAndDecrementsSignal) {
  for (const size_t size :
       {size_t{1}, size_t{4096}, size_t{8192}, size_t{8193}, size_t{1} << 20, (size_t{20} << 20) + 3}) {
    const auto from = noise(size);
    std::vector<unsigned char> to(size);
    Completion done(5);
    EXPECT_EQ(async(to.data(), from.data(), size, done), HSA_STATUS_SUCCESS);
    EXPECT_EQ(rigel::wait(*done.operator->(), HSA_SIGNAL_CONDITION_LT, 5), 4);
    EXPECT_EQ(to, from) << size;
  }
}

TEST_F(CopyEngineTest, EmptyCopyIgnoresSignals) {
  char byte = 0;
  Completion done, pending;
  EXPECT_EQ(async(&byte, &byte, 0, done), HSA_STATUS_SUCCESS);
  EXPECT_EQ(async(&byte, &byte, 0, done, {pending}), HSA_STATUS_SUCCESS);
  EXPECT_EQ(done->load(), 1);
}

TEST_F(CopyEngineTest, AsynchronousCopyChecksArguments) {
  char byte = 0;
  Completion done;
  const auto copy = [&](void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
                        uint32_t count, const hsa_signal_t* after, hsa_signal_t completion) {
    return engine.memory_async_copy(to, to_agent, from, from_agent, 1, count, after, completion);
  };
  EXPECT_EQ(copy(nullptr, kCpu0, &byte, kCpu0, 0, nullptr, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(&byte, kCpu0, nullptr, kCpu0, 0, nullptr, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kCpu0, 1, nullptr, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(&byte, kNobody, &byte, kCpu0, 0, nullptr, done), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kNobody, 0, nullptr, done), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kCpu0, 0, nullptr, kNone), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kCpu0, 0, nullptr, {done.handle().handle + 8}),
            HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kCpu0, 1, &kNone, done), HSA_STATUS_ERROR_INVALID_SIGNAL);
  Signal* gone = signal_pool::create(0);
  const hsa_signal_t handle = gone->handle();
  signal_pool::destroy(*gone);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kCpu0, 1, &handle, done), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(copy(&byte, kCpu0, &byte, kCpu0, 0, nullptr, handle), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(done->load(), 1);
  EXPECT_EQ(copy(&byte, kAny, &byte, kAny, 0, &handle, done), HSA_STATUS_SUCCESS)
      << "agents can be looked up, and a list of length 0 is ignored";
  EXPECT_EQ(done.wait(), 0);
}

TEST_F(CopyEngineTest, WaitsForEveryDependency) {
  for (const size_t size : {size_t{100}, size_t{1} << 20}) {
    const auto from = noise(size);
    std::vector<unsigned char> to(size);
    Completion done, first, second(2);
    EXPECT_EQ(async(to.data(), from.data(), size, done, {first, second}), HSA_STATUS_SUCCESS);
    second->store(0);
    // Time for a copy that incorrectly ignores a dependency.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(done->load(), 1);
    EXPECT_EQ(to, std::vector<unsigned char>(size)) << "nothing may be written yet";
    first->subtract<std::memory_order_release>(1);
    EXPECT_EQ(done.wait(), 0);
    EXPECT_EQ(to, from);
  }
}

TEST_F(CopyEngineTest, ChainsRunInOrder) {
  constexpr int kLinks = 200;
  std::vector<std::vector<unsigned char>> buffers(kLinks + 1, std::vector<unsigned char>(20'000));
  buffers[0] = noise(20'000);
  Completion start;
  std::vector<std::unique_ptr<Completion>> links;
  for (int i = 0; i < kLinks; ++i) {
    links.push_back(std::make_unique<Completion>());
    const hsa_signal_t before = i == 0 ? start.handle() : links[static_cast<size_t>(i) - 1]->handle();
    ASSERT_EQ(async(buffers[static_cast<size_t>(i) + 1].data(), buffers[static_cast<size_t>(i)].data(),
                    20'000, *links.back(), {before}),
              HSA_STATUS_SUCCESS);
  }
  start->store<std::memory_order_release>(0);
  EXPECT_EQ(links.back()->wait(), 0);
  EXPECT_EQ(buffers.back(), buffers.front());
}

TEST_F(CopyEngineTest, FailedDependencyFailsCopy) {
  std::vector<unsigned char> to(100), from = noise(100);
  Completion failed(-1), pending, second, third;
  EXPECT_EQ(async(to.data(), from.data(), 100, second, {failed}), HSA_STATUS_SUCCESS);
  EXPECT_LT(second.wait(), 0);
  EXPECT_EQ(async(to.data(), from.data(), 100, third, {pending}), HSA_STATUS_SUCCESS);
  pending->store(-7);
  EXPECT_LT(third.wait(), 0);
  EXPECT_EQ(to, std::vector<unsigned char>(100));
}

TEST_F(CopyEngineTest, DestructorDropsWaitingCopies) {
  std::vector<unsigned char> to(100), from = noise(100);
  Completion never, done;
  {
    CopyEngine passing(memory.agents, memory.pointers);
    for (int i = 0; i < 10; ++i) {
      const hsa_signal_t after = never;
      ASSERT_EQ(passing.memory_async_copy(to.data(), kCpu0, from.data(), kCpu0, 100, 1, &after, done),
                HSA_STATUS_SUCCESS);
    }
  }
  never->store(0);
  EXPECT_EQ(done->load(), 1);
}

TEST_F(CopyEngineTest, DestructorFinishesRunningCopies) {
  constexpr size_t kCopies = 20, kBytes = 800'000;
  const auto from = noise(kCopies * kBytes);
  std::vector<unsigned char> to(from.size());
  Completion done(kCopies);
  {
    CopyEngine passing(memory.agents, memory.pointers);
    for (size_t i = 0; i < kCopies; ++i) {
      ASSERT_EQ(passing.memory_async_copy(to.data() + i * kBytes, kCpu0, from.data() + i * kBytes, kCpu0,
                                          kBytes, 0, nullptr, done),
                HSA_STATUS_SUCCESS);
    }
  }
  EXPECT_EQ(done->load(), 0);
  EXPECT_EQ(to, from);
}

TEST_F(CopyEngineTest, CopiesOfManyThreadsComplete) {
  constexpr int kThreads = 4, kCopies = 200;
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937 random(static_cast<unsigned>(id));
      for (int i = 0; i < kCopies; ++i) {
        const size_t size = 1 + random() % 100'000;
        const auto from = noise(size, random());
        std::vector<unsigned char> to(size);
        Completion before(i % 2), done;
        const hsa_signal_t after = before;
        EXPECT_EQ(engine.memory_async_copy(to.data(), kAny, from.data(), kAny, size, 1, &after, done),
                  HSA_STATUS_SUCCESS);
        before->store<std::memory_order_release>(0);
        EXPECT_EQ(done.wait(), 0);
        EXPECT_EQ(to, from);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(CopyEngineTest, ProfiledCopyRecordsTimes) {
  std::vector<unsigned char> to(1 << 20), from(1 << 20);
  hsa_amd_profiling_async_copy_time_t time{};
  for (const size_t size : {size_t{64}, size_t{1} << 20}) {
    Completion done, profiled;
    EXPECT_EQ(engine.profiling_async_copy_enable(false), HSA_STATUS_SUCCESS);
    EXPECT_EQ(async(to.data(), from.data(), size, done), HSA_STATUS_SUCCESS);
    EXPECT_EQ(done.wait(), 0);
    EXPECT_EQ(engine.profiling_get_async_copy_time(done, &time), HSA_STATUS_ERROR);

    EXPECT_EQ(engine.profiling_async_copy_enable(true), HSA_STATUS_SUCCESS);
    const uint64_t before = system_time_ns();
    EXPECT_EQ(async(to.data(), from.data(), size, profiled), HSA_STATUS_SUCCESS);
    EXPECT_EQ(profiled.wait(), 0);
    EXPECT_EQ(engine.profiling_get_async_copy_time(profiled, &time), HSA_STATUS_SUCCESS);
    EXPECT_LE(before, time.start);
    EXPECT_LE(time.start, time.end);
    EXPECT_LE(time.end, system_time_ns());
  }
  Completion done;
  EXPECT_EQ(engine.profiling_get_async_copy_time(done, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.profiling_get_async_copy_time(kNone, &time), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(CopyEngineTest, DoorbellHasNoCopyTimes) {
  Signal* const doorbell = signal_pool::create(0, 0, AMD_SIGNAL_KIND_DOORBELL);
  ASSERT_NE(doorbell, nullptr);
  doorbell->call_doorbell([](void*, uint64_t) {}, this);  // stored in the fields of copy times
  hsa_amd_profiling_async_copy_time_t time{};
  EXPECT_EQ(engine.profiling_get_async_copy_time(doorbell->handle(), &time), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(time.start, 0u);
  EXPECT_EQ(time.end, 0u);
  EXPECT_TRUE(signal_pool::destroy(*doorbell));
}

TEST_F(CopyEngineTest, FillSetsExactlyTheRange) {
  auto* words = static_cast<uint32_t*>(allocate(4096));
  EXPECT_EQ(engine.memory_fill(words + 1, 0xdeadbeef, 1000), HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[0], 0u);
  for (size_t i = 1; i <= 1000; ++i) ASSERT_EQ(words[i], 0xdeadbeefu);
  EXPECT_EQ(words[1001], 0u);
}

TEST_F(CopyEngineTest, FillChecksArguments) {
  auto* words = static_cast<uint32_t*>(allocate(4096));
  uint32_t own[4] = {};
  EXPECT_EQ(engine.memory_fill(nullptr, 0, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_fill(reinterpret_cast<unsigned char*>(words) + 2, 0, 1),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_fill(own, 0, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(engine.memory_fill(own, 0, 4), HSA_STATUS_ERROR_INVALID_ALLOCATION) << "not the runtime's memory";
  EXPECT_EQ(engine.memory_fill(words, 0, 1025), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(engine.memory_fill(words + 1023, 0, 2), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(engine.memory_fill(words, 0, size_t{1} << 62), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  void* agent_ptr = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(own, sizeof own, nullptr, 0, &agent_ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(engine.memory_fill(own, 7, 4), HSA_STATUS_SUCCESS);
  EXPECT_EQ(own[3], 7u);
  EXPECT_EQ(memory.locked.memory_unlock(own), HSA_STATUS_SUCCESS);
}

// Two adjoining mappings; the host can access only the first.
class VirtualMemoryCopies : public CopyEngineTest {
 protected:
  static constexpr size_t kPart = 64 << 10;

  VirtualMemoryCopies() {
    void* va = nullptr;
    EXPECT_EQ(vmem.address_reserve(&va, 2 * kPart, 0, 0), HSA_STATUS_SUCCESS);
    first = static_cast<unsigned char*>(va);
    second = first + kPart;
    hsa_amd_vmem_alloc_handle_t handle{};
    EXPECT_EQ(vmem.handle_create(testing::fine_pool(memory), kPart, MEMORY_TYPE_NONE, 0, &handle),
              HSA_STATUS_SUCCESS);
    for (unsigned char* part : {first, second})
      EXPECT_EQ(vmem.map(part, kPart, 0, handle, 0), HSA_STATUS_SUCCESS);
    allow(first, HSA_ACCESS_PERMISSION_RW);
  }

  void allow(void* part, hsa_access_permission_t permission) {
    const hsa_amd_memory_access_desc_t desc{permission, kCpu0};
    EXPECT_EQ(vmem.set_access(part, kPart, &desc, 1), HSA_STATUS_SUCCESS);
  }

  /// A box with a row in each mapping, and one in the program's memory.
  Status copy_box(bool out) {
    const hsa_pitched_ptr_t there{first, kPart, 0}, here{own.data(), 64, 0};
    const hsa_dim3_t origin{0, 0, 0}, range{32, 2, 1};
    const Status status =
        engine.memory_async_copy_rect(out ? &here : &there, &origin, out ? &there : &here, &origin, &range,
                                      kCpu0, hsaHostToHost, 0, nullptr, done);
    if (status == HSA_STATUS_SUCCESS) {
      EXPECT_EQ(done.wait(), 0);
      done->store(1);
    }
    return status;
  }

  void expect_reads(Status sync, Status asynchronous) {
    unsigned char* const from = second - 50;
    EXPECT_EQ(engine.memory_copy(own.data(), from, 100), sync);
    EXPECT_EQ(async(own.data(), from, 100, done), asynchronous);
    if (asynchronous == HSA_STATUS_SUCCESS) done->store(1);
    EXPECT_EQ(copy_box(true), asynchronous);
    EXPECT_EQ(engine.memory_copy_box({{own.data(), 64, 0, 96}, {first, kPart, 0, kPart + 32}, 32, 2, 1}),
              sync);
  }
  void expect_writes(Status sync, Status asynchronous) {
    unsigned char* const to = second - 52;
    EXPECT_EQ(engine.memory_copy(to, own.data(), 100), sync);
    EXPECT_EQ(engine.memory_fill(to, 5, 25), sync);
    EXPECT_EQ(async(to, own.data(), 100, done), asynchronous);
    if (asynchronous == HSA_STATUS_SUCCESS) done->store(1);
    EXPECT_EQ(copy_box(false), asynchronous);
    EXPECT_EQ(engine.memory_copy_box({{first, kPart, 0, kPart + 32}, {own.data(), 64, 0, 96}, 32, 2, 1}),
              sync);
  }

  VirtualMemory& vmem = memory.virtual_memory;
  unsigned char* first = nullptr;
  unsigned char* second = nullptr;
  std::vector<unsigned char> own = noise(4096);
  Completion done;
};

TEST_F(VirtualMemoryCopies, UseHostIfItHasAccess) {
  for (const auto permission : {HSA_ACCESS_PERMISSION_NONE, HSA_ACCESS_PERMISSION_RO,
                                HSA_ACCESS_PERMISSION_WO, HSA_ACCESS_PERMISSION_RW}) {
    SCOPED_TRACE(permission);
    allow(second, permission);
    const auto answer = [&](hsa_access_permission_t needed, Status refusal) {
      return (permission & needed) != 0 ? HSA_STATUS_SUCCESS : refusal;
    };
    expect_reads(answer(HSA_ACCESS_PERMISSION_RO, HSA_STATUS_ERROR_INVALID_ALLOCATION),
                 answer(HSA_ACCESS_PERMISSION_RO, HSA_STATUS_ERROR_INVALID_AGENT));
    expect_writes(answer(HSA_ACCESS_PERMISSION_WO, HSA_STATUS_ERROR_INVALID_ALLOCATION),
                  answer(HSA_ACCESS_PERMISSION_WO, HSA_STATUS_ERROR_INVALID_AGENT));
    EXPECT_EQ(engine.memory_copy(own.data(), second - 100, 100), HSA_STATUS_SUCCESS)
        << "what is not copied does not matter";
    EXPECT_EQ(done->load(), 1);
  }
}

// Devices address pinned memory where the host has no mapping.
class ElsewherePinner final : public HostPinner {
 public:
  Result<void*> pin(void* host, size_t size, const AgentSet&, uint32_t) override {
    const size_t offset = reinterpret_cast<uintptr_t>(host) % 4096;
    void* const reserved =
        mmap(nullptr, offset + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return static_cast<unsigned char*>(reserved) + offset;
  }
  void unpin(void* host, size_t size, void* seen) noexcept override {
    const size_t offset = reinterpret_cast<uintptr_t>(host) % 4096;
    munmap(static_cast<unsigned char*>(seen) - offset, offset + size);
  }
};

TEST_F(CopyEngineTest, AcceptsAgentAddressOfLockedMemory) {
  memory.locked.set_pinner(std::make_unique<ElsewherePinner>());
  constexpr size_t kBytes = 20 << 20;  // enough for several threads
  std::vector<unsigned char> own(kBytes);
  hsa_agent_t gpu = kGpu0;
  void* locked = nullptr;
  ASSERT_EQ(memory.locked.memory_lock(own.data(), kBytes, &gpu, 1, &locked), HSA_STATUS_SUCCESS);
  auto* const seen = static_cast<unsigned char*>(locked);
  ASSERT_NE(seen, own.data());

  EXPECT_EQ(engine.memory_fill(seen + 4, 0x01010101, kBytes / 4 - 1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(own[3], 0);
  EXPECT_EQ(own[4], 1);
  EXPECT_EQ(own[kBytes - 1], 1);
  EXPECT_EQ(engine.memory_fill(seen + 4, 1, kBytes / 4), HSA_STATUS_ERROR_INVALID_ALLOCATION);

  for (const size_t size : {size_t{100}, size_t{64} << 10, kBytes - 5}) {
    const auto from = noise(size);
    std::vector<unsigned char> back(size);
    EXPECT_EQ(engine.memory_copy(seen + 5, from.data(), size), HSA_STATUS_SUCCESS);
    EXPECT_EQ(engine.memory_copy(back.data(), seen + 5, size), HSA_STATUS_SUCCESS);
    EXPECT_EQ(back, from);
    std::fill(back.begin(), back.end(), 0);
    std::fill(own.begin(), own.end(), 0);
    Completion there, again;
    EXPECT_EQ(async(seen + 5, from.data(), size, there), HSA_STATUS_SUCCESS);
    EXPECT_EQ(async(back.data(), seen + 5, size, again, {there}), HSA_STATUS_SUCCESS);
    EXPECT_EQ(again.wait(), 0);
    EXPECT_EQ(back, from);
  }

  const hsa_pitched_ptr_t source{seen, 64, 0}, target{seen + 4096, 64, 0};
  const hsa_dim3_t origin{0, 0, 0}, range{32, 8, 1};
  Completion done;
  EXPECT_EQ(engine.memory_async_copy_rect(&target, &origin, &source, &origin, &range, kCpu0, hsaHostToHost, 0,
                                          nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(done.wait(), 0);
  EXPECT_EQ(std::memcmp(own.data() + 4096 + 7 * 64, own.data() + 7 * 64, 32), 0);
  EXPECT_EQ(memory.locked.memory_unlock(own.data()), HSA_STATUS_SUCCESS);
}

// A device that copies with the calling thread, and counts.
class FakeCopier final : public DeviceCopier {
 public:
  Status copy(void* to, const void* from, size_t size) override {
    ++copies;
    if (throws) throw std::bad_alloc();
    if (fails) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    std::memmove(to, from, size);
    return HSA_STATUS_SUCCESS;
  }
  Status fill(void* to, uint32_t value, size_t count) override {
    ++fills;
    std::fill_n(static_cast<uint32_t*>(to), count, value);
    return HSA_STATUS_SUCCESS;
  }
  Result<bool> submit(const DeviceCopyRequest& request) override {
    if (!takes_over) return false;
    ++submissions;
    engine = request.engines;
    copy_rows(request.box, 0, request.box.rows());
    request.completion->subtract(1);
    return true;
  }
  Engines engines(hsa_agent_t, hsa_agent_t) override { return {3, available, 2}; }

  std::atomic<int> copies{0}, fills{0}, submissions{0};
  bool fails = false, throws = false, takes_over = false;
  uint32_t engine = 0, available = 1;
};

// Memory of a device that only the device can access, according to its heap.
class FakeDeviceProvider final : public MemoryProvider {
 public:
  Result<Backing> map(const BlockRequest& request) override {
    const size_t whole = (request.size + request.alignment - 1) / request.alignment * request.alignment;
    return Backing{std::aligned_alloc(request.alignment, whole), request.size, 0};
  }
  void unmap(const Backing& backing) noexcept override { std::free(backing.address); }
  Status set_access(const Backing&, const AgentSet&) override { return HSA_STATUS_SUCCESS; }
};

class DeviceCopies : public CopyEngineTest {
 protected:
  DeviceCopies() : first(add(kGpu0)), second(add(kGpu1)) {}

  FakeCopier& add(hsa_agent_t agent) {
    HeapFacts facts;
    facts.global_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
    facts.owner = agent;
    facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
    facts.host_accessible = false;
    facts.size = facts.allocation_limit = 1 << 30;
    memory.heaps.add_heap(facts, std::make_unique<FakeDeviceProvider>());
    auto copier = std::make_unique<FakeCopier>();
    FakeCopier& result = *copier;
    engine.add_device(agent, std::move(copier));
    return result;
  }

  unsigned char* allocate_on(hsa_agent_t agent, size_t size) {
    void* ptr = nullptr;
    EXPECT_EQ(memory.heaps.memory_pool_allocate(memory.heaps.find_heap_of(agent, 0)->pool(), size, 0, &ptr),
              HSA_STATUS_SUCCESS);
    return static_cast<unsigned char*>(ptr);
  }

  FakeCopier& first;
  FakeCopier& second;
};

TEST_F(DeviceCopies, UseDeviceThatOwnsMemory) {
  const auto from = noise(1000);
  std::vector<unsigned char> back(1000);
  unsigned char* there = allocate_on(kGpu0, 1000);
  EXPECT_EQ(engine.memory_copy(there, from.data(), 1000), HSA_STATUS_SUCCESS);
  EXPECT_EQ(engine.memory_copy(back.data(), there, 1000), HSA_STATUS_SUCCESS);
  EXPECT_EQ(back, from);
  EXPECT_EQ(first.copies, 2);
  EXPECT_EQ(second.copies, 0);
  EXPECT_EQ(engine.memory_fill(there, 3, 10), HSA_STATUS_SUCCESS);
  EXPECT_EQ(first.fills, 1);
}

TEST_F(DeviceCopies, BetweenDevicesWithoutAccessUseHost) {
  const size_t size = (9 << 20) + 5;
  unsigned char* here = allocate_on(kGpu0, size);
  unsigned char* there = allocate_on(kGpu1, size);
  const auto content = noise(size);
  std::memcpy(here, content.data(), size);
  EXPECT_EQ(engine.memory_copy(there, here, size), HSA_STATUS_SUCCESS);
  EXPECT_EQ(std::memcmp(there, content.data(), size), 0);
  EXPECT_EQ(first.copies, 3);
  EXPECT_EQ(second.copies, 3);
}

TEST_F(DeviceCopies, FailWithoutMemory) {
  unsigned char* here = allocate_on(kGpu0, 100);
  unsigned char* there = allocate_on(kGpu1, 100);
  second.throws = true;
  Completion done;
  EXPECT_EQ(engine.memory_async_copy(there, kGpu1, here, kGpu0, 100, 0, nullptr, done), HSA_STATUS_SUCCESS);
  EXPECT_EQ(done.wait(), -int64_t{HSA_STATUS_ERROR_OUT_OF_RESOURCES});
}

TEST_F(DeviceCopies, BetweenDevicesUseDeviceWithAccess) {
  const size_t size = (9 << 20) + 5;
  first.takes_over = second.takes_over = true;
  unsigned char* here = allocate_on(kGpu0, size);
  unsigned char* there = allocate_on(kGpu1, size);
  const auto content = noise(size);
  std::memcpy(here, content.data(), size);
  const auto copy = [&] {
    std::memset(there, 0, size);
    first.submissions = second.submissions = first.copies = second.copies = 0;
    Completion done;
    EXPECT_EQ(engine.memory_async_copy(there, kGpu1, here, kGpu0, size, 0, nullptr, done),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(done.wait(), 0);
    EXPECT_EQ(std::memcmp(there, content.data(), size), 0);
  };
  copy();
  EXPECT_EQ(first.submissions + second.submissions, 0) << "neither reaches the other's";
  EXPECT_EQ(first.copies, 3) << "through the host, in pieces";
  EXPECT_EQ(second.copies, 3);

  ASSERT_EQ(memory.pointers.agents_allow_access(1, &kGpu1, nullptr, here), HSA_STATUS_SUCCESS);
  copy();
  EXPECT_EQ(first.submissions, 0);
  EXPECT_EQ(second.submissions, 1);

  ASSERT_EQ(memory.pointers.agents_allow_access(1, &kGpu0, nullptr, there), HSA_STATUS_SUCCESS);
  copy();
  EXPECT_EQ(first.submissions, 1) << "the source's, if both can";
  EXPECT_EQ(second.submissions, 0);
}

TEST_F(DeviceCopies, AsynchronousCopyUsesThreadIfDeviceDeclines) {
  const auto from = noise(1000);
  unsigned char* there = allocate_on(kGpu0, 1000);
  Completion done, pending;
  const hsa_signal_t after = pending;
  EXPECT_EQ(engine.memory_async_copy(there, kGpu0, from.data(), kCpu0, 1000, 1, &after, done),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(first.copies, 0);
  pending->store(0);
  EXPECT_EQ(done.wait(), 0);
  EXPECT_EQ(first.copies, 1);

  first.takes_over = true;
  Completion again;
  EXPECT_EQ(engine.memory_async_copy(there, kGpu0, from.data(), kCpu0, 1000, 0, nullptr, again),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(first.submissions, 1);
}

TEST_F(DeviceCopies, FailureMakesSignalNegative) {
  first.fails = true;
  unsigned char* there = allocate_on(kGpu0, 1000);
  Completion done;
  EXPECT_EQ(engine.memory_async_copy(there, kGpu0, there, kGpu0, 500, 0, nullptr, done), HSA_STATUS_SUCCESS);
  EXPECT_LT(done.wait(), 0);
}

TEST_F(DeviceCopies, EngineMaskSelectsEngine) {
  first.takes_over = true;
  const auto from = noise(1000);
  unsigned char* there = allocate_on(kGpu0, 1000);
  Completion done(2);
  const auto on = [&](hsa_agent_t to, hsa_agent_t from_agent, int id, bool force) {
    return engine.memory_async_copy_on_engine(there, to, from.data(), from_agent, 1000, 0, nullptr, done,
                                              static_cast<hsa_amd_sdma_engine_id_t>(id), force);
  };
  for (const int wrong : {0, 3, 4, 0x10000}) {
    EXPECT_EQ(on(kGpu0, kCpu0, wrong, false), HSA_STATUS_ERROR_INVALID_ARGUMENT) << wrong;
  }
  EXPECT_EQ(on(kGpu0, kCpu0, 2, false), HSA_STATUS_SUCCESS);
  EXPECT_EQ(first.engine, 2u);
  EXPECT_EQ(on(kGpu0, kGpu0, 2, false), HSA_STATUS_SUCCESS);
  EXPECT_EQ(first.engine, 0u) << "within a device the engine is not forced";
  EXPECT_EQ(done.wait(), 0);
  std::vector<unsigned char> own(10);
  EXPECT_EQ(engine.memory_async_copy_on_engine(own.data(), kCpu0, from.data(), kCpu0, 10, 0, nullptr, done,
                                               HSA_AMD_SDMA_ENGINE_0, false),
            HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "the host has no engines";
}

TEST_F(DeviceCopies, EngineMasksAreReported) {
  uint32_t mask = 99;
  EXPECT_EQ(engine.memory_copy_engine_status(kGpu0, kCpu0, &mask), HSA_STATUS_SUCCESS);
  EXPECT_EQ(mask, 1u);
  EXPECT_EQ(engine.memory_get_preferred_copy_engine(kCpu0, kGpu0, &mask), HSA_STATUS_SUCCESS);
  EXPECT_EQ(mask, 2u);
  first.available = 0;
  EXPECT_EQ(engine.memory_copy_engine_status(kGpu0, kCpu0, &mask), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(mask, 0u);
  EXPECT_EQ(engine.memory_copy_engine_status(kGpu0, kGpu0, &mask), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(engine.memory_copy_engine_status(kCpu0, kCpu1, &mask), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(engine.memory_get_preferred_copy_engine(kCpu0, kNobody, &mask), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(engine.memory_copy_engine_status(kGpu0, kCpu0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(engine.memory_get_preferred_copy_engine(kGpu0, kCpu0, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(DeviceCopies, BoxesUseDevice) {
  alignas(4) unsigned char from[64] = {}, to[64] = {};
  for (unsigned i = 0; i < 64; ++i) from[i] = static_cast<unsigned char>(i);
  const hsa_pitched_ptr_t source{from, 8, 32}, target{to, 16, 0};
  const hsa_dim3_t source_at{1, 1, 1}, target_at{4, 2, 0}, range{3, 2, 1}, empty{3, 0, 1};
  Completion done;
  const auto copy = [&](const hsa_dim3_t* extent, hsa_agent_t agent, hsa_amd_copy_direction_t direction) {
    return engine.memory_async_copy_rect(&target, &target_at, &source, &source_at, extent, agent, direction,
                                         0, nullptr, done);
  };
  EXPECT_EQ(copy(&range, kNobody, hsaDeviceToHost), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(copy(&range, kGpu0, hsaHostToHost), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(nullptr, kGpu0, hsaDeviceToHost), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(&empty, kGpu0, hsaDeviceToHost), HSA_STATUS_SUCCESS);
  EXPECT_EQ(done->load(), 1) << "an empty box signals nothing";
  EXPECT_EQ(copy(&range, kGpu0, hsaDeviceToHost), HSA_STATUS_SUCCESS);
  EXPECT_EQ(done.wait(), 0);
  EXPECT_EQ(first.copies, 2) << "a row each";
  for (unsigned y = 0; y < 2; ++y) {
    for (unsigned x = 0; x < 3; ++x) EXPECT_EQ(to[16 * (2 + y) + 4 + x], 32 + 8 * (1 + y) + 1 + x);
  }
  EXPECT_EQ(std::count(to, to + 64, 0), 58);
}

TEST_F(DeviceCopies, BoxesOfHostMemoryUseHost) {
  alignas(4) unsigned char from[64] = {}, to[64] = {};
  for (unsigned i = 0; i < 64; ++i) from[i] = static_cast<unsigned char>(i);
  const hsa_pitched_ptr_t source{from, 8, 32}, target{to, 16, 0};
  const hsa_dim3_t source_at{1, 1, 1}, target_at{4, 2, 0}, range{3, 2, 1};
  for (const auto direction : {hsaHostToHost, hsaHostToDevice, hsaDeviceToHost, hsaDeviceToDevice}) {
    std::fill(to, to + 64, 0);
    Completion done;
    EXPECT_EQ(engine.memory_async_copy_rect(&target, &target_at, &source, &source_at, &range, kCpu0,
                                            direction, 0, nullptr, done),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(done.wait(), 0);
    for (unsigned y = 0; y < 2; ++y) {
      for (unsigned x = 0; x < 3; ++x) EXPECT_EQ(to[16 * (2 + y) + 4 + x], 32 + 8 * (1 + y) + 1 + x);
    }
    EXPECT_EQ(std::count(to, to + 64, 0), 58);
  }
  EXPECT_EQ(first.copies, 0);
}

TEST_F(DeviceCopies, BoxesBeyondAllocationAreRejected) {
  unsigned char* there = allocate_on(kGpu0, 4096);
  alignas(4) unsigned char own[8192] = {};
  const hsa_pitched_ptr_t source{own, 64, 0}, target{there, 64, 0};
  const hsa_dim3_t zero{0, 0, 0}, inside{64, 64, 1}, outside{64, 65, 1};
  Completion done(2);
  EXPECT_EQ(engine.memory_async_copy_rect(&target, &zero, &source, &zero, &inside, kGpu0, hsaHostToDevice, 0,
                                          nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(engine.memory_async_copy_rect(&target, &zero, &source, &zero, &outside, kGpu0, hsaHostToDevice, 0,
                                          nullptr, done),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(rigel::wait(*done.operator->(), HSA_SIGNAL_CONDITION_LT, 2), 1);
}

TEST_F(DeviceCopies, BoxesWithoutDeviceAccessAreRejected) {
  unsigned char* there = allocate_on(kGpu0, 4000);
  unsigned char* elsewhere = allocate_on(kGpu1, 4000);
  const auto copy = [&](unsigned char* to, unsigned char* from, hsa_agent_t agent) {
    const hsa_pitched_ptr_t source{from, 64, 0}, target{to, 64, 0};
    const hsa_dim3_t zero{0, 0, 0}, all_of_its_page{64, 64, 1};
    Completion done;
    const Status status = engine.memory_async_copy_rect(&target, &zero, &source, &zero, &all_of_its_page,
                                                        agent, hsaDeviceToDevice, 0, nullptr, done);
    if (status == HSA_STATUS_SUCCESS) {
      EXPECT_EQ(done.wait(), 0);
    }
    return status;
  };
  EXPECT_EQ(copy(elsewhere, there, kGpu0), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(copy(there, elsewhere, kGpu0), HSA_STATUS_ERROR_INVALID_AGENT);
  ASSERT_EQ(memory.pointers.agents_allow_access(1, &kGpu0, nullptr, elsewhere), HSA_STATUS_SUCCESS);
  EXPECT_EQ(copy(elsewhere, there, kGpu0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(copy(there, elsewhere, kGpu0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(copy(there, elsewhere, kGpu1), HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(DeviceCopies, InaccessibleMemoryIsRejected) {
  memory.agents.add({.handle = kNobody, .type = HSA_DEVICE_TYPE_GPU, .node = 9});
  HeapFacts facts;
  facts.owner = kNobody;
  facts.host_accessible = false;
  facts.size = facts.allocation_limit = 1 << 20;
  const Heap& heap = memory.heaps.add_heap(facts, std::make_unique<FakeDeviceProvider>());
  void* ptr = nullptr;
  ASSERT_EQ(memory.heaps.memory_pool_allocate(heap.pool(), 100, 0, &ptr), HSA_STATUS_SUCCESS);
  unsigned char own[100] = {};
  Completion done;
  EXPECT_EQ(engine.memory_copy(own, ptr, 100), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(async(own, ptr, 100, done), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(engine.memory_fill(ptr, 0, 1), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

}  // namespace
}  // namespace rigel
