// The scheduler's threads, and what happens without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa_backend/sanitizer.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>

#include "plugins/vgpu/exec/test_scheduler.hpp"

namespace rigel::vgpu::exec {
namespace {

using testing::SchedulerTest;

class WorkersTest : public SchedulerTest {};

// Sets the default stack size of new threads. If it is too large, threads cannot be created.
class StackSize {
 public:
  explicit StackSize(size_t bytes) {
    pthread_getattr_default_np(&previous_);
    pthread_attr_t expected;
    pthread_attr_init(&expected);
    EXPECT_EQ(pthread_attr_setstacksize(&expected, bytes), 0);
    EXPECT_EQ(pthread_setattr_default_np(&expected), 0);
    pthread_attr_destroy(&expected);
  }
  ~StackSize() {
    pthread_setattr_default_np(&previous_);
    pthread_attr_destroy(&previous_);
  }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;

 private:
  pthread_attr_t previous_;
};

constexpr size_t kTooLarge = size_t{1} << 47;

// Limits the address space to `extra` bytes more than the process has.
class AddressSpace {
 public:
  explicit AddressSpace(rlim_t extra) {
    EXPECT_EQ(getrlimit(RLIMIT_AS, &previous_), 0);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = previous_;
    limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + extra;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~AddressSpace() { setrlimit(RLIMIT_AS, &previous_); }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

 private:
  rlimit previous_{};
};

TEST_P(WorkersTest, WavesRunOnLentThreadsWithoutWorkers) {
  const StackSize none(kTooLarge);
  const auto finish = [&](std::future<DispatchResult>& result) {
    while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) scheduler_->lend_thread();
    return result.get().kind;
  };
  auto many = start(dispatch(kStoreId, 1000));
  EXPECT_TRUE(scheduler_->wants_thread());
  ASSERT_EQ(bus_.warnings().size(), 1u);
  EXPECT_NE(bus_.warnings()[0].find("the queues' threads"), std::string::npos);
  EXPECT_EQ(finish(many), Kind::kDone);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(word(i), i + 100) << i;

  store(0, 0);
  store(1, 0);
  store(2, 0);
  auto locks = start(dispatch(kTicketLock, 150));
  EXPECT_EQ(finish(locks), Kind::kDone);
  EXPECT_EQ(word(2), 150u * 3);

  store(0, 0);
  auto waiting = start(dispatch(kWaitForFlag, 30));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(scheduler_->lend_thread()) << "others get their turns as well";
  auto setting = start(dispatch(kSetFlag, 1));
  EXPECT_EQ(finish(setting), Kind::kDone);
  EXPECT_EQ(finish(waiting), Kind::kDone);
  EXPECT_EQ(bus_.warnings().size(), 1u) << "once";

  auto endless = start(dispatch(kSpin, 30));
  scheduler_->lend_thread();
  scheduler_->cancel(1);
  EXPECT_EQ(endless.get().kind, Kind::kCancelled);
}

TEST_P(WorkersTest, CreatesWorkersWhenPossibleAgain) {
  std::future<DispatchResult> result;
  {
    const StackSize none(kTooLarge);
    result = start(dispatch(kWaitForFlag, 30));
    EXPECT_TRUE(scheduler_->lend_thread());
  }
  store(0, 1);
  EXPECT_EQ(run(dispatch(kStoreId, 1000)).kind, Kind::kDone);
  EXPECT_EQ(result.get().kind, Kind::kDone);
  EXPECT_FALSE(scheduler_->wants_thread());
  EXPECT_FALSE(scheduler_->lend_thread());
}

TEST_P(WorkersTest, RunsWithFewerWorkersThanRequested) {
  if (HSABE_SANITIZER != HSABE_SANITIZER_NONE) GTEST_SKIP() << "sanitizers have shadows for all of a stack";
  scheduler_ = std::make_unique<Scheduler>(device_, bus_, SchedulerOptions{64, GetParam().inline_dispatches});
  const StackSize large(size_t{1} << 30);
  const AddressSpace few((size_t{7} << 29) + (size_t{1} << 26));  // room for three stacks
  const uint32_t groups =
      static_cast<uint32_t>(device_.compute_units.size()) * device_.waves_per_compute_unit;
  Dispatch d = dispatch(kGridBarrier, groups);
  d.pgm_rsrc2 = 0;
  d.user_sgprs[3] = groups;
  d.user_sgpr_count = 4;
  EXPECT_EQ(run(d).kind, Kind::kDone);
  EXPECT_EQ(word(1), groups);
  EXPECT_FALSE(scheduler_->wants_thread());
  ASSERT_EQ(bus_.warnings().size(), 1u);
  EXPECT_NE(bus_.warnings()[0].find("cannot start 64 threads"), std::string::npos) << bus_.warnings()[0];
}

INSTANTIATE_TEST_SUITE_P(Workers, WorkersTest, ::testing::ValuesIn(testing::scheduler_parameters()),
                         testing::scheduler_parameter_name);

}  // namespace
}  // namespace rigel::vgpu::exec
