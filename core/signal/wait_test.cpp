#include "core/signal/wait.hpp"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "api/support/clock.hpp"
#include "core/signal/device_sleeper.hpp"
#include "core/signal/lent_thread.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/testing/others_asleep.hpp"

namespace rigel {
namespace {

using namespace std::chrono_literals;

constexpr auto kEq = HSA_SIGNAL_CONDITION_EQ;
constexpr auto kNe = HSA_SIGNAL_CONDITION_NE;
constexpr auto kLt = HSA_SIGNAL_CONDITION_LT;
constexpr auto kGte = HSA_SIGNAL_CONDITION_GTE;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr Spin kNoSpin{0};

class Signals {
 public:
  explicit Signals(size_t count, int64_t value = 1, uint32_t attributes = 0) {
    for (size_t i = 0; i < count; ++i) all_.push_back(signal_pool::create(value, attributes));
  }
  ~Signals() {
    for (Signal* signal : all_) signal_pool::destroy(*signal);
  }
  Signal& operator[](size_t i) { return *all_[i]; }
  std::vector<WaitTerm> terms(SignalCondition condition, int64_t compare) {
    std::vector<WaitTerm> terms;
    for (Signal* signal : all_) terms.push_back({signal, condition, compare});
    return terms;
  }

 private:
  std::vector<Signal*> all_;
};

uint32_t any(const std::vector<WaitTerm>& terms, uint64_t timeout = kWaitForever, int64_t* value = nullptr) {
  return wait_any(terms.data(), static_cast<uint32_t>(terms.size()), timeout, kNoSpin, value);
}

bool all(const std::vector<WaitTerm>& terms, uint64_t timeout = kWaitForever, int64_t* values = nullptr) {
  return wait_all(terms.data(), static_cast<uint32_t>(terms.size()), timeout, kNoSpin, values);
}

// Returns when a thread sleeps on the signal. All other threads of the test must end up asleep.
void await_sleeper(const Signal& signal) {
  while ((signal.attention.load() & Signal::kWaiters) == 0) std::this_thread::yield();
  testing::await_others_asleep();
}

TEST(Wait, ReturnsAtOnceIfConditionHolds) {
  Signals signal(1, 5);
  EXPECT_EQ(wait(signal[0], kEq, 5), 5);
  EXPECT_EQ(wait(signal[0], kNe, 4), 5);
  EXPECT_EQ(wait(signal[0], kLt, 6), 5);
  EXPECT_EQ(wait(signal[0], kGte, 5), 5);
}

TEST(Wait, ReturnsValueAfterTimeout) {
  Signals signal(1, 5);
  EXPECT_EQ(wait(signal[0], kEq, 0, 0), 5);
  const uint64_t before = system_time_ns();
  EXPECT_EQ(wait(signal[0], kEq, 0, 5 * kMillisecond), 5);
  EXPECT_GE(system_time_ns() - before, 5 * kMillisecond);
  EXPECT_EQ(wait(signal[0], kEq, 0, 3 * kMillisecond, Spin::active()), 5);
  EXPECT_EQ(wait(signal[0], kEq, 0, 3 * kMillisecond, kNoSpin), 5);
}

TEST(Wait, ReturnsAtOnceForUnknownCondition) {
  Signals signal(1, 5);
  EXPECT_EQ(wait(signal[0], 17, 0), 5);
}

struct Change {
  const char* name;
  std::function<void(Signal&)> make;
};

class WaitIsEndedBy : public ::testing::TestWithParam<Change> {};

TEST_P(WaitIsEndedBy, Change) {
  Signals signal(1, 0b10);
  std::thread sleeper([&] { EXPECT_EQ(wait(signal[0], kNe, 0b10, kWaitForever, kNoSpin), 0b11); });
  await_sleeper(signal[0]);
  GetParam().make(signal[0]);
  sleeper.join();
  EXPECT_EQ(signal[0].attention.load() & Signal::kWaiters, 0u);
}

INSTANTIATE_TEST_SUITE_P(Operations, WaitIsEndedBy,
                         ::testing::Values(Change{"Store", [](Signal& s) { s.store(0b11); }},
                                           Change{"Exchange", [](Signal& s) { s.exchange(0b11); }},
                                           Change{"CompareExchange",
                                                  [](Signal& s) { s.compare_exchange(0b10, 0b11); }},
                                           Change{"Add", [](Signal& s) { s.add(1); }},
                                           Change{"Subtract", [](Signal& s) { s.subtract(-1); }},
                                           Change{"Or", [](Signal& s) { s.bit_or(1); }},
                                           Change{"Xor", [](Signal& s) { s.bit_xor(1); }},
                                           Change{"And",
                                                  [](Signal& s) {
                                                    s.silent_store(0b111);
                                                    s.bit_and(0b011);
                                                  }},
                                           Change{"NotifyAfterASilentStore",
                                                  [](Signal& s) {
                                                    s.silent_store(0b11);
                                                    s.notify();
                                                  }}),
                         [](const auto& test) { return test.param.name; });

TEST(Wait, SleepsThroughUnsatisfyingChanges) {
  Signals signal(1, 10);
  std::atomic<bool> returned{false};
  std::thread sleeper([&] {
    EXPECT_EQ(wait(signal[0], kLt, 1, kWaitForever, kNoSpin), 0);
    returned = true;
  });
  await_sleeper(signal[0]);
  for (int64_t value = 9; value > 0; --value) signal[0].store(value);
  EXPECT_FALSE(returned);
  signal[0].store(0);
  sleeper.join();
}

uint64_t processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

TEST(Wait, ActiveWaitSleepsThroughLongWait) {
  constexpr int kTurns = 12;
  Signals signal(1, 0);
  std::atomic<int> begun{0};
  std::thread changer([&] {
    for (int turn = 1; turn <= kTurns; ++turn) {
      while (begun != turn) std::this_thread::yield();
      std::this_thread::sleep_for(12ms);  // the length of a long wait
      signal[0].store(turn);
    }
  });
  const uint64_t start = system_time_ns(), busy = processor_time();
  for (int turn = 1; turn <= kTurns; ++turn) {
    begun = turn;
    EXPECT_EQ(wait(signal[0], kEq, turn, kWaitForever, Spin::active()), turn);
  }
  EXPECT_LT(processor_time() - busy, (system_time_ns() - start) / 2);
  changer.join();
}

// A device that computes on lent threads. The test does not bound the time of its work, because a wait that
// is interrupted for too long sleeps, and is then woken.
class WaitForSoftware : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1) GTEST_SKIP() << "waits do not spin on one processor";
    lent = 0;
  }
  ~WaitForSoftware() override { lend_thread_to_device = nullptr; }

  // Waits for the signal to become 0. The device sets it when it has received `enough` threads.
  static int64_t wait_for_device(Spin spin, int enough, hsa_driver_lend_thread_v1_fn lend) {
    Signals signals(1);
    in_work = &signals[0];
    left = enough;
    lend_thread_to_device = lend;
    std::atomic<bool> over{false};
    std::thread waker([&] {
      while (!over) {
        if ((signals[0].attention.load() & Signal::kWaiters) != 0)
          signals[0].store<std::memory_order_release>(0);
        std::this_thread::sleep_for(1ms);
      }
    });
    const int64_t seen = wait(signals[0], kEq, 0, kWaitForever, spin);
    over = true;
    waker.join();
    return seen;
  }
  static void work() {
    ++lent;
    if (--left == 0) in_work.load()->store<std::memory_order_release>(0);
  }

  static inline std::atomic<Signal*> in_work{nullptr};
  static inline std::atomic<int> left{0}, lent{0};
};

TEST_F(WaitForSoftware, LendsThread) {
  for (const Spin spin : {Spin::active(), Spin::blocked()}) {
    lent = 0;
    EXPECT_EQ(wait_for_device(spin, 100,
                              []() -> int32_t {
                                work();
                                return 1;
                              }),
              0);
    EXPECT_GE(lent, 1);
    EXPECT_LE(lent, 100);
  }
}

TEST_F(WaitForSoftware, LendsLongerThanItPolls) {
  // Polls for 10 ms and lends for a minute, because a wake-up may take long on busy CPUs.
  EXPECT_EQ(wait_for_device(Spin{100'000'000, 60'000'000'000}, 10,
                            []() -> int32_t {
                              // Longer than the wait would poll without work.
                              std::this_thread::sleep_for(15ms);
                              work();
                              return 1;
                            }),
            0);
  EXPECT_GE(lent, 3);
}

TEST_F(WaitForSoftware, StopsLendingAfterLimit) {
  const auto without_end = []() -> int32_t {
    work();
    return 1;
  };
  EXPECT_EQ(wait_for_device(Spin::blocked(), INT32_MAX, without_end), 0) << "woken from its sleep";
  EXPECT_EQ(wait_for_device(Spin::active(), INT32_MAX, without_end), 0);
}

TEST_F(WaitForSoftware, PollsWithoutLendingIfLendTimeIsZero) {
  Signals signals(1);
  lend_thread_to_device = []() -> int32_t {
    work();
    return 1;
  };
  EXPECT_EQ(wait(signals[0], kEq, 0, kMillisecond, Spin{100'000}), 1);
  EXPECT_EQ(lent, 0);
}

TEST_F(WaitForSoftware, TimesOutWhileDeviceHasWork) {
  Signals signals(1);
  lend_thread_to_device = []() -> int32_t { return 1; };
  const uint64_t start = system_time_ns();
  EXPECT_EQ(wait(signals[0], kEq, 0, 5 * kMillisecond, Spin::active()), 1);
  EXPECT_EQ(wait(signals[0], kEq, 0, 5 * kMillisecond, Spin::blocked()), 1);
  EXPECT_GE(system_time_ns() - start, 10 * kMillisecond);
}

TEST_F(WaitForSoftware, SleepsWhenDeviceHasNoWork) {
  EXPECT_EQ(wait_for_device(Spin::blocked(), 1,
                            []() -> int32_t {
                              ++lent;
                              return 0;
                            }),
            0);
  EXPECT_GE(lent, 1);
}

TEST(Wait, ChangeWakesAllSatisfiedWaiters) {
  constexpr int kSleepers = 70;  // more than one batch of wake-ups
  Signals signal(1, 0);
  std::atomic<int> about_to{0};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < kSleepers; ++i) {
    sleepers.emplace_back([&] {
      ++about_to;
      EXPECT_EQ(wait(signal[0], kEq, 1, kWaitForever, kNoSpin), 1);
    });
  }
  while (about_to != kSleepers) std::this_thread::yield();
  testing::await_others_asleep();
  signal[0].store(1);
  for (auto& sleeper : sleepers) sleeper.join();
}

TEST(Wait, PollsSilentSignals) {
  Signals signal(1, 1, kSignalGpuOnly);
  std::thread sleeper([&] { EXPECT_EQ(wait(signal[0], kEq, 0, kWaitForever, kNoSpin), 0); });
  await_sleeper(signal[0]);
  signal[0].silent_store(0);
  sleeper.join();
}

TEST(Wait, ReturnsZeroWhenSignalIsDestroyed) {
  Signal* signal = signal_pool::create(5);
  std::thread sleeper([&] { EXPECT_EQ(wait(*signal, kEq, 6, kWaitForever, kNoSpin), 0); });
  await_sleeper(*signal);
  EXPECT_TRUE(signal_pool::destroy(*signal));
  sleeper.join();
}

TEST(Wait, ReturnsZeroWhenSignalIsDestroyedWhilePolling) {
  Signal* signal = signal_pool::create(5);
  std::atomic<bool> started{false};
  std::thread spinner([&] {
    started = true;
    EXPECT_EQ(wait(*signal, kEq, 6, kWaitForever, Spin{1000 * kMillisecond}), 0);
  });
  while (!started) std::this_thread::yield();
  // The wait is polling by now, which cannot be observed because it does not sleep.
  std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(signal_pool::destroy(*signal));
  spinner.join();
}

TEST(Wait, ReturnsZeroForDestroyedSignalOrDoorbell) {
  Signal* signal = signal_pool::create(5);
  signal_pool::destroy(*signal);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(wait(*signal, kEq, 5), 0);
  ::testing::internal::GetCapturedStderr();
}

TEST(WaitAny, ReturnsIndexAndValueOfSatisfiedTerm) {
  Signals signals(5, 1);
  signals[3].store(0);
  int64_t value = -1;
  EXPECT_EQ(any(signals.terms(kEq, 0), kWaitForever, &value), 3u);
  EXPECT_EQ(value, 0);
}

TEST(WaitAny, TimesOut) {
  Signals signals(3, 1);
  EXPECT_EQ(any(signals.terms(kEq, 0), 0), kWaitTimedOut);
  int64_t value = -7;
  EXPECT_EQ(any(signals.terms(kEq, 0), 3 * kMillisecond, &value), kWaitTimedOut);
  EXPECT_EQ(value, -7) << "nothing was satisfied";
}

TEST(WaitAny, WakesForAnySignal) {
  for (const size_t count : {2u, 16u, 17u, 100u}) {
    for (const size_t which : {size_t{0}, count / 2, count - 1}) {
      Signals signals(count, 1);
      std::thread sleeper([&] { EXPECT_EQ(any(signals.terms(kEq, 0)), which); });
      await_sleeper(signals[count - 1]);
      signals[which].store(0);
      sleeper.join();
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(signals[i].attention.load() & Signal::kWaiters, 0u);
    }
  }
}

TEST(WaitAny, IgnoresNullSignals) {
  Signals signals(1, 1);
  const std::vector<WaitTerm> terms{{nullptr, kEq, 0}, {&signals[0], kEq, 0}, {nullptr, kEq, 1}};
  EXPECT_EQ(any(terms, kMillisecond), kWaitTimedOut);
  signals[0].store(0);
  EXPECT_EQ(any(terms), 1u);
  EXPECT_EQ(any({{nullptr, kEq, 0}}), kWaitTimedOut) << "at once, though the timeout is infinite";
  EXPECT_EQ(any({}), kWaitTimedOut);
}

TEST(WaitAny, IgnoresRecycledSignal) {
  Signals signals(1, 0);
  const uint32_t before = signals[0].generation.load() - 2;
  EXPECT_EQ(any({{&signals[0], kEq, 0, before}}), kWaitTimedOut) << "at once, though the timeout is infinite";
  EXPECT_EQ(any({{&signals[0], kEq, 0, before}, {&signals[0], kEq, 0, before + 2}}), 1u);
}

TEST(WaitAny, ContinuesWhenOneSignalIsDestroyed) {
  Signals signals(2, 1);
  Signal* doomed = signal_pool::create(1);
  std::atomic<bool> returned{false};
  std::thread sleeper([&] {
    EXPECT_EQ(any({{doomed, kEq, 0}, {&signals[0], kEq, 0}, {&signals[1], kEq, 0}}), 2u);
    returned = true;
  });
  await_sleeper(signals[1]);
  signal_pool::destroy(*doomed);
  // Time for a wait to return incorrectly.
  std::this_thread::sleep_for(2ms);
  EXPECT_FALSE(returned);
  signals[1].store(0);
  sleeper.join();
}

TEST(WaitAny, ReturnsWhenLastSignalIsDestroyed) {
  Signal* one = signal_pool::create(1);
  Signal* two = signal_pool::create(1);
  std::thread sleeper([&] { EXPECT_EQ(any({{one, kEq, 0}, {two, kEq, 0}}), kWaitTimedOut); });
  await_sleeper(*two);
  signal_pool::destroy(*one);
  signal_pool::destroy(*two);
  sleeper.join();
}

TEST(WaitAny, AcceptsRepeatedSignal) {
  Signals signals(1, 1);
  std::thread sleeper([&] { EXPECT_EQ(any({{&signals[0], kEq, 5}, {&signals[0], kGte, 6}}), 1u); });
  await_sleeper(signals[0]);
  signals[0].store(7);
  sleeper.join();
}

TEST(WaitAll, WaitsForEverySignal) {
  constexpr size_t kCount = 40;
  Signals signals(kCount, 1);
  std::atomic<bool> returned{false};
  std::thread sleeper([&] {
    int64_t values[kCount];
    EXPECT_TRUE(all(signals.terms(kLt, 1), kWaitForever, values));
    for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(values[i], -static_cast<int64_t>(i));
    returned = true;
  });
  await_sleeper(signals[kCount - 1]);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_FALSE(returned);
    signals[i].store(-static_cast<int64_t>(i));
  }
  sleeper.join();
}

TEST(WaitAll, RemembersSatisfiedTerms) {
  Signals signals(2, 1);
  std::thread sleeper([&] { EXPECT_TRUE(all(signals.terms(kEq, 0))); });
  await_sleeper(signals[1]);
  signals[0].store(0);
  signals[0].store(1);
  signals[1].store(0);
  sleeper.join();
}

TEST(WaitAll, TimesOutAndReportsValues) {
  Signals signals(2, 3);
  signals[0].store(0);
  int64_t values[2] = {-1, -1};
  EXPECT_FALSE(all(signals.terms(kEq, 0), 2 * kMillisecond, values));
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 3);
}

TEST(WaitAll, TreatsNullSignalsAsSatisfied) {
  Signals signals(1, 0);
  int64_t values[2] = {-1, -1};
  EXPECT_TRUE(all({{nullptr, kEq, 5}, {&signals[0], kEq, 0}}, kWaitForever, values));
  EXPECT_EQ(values[0], 0);
  EXPECT_TRUE(all({}));
}

TEST(WaitAll, TreatsDestroyedSignalAsSatisfied) {
  Signals signals(1, 1);
  Signal* doomed = signal_pool::create(1);
  std::thread sleeper([&] {
    int64_t values[2] = {-1, -1};
    EXPECT_TRUE(all({{doomed, kEq, 7}, {&signals[0], kEq, 0}}, kWaitForever, values));
    EXPECT_EQ(values[0], 0);
  });
  await_sleeper(signals[0]);
  signal_pool::destroy(*doomed);
  signals[0].store(0);
  sleeper.join();
}

// A thread may find a signal alive and then read the generation after its destruction. It would never wake,
// because destruction checks for waiters once. Destruction changes the generation before the kind, so this
// test uses a signal between the two.
TEST(Wait, ReturnsForSignalThatIsBeingDestroyed) {
  Signal* signal = signal_pool::create(1);
  Signal* other = signal_pool::create(1);
  signal_pool::destroy(*signal);
  signal->abi.kind = AMD_SIGNAL_KIND_USER;
  EXPECT_EQ(wait(*signal, kEq, 0, kWaitForever, kNoSpin), 0);
  EXPECT_EQ(any({{signal, kEq, 0}}), kWaitTimedOut);
  EXPECT_EQ(any({{signal, kEq, 0}, {other, kEq, 1}}), 1u);
  EXPECT_TRUE(all({{signal, kEq, 0}, {other, kEq, 1}}));
  EXPECT_EQ(signal->attention.load() & Signal::kWaiters, 0u);
  signal->abi.kind = AMD_SIGNAL_KIND_INVALID;
  signal_pool::destroy(*other);
}

TEST(Wait, SeesWritesBeforeSignal) {
  // A plain variable, published by the signal, so that ThreadSanitizer checks the order.
  for (int round = 0; round < 50; ++round) {
    Signals signal(1, 0);
    int payload = 0;
    std::thread publisher([&] {
      if (round % 2 == 0) await_sleeper(signal[0]);
      payload = round;
      signal[0].store<std::memory_order_release>(1);
    });
    wait(signal[0], kEq, 1, kWaitForever, round % 2 == 0 ? kNoSpin : Spin::blocked());
    EXPECT_EQ(payload, round);
    publisher.join();
  }
}

struct Hooked {
  static inline int began = 0;
  static inline int ended = 0;
  static inline int watched = 0;
  static inline std::atomic<int> slept = 0;
  static inline int awake = 0;
};

TEST(Wait, CallsHooksAtStartAndEnd) {
  static constexpr SignalHooks hooks{[](Signal& signal) noexcept {
                                       ++Hooked::began;
                                       signal.hook_data[0] = 1;
                                     },
                                     [](Signal& signal) noexcept {
                                       ++Hooked::ended;
                                       signal.hook_data[0] = 0;
                                     },
                                     []() noexcept { ++Hooked::watched; },
                                     [](DeviceSleeper& sleeper) noexcept {
                                       ++Hooked::slept;
                                       EXPECT_TRUE(sleeper.parker.park(UINT64_MAX));
                                     },
                                     [](DeviceSleeper&) noexcept { ++Hooked::awake; },
                                     []() noexcept { ADD_FAILURE() << "nobody is in a driver"; }};
  install_signal_hooks(&hooks);
  {
    Signals hooked(1, 1, kSignalHooked);
    Signals plain(1, 1);
    EXPECT_EQ(any({{&hooked[0], kEq, 0}, {&hooked[0], kEq, 5}, {&plain[0], kEq, 0}}, kMillisecond),
              kWaitTimedOut);
    EXPECT_EQ(Hooked::began, 1) << "once for the signal, not for each waiter";
    EXPECT_EQ(Hooked::ended, 1);
    EXPECT_EQ(Hooked::watched, 1) << "it does not sleep for ever";
    EXPECT_EQ(Hooked::slept, 0);
    std::thread sleeper([&] { wait(hooked[0], kEq, 0, kWaitForever, kNoSpin); });
    await_sleeper(hooked[0]);
    {
      const std::lock_guard lock(hooked[0].wake_lock);
      EXPECT_EQ(hooked[0].hook_data[0], 1u);
    }
    hooked[0].store(0);
    sleeper.join();
    EXPECT_EQ(hooked[0].hook_data[0], 0u);
    EXPECT_EQ(Hooked::began, 2);
    EXPECT_EQ(Hooked::ended, 2);
    EXPECT_EQ(Hooked::watched, 1);
    EXPECT_EQ(Hooked::slept, 1);
    EXPECT_EQ(Hooked::awake, 1);
  }
  install_signal_hooks(nullptr);
}

class WaitWithoutMembarrier : public ::testing::Test {
 protected:
  WaitWithoutMembarrier() { asymmetric_fence::refuse_for_tests(true); }
  ~WaitWithoutMembarrier() override { asymmetric_fence::refuse_for_tests(false); }
};

TEST_F(WaitWithoutMembarrier, SignallersRunFence) {
  Signals signal(1, 1);
  EXPECT_EQ(signal[0].attention.load(), Signal::kFence);
  std::thread sleeper([&] { EXPECT_EQ(wait(signal[0], kEq, 0, kWaitForever, kNoSpin), 0); });
  await_sleeper(signal[0]);
  signal[0].store(0);
  sleeper.join();
  EXPECT_EQ(signal[0].attention.load(), Signal::kFence);
}

TEST(Wait, PollsSignalsCreatedBeforeLossOfMembarrier) {
  Signals signal(1, 1);
  ASSERT_EQ(signal[0].attention.load(), 0u);
  asymmetric_fence::refuse_for_tests(true);
  std::thread sleeper([&] { EXPECT_EQ(wait(signal[0], kEq, 0, kWaitForever, kNoSpin), 0); });
  await_sleeper(signal[0]);
  signal[0].silent_store(0);  // stands for a store whose check for waiters was too early
  sleeper.join();
  asymmetric_fence::refuse_for_tests(false);
}

}  // namespace
}  // namespace rigel
