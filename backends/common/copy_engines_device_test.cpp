// Copies and fills of an open device: the backend's own queues on the virtual GPU.
#include "backends/common/copy_engines.hpp"

#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include "backends/common/testing/backend_host.hpp"
#include "backends/common/testing/boards.hpp"

namespace rigel::gfx {
namespace {

using testing::eventually;

std::vector<uint8_t> noise(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  std::minstd_rand random(1);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random() >> 8 | 1);
  return data;
}

class Copies : public testing::EveryBoard {
 protected:
  /// `sdma`: the option of that name. True if the device opened.
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

  /// A plain copy from the host.
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

TEST_P(Copies, GoThroughEnginesOnRequest) {
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

TEST_P(Copies, WaitForWhatTheyDependOnAndStampTheClock) {
  open("on");
  uint8_t* const from = bytes(4096);
  uint8_t* const to = bytes(4096);
  from[0] = 7;
  auto* const times = static_cast<uint64_t*>(gpu().share(4096));
  const testing::VirtualSignal first(gpu(), 1), second(gpu(), -1), zero(gpu(), 0), done(gpu(), 1);
  const uint64_t dependencies[] = {first.handle(), zero.handle(), second.handle()};
  hsabe_copy_t one = copy(to, from, 16, done);
  one.dependencies = dependencies;
  one.dependency_count = 3;
  one.start_time = reinterpret_cast<uint64_t>(times);
  one.end_time = reinterpret_cast<uint64_t>(times + 4);
  ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
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

TEST_P(Copies, AreManyAtATime) {
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

TEST_P(Copies, SayWhichEnginesThereAre) {
  open("on");
  uint32_t all = 0, idle = 0;
  device_->copies().engines(&all, &idle);
  EXPECT_EQ(all, 3u);
  EXPECT_EQ(idle, 3u);
  EXPECT_EQ(host_->engine_requests(), 0) << "asking takes none";
  device_.reset();
  open("off");
  device_->copies().engines(&all, &idle);
  EXPECT_EQ(all, 0u);
}

TEST_P(Copies, OfBoxesAreFoldedOrTiled) {
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
  ASSERT_EQ(device_->copies().submit(box), HSA_STATUS_SUCCESS);  // one run of 4096 bytes, on every generation
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to, data.data(), 4096), 0);
  EXPECT_EQ(to[4096], 0);
}

TEST_P(Copies, GoThroughKernelsWhereThereIsNoEngine) {
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
  ASSERT_EQ(device_->copies().submit(one), HSA_STATUS_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(done.value(), 1);
  before.set(0);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_EQ(std::memcmp(to + 1, data.data(), data.size()), 0);
  EXPECT_GT(times[0], 0u);
  EXPECT_GE(times[4], times[0]);
  EXPECT_EQ(host_->engine_requests(), 0);
}

TEST_P(Copies, GoThroughKernelsWhenOthersHaveTheEngines) {
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
  // Whoever insists on an engine is told that there is none.
  hsabe_copy_t one = copy(to, from, 100, done);
  one.engines = 1;
  EXPECT_EQ(device_->copies().submit(one), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_P(Copies, OfBoxesGoThroughKernelsByRows) {
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
  // Too many rows for a kernel each: nothing has happened, and the caller knows.
  box.height = 1000;
  EXPECT_EQ(device_->copies().submit(box), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_P(Copies, FollowEachOtherAroundTheRing) {
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

TEST_P(Copies, FillWords) {
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

TEST_P(Copies, CodeIsDroppedFromCaches) {
  open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(device_->copies().invalidate_code(), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(host_->queue_errors().empty());
}

TEST_P(Copies, ThatWaitDoNotKeepCodeFromBeingLoaded) {
  open("off");
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

RIGEL_ON_EVERY_BOARD(Copies);

}  // namespace
}  // namespace rigel::gfx
