// CopyEnginesTest and fills of an open device: the backend's own queues on the virtual GPU.
#include "backends/common/copy_engines.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include "api/support/testing/failing_requests.hpp"
#include "backends/common/queue_error.hpp"
#include "backends/common/testing/backend_host.hpp"
#include "backends/common/testing/every_board.hpp"

namespace rigel::gfx {
namespace {

using testing::eventually;

std::vector<uint8_t> noise(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  std::minstd_rand random(1);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random() >> 8 | 1);
  return data;
}

class CopyEnginesTest : public testing::EveryBoard {
 protected:
  /// Opens the device. `sdma` is the option of that name. Returns whether it opened.
  void open(const char* sdma = "auto") {
    host_ = std::make_unique<testing::BackendHost>(gpu());
    host_->set_option("sdma", sdma);
    ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS)
        << host_->last_report();
  }
  void TearDown() override {
    device_.reset();
    host_.reset();
  }
  uint8_t* bytes(size_t size) { return static_cast<uint8_t*>(gpu().share(size)); }

  hsabe_copy_t copy(const void* to, const void* from, uint64_t size, const testing::VirtualSignal& done) {
    hsabe_copy_t copy{};
    copy.struct_size = sizeof(copy);
    copy.destination = reinterpret_cast<uint64_t>(to);
    copy.source = reinterpret_cast<uint64_t>(from);
    copy.width = size;
    copy.height = copy.depth = 1;
    copy.completion = done.handle();
    copy.from_host = 1;
    return copy;
  }

  std::unique_ptr<testing::BackendHost> host_;
  std::unique_ptr<Device> device_;
};

TEST_P(CopyEnginesTest, UseRequestedEngines) {
  open("on");
  const auto data = noise(1'000'003);
  uint8_t* const from = bytes(data.size());
  uint8_t* const to = bytes(data.size() + 8);
  std::memcpy(from, data.data(), data.size());
  const testing::VirtualSignal done(gpu(), 1);
  ASSERT_EQ(device_->copies().submit(copy(to + 1, from, data.size(), done)), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to + 1, data.data(), data.size()), 0);
  EXPECT_EQ(host_->engine_requests(), 1);
}

TEST_P(CopyEnginesTest, WaitForDependenciesAndRecordTimes) {
  open("on");
  uint8_t* const from = bytes(4096);
  uint8_t* const to = bytes(4096);
  from[0] = 7;
  auto* const times = static_cast<uint64_t*>(gpu().share(4096));
  const testing::VirtualSignal first(gpu(), 1), second(gpu(), 2), zero(gpu(), 0), done(gpu(), 1);
  const uint64_t dependencies[] = {first.handle(), zero.handle(), second.handle()};
  hsabe_copy_t one = copy(to, from, 16, done);
  one.dependencies = dependencies;
  one.dependency_count = 3;
  one.start_time = reinterpret_cast<uint64_t>(times);
  one.end_time = reinterpret_cast<uint64_t>(times + 4);
  ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
  // Time for a copy that incorrectly ignores its dependencies; again below.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(done.value(), 1);
  second.set(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(done.value(), 1);
  EXPECT_EQ(to[0], 0);
  first.set(0);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(to[0], 7);
  EXPECT_GT(times[0], 0u);
  EXPECT_GE(times[4], times[0]);
}

TEST_P(CopyEnginesTest, RunConcurrently) {
  open("on");
  constexpr int kThreads = 4, kEach = 300;
  uint8_t* const from = bytes(4096);
  uint8_t* const to = bytes(kThreads * 4096);
  from[5] = 9;
  const testing::VirtualSignal done(gpu(), kThreads * kEach);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kEach; ++n) {
        hsabe_copy_t one = copy(to + i * 4096, from, 64, done);
        if (n % 2 != 0) one.from_host = 0, one.to_host = 1;
        EXPECT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return done.value() == 0; }));
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(to[i * 4096 + 5], 9);
}

TEST_P(CopyEnginesTest, ReportEngines) {
  open("on");
  uint32_t all = 0, idle = 0;
  device_->copies().engines(&all, &idle);
  const uint32_t expected = (1u << (2 + device_->facts.sdma_xgmi_engines)) - 1;
  EXPECT_EQ(all, expected);
  EXPECT_EQ(idle, expected);
  EXPECT_EQ(host_->engine_requests(), 0) << "asking takes none";
  device_.reset();
  open("off");
  device_->copies().engines(&all, &idle);
  EXPECT_EQ(all, expected) << "by name";
  EXPECT_EQ(idle, expected);
  const auto data = noise(4096);
  uint8_t* const from = bytes(4096);
  uint8_t* const to = bytes(4096);
  std::memcpy(from, data.data(), data.size());
  const testing::VirtualSignal done(gpu(), 1);
  hsabe_copy_t named = copy(to, from, 4096, done);
  named.engines = 2;
  ASSERT_EQ(device_->copies().submit(named), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to, data.data(), data.size()), 0);
  EXPECT_EQ(host_->engine_requests(), 0);
}

TEST_P(CopyEnginesTest, UseEveryEngineByNumber) {
  open("on");
  uint32_t all = 0, idle = 0;
  device_->copies().engines(&all, &idle);
  const auto data = noise(4096);
  uint8_t* const from = bytes(4096);
  uint8_t* const to = bytes(4096);
  std::memcpy(from, data.data(), data.size());
  int engines = 0;
  for (; (all >> engines & 1) != 0; ++engines) {
    std::memset(to, 0, 4096);
    const testing::VirtualSignal done(gpu(), 1);
    hsabe_copy_t one = copy(to, from, 4096, done);
    one.engines = 1u << engines;
    ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS) << engines;
    ASSERT_TRUE(eventually([&] { return done.value() == 0; })) << engines;
    EXPECT_EQ(std::memcmp(to, data.data(), data.size()), 0) << engines;
    EXPECT_EQ(host_->engine_requests(), engines + 1);
  }
  const testing::VirtualSignal done(gpu(), 1);
  hsabe_copy_t absent = copy(to, from, 4096, done);
  absent.engines = 1u << engines;
  EXPECT_EQ(device_->copies().submit(absent), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_P(CopyEnginesTest, FoldOrTileBoxes) {
  open("on");
  const auto data = noise(65536);
  uint8_t* const from = bytes(65536);
  uint8_t* const to = bytes(65536);
  std::memcpy(from, data.data(), data.size());
  const testing::VirtualSignal done(gpu(), 1);
  hsabe_copy_t box = copy(to, from, 64, done);
  box.height = 16, box.depth = 4;
  box.source_pitch = box.destination_pitch = 64;
  box.source_slice = box.destination_slice = 1024;
  ASSERT_EQ(device_->copies().submit(box), HSA_STATUS_SUCCESS);  // one run of 4096 bytes, in every generation
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to, data.data(), 4096), 0);
  EXPECT_EQ(to[4096], 0);
}

TEST_P(CopyEnginesTest, UseKernelsWithoutEngines) {
  open("off");
  const auto data = noise(1'000'003);
  uint8_t* const from = bytes(data.size());
  uint8_t* const to = bytes(data.size() + 8);
  auto* const times = static_cast<uint64_t*>(gpu().share(4096));
  std::memcpy(from, data.data(), data.size());
  const testing::VirtualSignal before(gpu(), 1), done(gpu(), 1);
  const uint64_t dependency = before.handle();
  hsabe_copy_t one = copy(to + 1, from, data.size(), done);
  one.dependencies = &dependency;
  one.dependency_count = 1;
  one.start_time = reinterpret_cast<uint64_t>(times);
  one.end_time = reinterpret_cast<uint64_t>(times + 4);
  EXPECT_EQ(device_->copies().submit(one), HSA_STATUS_ERROR_OUT_OF_RESOURCES)
      << "kernels do not wait for what no copy has promised";
  EXPECT_EQ(done.value(), 1);
  before.set(0);
  ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to + 1, data.data(), data.size()), 0);
  EXPECT_GT(times[0], 0u);
  EXPECT_GE(times[4], times[0]);
  EXPECT_EQ(host_->engine_requests(), 0);
}

TEST_P(CopyEnginesTest, UseKernelsIfEnginesAreTaken) {
  open("on");
  host_->refuse_engines();
  uint8_t* const from = bytes(4096);
  uint8_t* const to = bytes(4096);
  from[9] = 3;
  const testing::VirtualSignal done(gpu(), 5);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(device_->copies().submit(copy(to, from, 100, done)), HSA_STATUS_SUCCESS);
  }
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(to[9], 3);
  EXPECT_EQ(host_->engine_requests(), 1) << "asked once, not for every copy";
  // A caller that requires an engine receives an error.
  hsabe_copy_t one = copy(to, from, 100, done);
  one.engines = 1;
  EXPECT_EQ(device_->copies().submit(one), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_P(CopyEnginesTest, CopyBoxesByKernelsRowByRow) {
  open("off");
  const auto data = noise(65536);
  uint8_t* const from = bytes(65536);
  uint8_t* const to = bytes(65536);
  std::memcpy(from, data.data(), data.size());
  const testing::VirtualSignal done(gpu(), 1);
  hsabe_copy_t box = copy(to, from, 33, done);
  box.height = 10, box.depth = 3;
  box.source_pitch = 100, box.source_slice = 2000;
  box.destination_pitch = 64, box.destination_slice = 1000;
  ASSERT_EQ(device_->copies().submit(box), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  std::vector<uint8_t> expected(65536);
  for (size_t z = 0; z < 3; ++z)
    for (size_t y = 0; y < 10; ++y) std::memcpy(&expected[y * 64 + z * 1000], &data[y * 100 + z * 2000], 33);
  EXPECT_EQ(std::memcmp(to, expected.data(), expected.size()), 0);
  // Too many rows for a kernel each: the call fails without an effect.
  box.height = 1000;
  EXPECT_EQ(device_->copies().submit(box), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_P(CopyEnginesTest, WrapAroundRing) {
  open("off");
  constexpr int kCopies = 3 * ServiceQueue::kPackets;
  uint8_t* const from = bytes(kCopies * 16);
  uint8_t* const to = bytes(kCopies * 16);
  const auto data = noise(kCopies * 16);
  std::memcpy(from, data.data(), data.size());
  const testing::VirtualSignal done(gpu(), kCopies);
  for (int i = 0; i < kCopies; ++i)
    ASSERT_EQ(device_->copies().submit(copy(to + i * 16, from + i * 16, 16, done)), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to, data.data(), data.size()), 0);
}

TEST_P(CopyEnginesTest, ByKernelsUseAllowedComputeUnits) {
  host_ = std::make_unique<testing::BackendHost>(gpu());
  host_->set_option("sdma", "off");
  host_->set_own_units({0xc});
  ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(host_->cu_mask().empty());
  uint8_t* const memory = bytes(4096);
  memory[0] = 6;
  const testing::VirtualSignal done(gpu(), 1), again(gpu(), 1);
  ASSERT_EQ(device_->copies().submit(copy(memory + 64, memory, 16, done)), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(memory[64], 6);
  ASSERT_FALSE(host_->cu_mask().empty());
  EXPECT_EQ(host_->cu_mask()[0], 0xcu);
  // A runtime without this information uses all of them.
  device_.reset();
  host_ = std::make_unique<testing::BackendHost>(gpu());
  host_->set_option("sdma", "off");
  host_->set_own_units({0xc});
  host_->forget_own_units();
  ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
  ASSERT_EQ(device_->copies().submit(copy(memory + 64, memory, 16, again)), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return again.value() == 0; }));
  EXPECT_TRUE(host_->cu_mask().empty());
}

TEST_P(CopyEnginesTest, FillWords) {
  open();
  auto* const to = static_cast<uint32_t*>(gpu().share(65536));
  const testing::VirtualSignal done(gpu(), 2);
  const auto va = reinterpret_cast<uint64_t>(to + 1);
  ASSERT_EQ(device_->copies().fill(va, 0xabcd1234, 1001, done.handle()), HSA_STATUS_SUCCESS);
  ASSERT_EQ(device_->copies().fill(va, 5, 0, done.handle()), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(to[0], 0u);
  for (size_t i = 1; i <= 1001; ++i) ASSERT_EQ(to[i], 0xabcd1234u);
  EXPECT_EQ(to[1002], 0u);
  EXPECT_EQ(device_->copies().fill(va + 1, 5, 1, done.handle()), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_P(CopyEnginesTest, InvalidateCodeCaches) {
  open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(device_->copies().invalidate_code(), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(host_->queue_errors().empty());
}

TEST_P(CopyEnginesTest, WaitingDoNotBlockCodeLoading) {
  open("on");
  uint8_t* const memory = bytes(4096);
  const testing::VirtualSignal before(gpu(), 1), done(gpu(), 1);
  const uint64_t dependency = before.handle();
  hsabe_copy_t one = copy(memory, memory + 2048, 64, done);
  one.dependencies = &dependency;
  one.dependency_count = 1;
  ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(device_->copies().invalidate_code(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(done.value(), 1);
  before.set(0);
  EXPECT_TRUE(eventually([&] { return done.value() == 0; }));
}

// Order
// -----------------------------------------------------------------------------------------------------

TEST_P(CopyEnginesTest, ChainWithoutHost) {
  open("on");
  constexpr size_t kLinks = 40;
  uint8_t* const memory = bytes((kLinks + 1) * 4096);
  std::vector<testing::VirtualSignal> done;
  std::vector<uint64_t> handles;
  for (size_t i = 0; i < kLinks; ++i) done.emplace_back(gpu(), 1);
  for (const auto& signal : done) handles.push_back(signal.handle());
  std::memset(memory, 0x42, 4096);
  for (size_t i = 0; i < kLinks; ++i) {
    hsabe_copy_t link = copy(memory + (i + 1) * 4096, memory + i * 4096, 4096, done[i]);
    if (i % 3 == 1) link.from_host = 0, link.to_host = 1;
    if (i % 3 == 2) link.from_host = 0;
    link.dependencies = &handles[i == 0 ? 0 : i - 1];
    link.dependency_count = i == 0 ? 0 : 1;
    const hsabe_status_t status = device_->copies().submit(link);
    if (status ==
        HSA_STATUS_ERROR_OUT_OF_RESOURCES) {  // after a kernel that has started: the runtime must wait
      ASSERT_TRUE(eventually([&] { return done[i - 1].value() == 0; }));
      ASSERT_EQ(device_->copies().submit(link), HSA_STATUS_SUCCESS);
    } else {
      ASSERT_EQ(status, HSA_STATUS_SUCCESS);
    }
  }
  ASSERT_TRUE(eventually([&] { return done.back().value() == 0; }));
  EXPECT_EQ(std::memcmp(memory, memory + kLinks * 4096, 4096), 0);
}

TEST_P(CopyEnginesTest, ShortOnesUseQueueOfDependency) {
  open("on");
  constexpr size_t kSize = 4 << 20;
  uint8_t* const memory = bytes(2 * kSize + 8192);
  uint8_t* const to = memory + kSize;
  std::memset(memory, 0x37, kSize);
  const testing::VirtualSignal first(gpu(), 1), second(gpu(), 1), other(gpu(), 1);
  const uint64_t handle = first.handle();
  ASSERT_EQ(device_->copies().submit(copy(to, memory, kSize, first)), HSA_STATUS_SUCCESS);
  hsabe_copy_t back = copy(to + kSize, to + kSize - 4096, 4096, second);
  back.from_host = 0, back.to_host = 1;
  back.dependencies = &handle;
  back.dependency_count = 1;
  ASSERT_EQ(device_->copies().submit(back), HSA_STATUS_SUCCESS);
  if (first.value() == 0) GTEST_SKIP() << "the first copy may have been done before";
  const int engines = device_->has_quirk(kQuirkHostCopyOnEngine0) ? 2 : 1;
  EXPECT_EQ(host_->engine_requests(), engines)
      << "on the engine of the other direction if it may copy both ways";
  ASSERT_TRUE(eventually([&] { return second.value() == 0; }));
  EXPECT_EQ(to[kSize + 4095], 0x37);
  hsabe_copy_t alone = copy(to + kSize + 4096, to, 4096, other);
  alone.from_host = 0, alone.to_host = 1;
  ASSERT_EQ(device_->copies().submit(alone), HSA_STATUS_SUCCESS);
  EXPECT_EQ(host_->engine_requests(), 2);
  ASSERT_TRUE(eventually([&] { return other.value() == 0; }));
}

TEST_P(CopyEnginesTest, OpenWaitBlocksDependentsOnly) {
  open("on");
  uint8_t* const memory = bytes(6 * 4096);
  memory[0] = 5;
  const testing::VirtualSignal before(gpu(), 1), other(gpu(), 1), first(gpu(), 1), second(gpu(), 1),
      third(gpu(), 1);
  const uint64_t handles[] = {before.handle(), other.handle(), first.handle(), second.handle()};
  const auto behind = [&](size_t index, uint8_t* to, uint8_t* from, const testing::VirtualSignal& done) {
    hsabe_copy_t one = copy(to, from, 4096, done);
    one.dependencies = &handles[index];
    one.dependency_count = 1;
    return device_->copies().submit(one);
  };
  ASSERT_EQ(behind(0, memory + 4096, memory, first), HSA_STATUS_SUCCESS);
  ASSERT_EQ(behind(2, memory + 2 * 4096, memory + 4096, second), HSA_STATUS_SUCCESS) << "goes behind it";
  EXPECT_EQ(behind(1, memory + 3 * 4096, memory, third), HSA_STATUS_ERROR_OUT_OF_RESOURCES)
      << "one open wait at a time";
  // CopyEnginesTest without dependencies use another queue, in either direction.
  for (int i = 0; i < 10; ++i) {
    const testing::VirtualSignal done(gpu(), 1);
    hsabe_copy_t one = copy(memory + 4 * 4096, memory, 4096, done);
    if (i % 2 != 0) one.from_host = 0, one.to_host = 1;
    ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
    ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  }
  EXPECT_EQ(first.value(), 1);
  EXPECT_EQ(second.value(), 1);
  before.set(0);
  ASSERT_TRUE(eventually([&] { return second.value() == 0; }));
  EXPECT_EQ(memory[2 * 4096], 5);
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_P(CopyEnginesTest, OutOfMemoryHasNoPartialEffect) {
  for (int request = 0, left = -1; left < 0; ++request) {
    SCOPED_TRACE(request);
    TearDown();
    open("on");
    CopyEngines& copies = device_->copies();
    uint8_t* const memory = bytes(4 * 4096);
    // Queues exist: the test is about copies.
    const testing::VirtualSignal made(gpu(), 2), before(gpu(), 1), behind(gpu(), 1), filled(gpu(), 1);
    ASSERT_EQ(copies.submit(copy(memory, memory + 4096, 0x1000, made)), HSA_STATUS_SUCCESS);
    ASSERT_EQ(copies.fill(reinterpret_cast<uint64_t>(memory), 1, 1, made.handle()), HSA_STATUS_SUCCESS);
    ASSERT_TRUE(eventually([&] { return made.value() == 0; }));
    const uint64_t handle = before.handle();
    hsabe_copy_t waits = copy(memory, memory + 4096, 4096, behind);
    waits.dependencies = &handle;
    waits.dependency_count = 1;
    const auto attempt = [&](auto&& submit) {
      return hsabe::guarded(host_->get(), [&]() -> hsabe_status_t { return submit(); }) == HSA_STATUS_SUCCESS;
    };
    request_that_fails = request;
    const bool waited = attempt([&] { return copies.submit(waits); });
    const bool fills =
        attempt([&] { return copies.fill(reinterpret_cast<uint64_t>(memory), 1, 1, filled.handle()); });
    left = std::exchange(request_that_fails, -1);
    before.set(0);
    EXPECT_TRUE(eventually([&] { return behind.value() == !waited && filled.value() == !fills; }));
    EXPECT_TRUE(left < 0 || (waited && fills));
  }
}
#endif

TEST_P(CopyEnginesTest, DoNotCountAfterSignalling) {
  open("on");
  uint8_t* const memory = bytes(4 * 4096);
  const testing::VirtualSignal done(gpu(), 1), never(gpu(), 1), last(gpu(), 1);
  const uint64_t handles[] = {done.handle(), never.handle()};
  const auto behind = [&](const uint64_t& handle) {
    hsabe_copy_t one = copy(memory + 4096, memory, 16, last);
    one.dependencies = &handle;
    one.dependency_count = 1;
    return device_->copies().submit(one);
  };
  for (int i = 0; i < 300; ++i) {
    done.set(1), last.set(1);
    ASSERT_EQ(device_->copies().submit(copy(memory + 4096, memory, 16, done)), HSA_STATUS_SUCCESS);
    while (done.value() != 0) continue;  // without a pause: the engine has not reported its position yet
    done.set(1);
    // The previous wait may not have been reported yet.
    ASSERT_TRUE(eventually([&] { return behind(handles[0]) == HSA_STATUS_SUCCESS; }));
    ASSERT_EQ(behind(handles[1]), HSA_STATUS_ERROR_OUT_OF_RESOURCES) << "that was an open wait; " << i;
    done.set(0);
    ASSERT_TRUE(eventually([&] { return last.value() == 0; }));
  }
}

TEST_P(CopyEnginesTest, AfterOpenWaitAreRejectedIfRingIsFull) {
  open("on");
  constexpr size_t kMost = CopyQueue::kRingBytes / 64;  // more than the ring's size
  uint8_t* const memory = bytes(2 * 4096);
  auto* const signals = static_cast<amd_signal_t*>(gpu().share(kMost * sizeof(amd_signal_t)));
  for (size_t i = 0; i < kMost; ++i) {
    signals[i].kind = AMD_SIGNAL_KIND_USER;
    std::atomic_ref(const_cast<int64_t&>(signals[i].value)).store(1);
  }
  const testing::VirtualSignal before(gpu(), 1);
  std::atomic<size_t> taken{0};
  std::atomic<bool> refused{false};
  std::thread submitter([&] {
    while (taken < kMost && !refused) {
      const uint64_t handle = taken == 0 ? before.handle() : reinterpret_cast<uint64_t>(&signals[taken - 1]);
      hsabe_copy_t one = copy(memory, memory + 4096, 16, before);
      one.completion = reinterpret_cast<uint64_t>(&signals[taken]);
      one.dependencies = &handle;
      one.dependency_count = 1;
      if (device_->copies().submit(one) == HSA_STATUS_SUCCESS) {
        ++taken;
      } else {
        refused = true;
      }
    }
  });
  EXPECT_TRUE(eventually([&] { return refused.load(); })) << taken;
  EXPECT_GT(taken, 100u);
  before.set(0);
  submitter.join();
  const auto& last = const_cast<int64_t&>(signals[taken - 1].value);
  EXPECT_TRUE(eventually([&] { return std::atomic_ref(const_cast<int64_t&>(last)).load() == 0; }));
}

// A program that sets a signal again, to which a copy in another engine will write, makes an engine wait
// forever.
TEST_P(CopyEnginesTest, FailIfEngineHangsWithFullRing) {
  open("on");
  constexpr size_t kLong = 16 << 20;
  uint8_t* const memory = bytes(2 * kLong);
  device_->copies().set_pauses_until_hung(50);
  const testing::VirtualSignal promised(gpu(), 1), hung(gpu(), 1);
  const auto submit = [&](hsabe_copy_t one) { return device_->copies().submit(one); };
  hsabe_copy_t slow = copy(memory, memory + kLong, kLong, promised);
  ASSERT_EQ(submit(slow), HSA_STATUS_SUCCESS);
  const uint64_t handle = promised.handle();
  hsabe_copy_t waiting = copy(memory, memory + 64, 16, hung);
  waiting.from_host = 0;
  waiting.to_host = 1;
  waiting.width = 1 << 20;  // longer than the copy after the other one
  waiting.dependencies = &handle;
  waiting.dependency_count = 1;
  ASSERT_EQ(submit(waiting), HSA_STATUS_SUCCESS);
  std::atomic_ref(const_cast<int64_t&>(promised.get().value)).fetch_add(1);
  if (promised.value() == 1) GTEST_SKIP() << "the first copy was done before";
  constexpr size_t kMost = CopyQueue::kRingBytes / 32;  // more than the ring's size
  const testing::VirtualSignal done(gpu(), kMost);
  hsabe_copy_t following = copy(memory, memory + 64, 16, done);
  following.from_host = 0;
  following.to_host = 1;
  size_t taken = 0;
  while (taken < kMost && submit(following) == HSA_STATUS_SUCCESS) ++taken;
  EXPECT_EQ(taken, kMost) << "a new queue takes the rest";
  EXPECT_LT(hung.value(), 0);
}

TEST_P(CopyEnginesTest, FailAfterFailedDependency) {
  open("on");
  uint8_t* const memory = bytes(4 * 4096);
  for (int turn = 0; turn < 3; ++turn) {
    const testing::VirtualSignal before(gpu(), 1), first(gpu(), 1), second(gpu(), 1), after(gpu(), 1);
    const uint64_t handles[] = {before.handle(), first.handle()};
    hsabe_copy_t one = copy(memory + 4096, memory, 64, first);
    one.dependencies = &handles[0];
    one.dependency_count = 1;
    ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
    hsabe_copy_t two = copy(memory + 2 * 4096, memory + 4096, 64, second);
    two.dependencies = &handles[1];
    two.dependency_count = 1;
    if (turn == 1) two.from_host = 0, two.to_host = 1;  // on the other engine
    ASSERT_EQ(device_->copies().submit(two), HSA_STATUS_SUCCESS);
    before.set(-7);
    ASSERT_TRUE(eventually([&] { return first.value() < 0 && second.value() < 0; }));
    ASSERT_EQ(device_->copies().submit(copy(memory + 3 * 4096, memory, 64, after)), HSA_STATUS_SUCCESS);
    ASSERT_TRUE(eventually([&] { return after.value() == 0; }));
  }
}

// Failures
// -----------------------------------------------------------------------------------------------------

/// Iterations until two of them stopped a copy: if this thread is delayed, all copies can complete before.
constexpr int kTurnsAtMost = 100;

TEST_P(CopyEnginesTest, FailWithQueueAndLaterOnesRun) {
  open("off");
  constexpr size_t kCopies = 12, kBytes = 8 << 20;
  uint8_t* const from = bytes(kBytes);
  uint8_t* const to = bytes(kBytes);
  int stopped = 0;
  for (int turn = 0; turn < kTurnsAtMost && stopped < 2; ++turn) {
    std::vector<testing::VirtualSignal> done;
    for (size_t i = 0; i < kCopies; ++i) {
      done.emplace_back(gpu(), 1);
      ASSERT_EQ(device_->copies().submit(copy(to, from, kBytes, done.back())), HSA_STATUS_SUCCESS);
    }
    host_->stop_queues(kInactiveIllegalInstruction);
    ASSERT_TRUE(eventually([&] {
      return std::all_of(done.begin(), done.end(), [](const auto& signal) { return signal.value() <= 0; });
    }));
    stopped += done.back().value() < 0;
    EXPECT_TRUE(host_->queue_errors().empty()) << "it is no queue of the program's";
    const testing::VirtualSignal after(gpu(), 2);
    to[5] = 0;
    from[5] = static_cast<uint8_t>(turn + 1);
    ASSERT_EQ(device_->copies().submit(copy(to, from, 100, after)), HSA_STATUS_SUCCESS);
    ASSERT_EQ(device_->copies().fill(reinterpret_cast<uint64_t>(to + 4096), 7, 1, after.handle()),
              HSA_STATUS_SUCCESS);
    ASSERT_TRUE(eventually([&] { return after.value() == 0; }));
    EXPECT_EQ(to[5], turn + 1);
    EXPECT_EQ(device_->copies().invalidate_code(), HSA_STATUS_SUCCESS);
  }
  EXPECT_EQ(stopped, 2);
}

TEST_P(CopyEnginesTest, CompletedOnesKeepSignals) {
  for (const char* const engines : {"off", "on"}) {
    open(engines);
    constexpr size_t kBytes = 8 << 20;
    uint8_t* const from = bytes(kBytes);
    uint8_t* const to = bytes(kBytes);
    // A row, a box and, with kernels, a fill: each ends differently.
    std::vector<testing::VirtualSignal> done;
    for (int i = 0; i < 3; ++i) done.emplace_back(gpu(), 1);
    hsabe_copy_t box = copy(to, from, 33, done[1]);
    box.height = 10;
    box.source_pitch = box.destination_pitch = 64;
    ASSERT_EQ(device_->copies().submit(copy(to, from, 64, done[0])), HSA_STATUS_SUCCESS);
    ASSERT_EQ(device_->copies().submit(box), HSA_STATUS_SUCCESS);
    ASSERT_EQ(device_->copies().fill(reinterpret_cast<uint64_t>(to), 7, 100, done[2].handle()),
              HSA_STATUS_SUCCESS);
    for (const auto& signal : done) {
      ASSERT_TRUE(eventually([&] { return signal.value() == 0; }));
      signal.set(1);  // for something else, which the queues do not track
    }
    const testing::VirtualSignal underway(gpu(), 1);
    ASSERT_EQ(device_->copies().submit(copy(to, from, kBytes, underway)), HSA_STATUS_SUCCESS);
    device_->copies().abandon(HSA_STATUS_ERROR);
    EXPECT_LE(underway.value(), 0);
    for (const auto& signal : done) EXPECT_EQ(signal.value(), 1) << engines;
    device_.reset();
  }
}

TEST_P(CopyEnginesTest, CompletedOnesOfStoppedQueueKeepSignals) {
  open("off");
  constexpr size_t kBytes = 8 << 20;
  uint8_t* const from = bytes(kBytes);
  uint8_t* const to = bytes(kBytes);
  int stopped = 0;
  for (int turn = 0; turn < kTurnsAtMost && stopped < 2; ++turn) {
    const testing::VirtualSignal again(gpu(), 1), underway(gpu(), 1);
    ASSERT_EQ(device_->copies().submit(copy(to, from, 64, again)), HSA_STATUS_SUCCESS);
    ASSERT_TRUE(eventually([&] { return again.value() == 0; }));
    again.set(1);
    for (int i = 0; i < 12; ++i) {
      const testing::VirtualSignal one(gpu(), 1);
      ASSERT_EQ(device_->copies().submit(copy(to, from, kBytes, one)), HSA_STATUS_SUCCESS);
    }
    ASSERT_EQ(device_->copies().submit(copy(to, from, kBytes, underway)), HSA_STATUS_SUCCESS);
    host_->stop_queues(kInactiveIllegalInstruction);
    ASSERT_TRUE(eventually([&] { return underway.value() != 1; }));
    stopped += underway.value() < 0;
    EXPECT_EQ(again.value(), 1);
  }
  EXPECT_EQ(stopped, 2);
}

TEST_P(CopyEnginesTest, EndWithDevice) {
  for (const char* const engines : {"on", "off"}) {
    open(engines);
    constexpr size_t kBytes = 8 << 20;
    uint8_t* const from = bytes(kBytes);
    uint8_t* const to = bytes(kBytes);
    const testing::VirtualSignal before(gpu(), 1), first(gpu(), 1), after(gpu(), 1);
    std::vector<testing::VirtualSignal> done;
    const uint64_t dependency = before.handle();
    hsabe_copy_t one = copy(to, from, 64, first);
    one.dependencies = &dependency;
    one.dependency_count = 1;
    const hsabe_status_t taken = device_->copies().submit(one);
    for (size_t i = 0; i < 8; ++i) {
      done.emplace_back(gpu(), 1);
      ASSERT_EQ(device_->copies().submit(copy(to, from, kBytes, done.back())), HSA_STATUS_SUCCESS);
    }
    device_->copies().abandon(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    if (taken == HSA_STATUS_SUCCESS) {
      EXPECT_EQ(first.value(), -HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    }
    for (const auto& signal : done) EXPECT_LE(signal.value(), 0);
    std::memset(to, 0, 100);
    from[5] = 4;
    ASSERT_EQ(device_->copies().submit(copy(to, from, 100, after)), HSA_STATUS_SUCCESS);
    ASSERT_TRUE(eventually([&] { return after.value() == 0; }));
    EXPECT_EQ(to[5], 4);
    device_.reset();
  }
}

TEST_P(CopyEnginesTest, OfManyThreadsSurviveFailures) {
  open("off");
  constexpr int kThreads = 3, kEach = 60;
  uint8_t* const memory = bytes(2 << 20);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        const testing::VirtualSignal done(gpu(), 1);
        const hsabe_status_t status =
            device_->copies().submit(copy(memory, memory + (1 << 20), 1 << 18, done));
        if (status == HSA_STATUS_SUCCESS) {
          EXPECT_TRUE(eventually([&] { return done.value() <= 0; }));
        }
        ++ended;
      }
    });
  }
  for (int n = 0; n < 20; ++n) {
    // Lets the copies progress, so that the queues stop at different positions.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (n % 2 == 0) {
      host_->stop_queues(kInactiveIllegalInstruction);
    } else {
      device_->copies().abandon(HSA_STATUS_ERROR);
    }
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ended, kThreads * kEach);
}

RIGEL_ON_EVERY_BOARD(CopyEnginesTest);

}  // namespace
}  // namespace rigel::gfx
