// Tests of the duty with the virtual GPU as an in-process transport. A lost wake-up hangs, which the time
// limit of the test reports.
#include "core/driver/event_duty.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/driver/testing/waking_device.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/testing/others_asleep.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

using namespace std::chrono_literals;
using testing::WakingDevice;

constexpr auto kEq = HSA_SIGNAL_CONDITION_EQ;
constexpr auto kNe = HSA_SIGNAL_CONDITION_NE;
constexpr Spin kNoSpin{0};

// A thread that sleeps until its signal is not 0. The test can query whether it is the one in the driver.
class Sleeper {
 public:
  explicit Sleeper(uint64_t timeout_ns = kWaitForever) {
    thread_ = std::thread([this, timeout_ns] { value = wait(*signal, kNe, 0, timeout_ns, kNoSpin); });
    while ((signal->attention.load() & Signal::kWaiters) == 0) std::this_thread::yield();
    testing::await_others_asleep();
  }
  ~Sleeper() {
    join();
    signal_pool::destroy(*signal);
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::thread::id id() const { return thread_.get_id(); }
  pthread_t handle() { return thread_.native_handle(); }

  Signal* const signal = signal_pool::create(0);
  std::atomic<int64_t> value = 0;

 private:
  std::thread thread_;
};

// The threads that have taken interrupts.
class Takers {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ids_.push_back(std::this_thread::get_id());
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return ids_.size();
  }
  std::thread::id last() {
    const std::lock_guard lock(mutex_);
    return ids_.empty() ? std::thread::id() : ids_.back();
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread::id> ids_;
};

TEST(EventDuty, SingleSleeperTakesInterrupt) {
  Takers takers;
  WakingDevice device([&] { takers.add(); });
  Sleeper sleeper;
  const auto id = sleeper.id();
  device.change(*sleeper.signal, 1);
  sleeper.join();
  EXPECT_EQ(sleeper.value, 1);
  EXPECT_EQ(takers.last(), id);
}

TEST(EventDuty, LeaderWakesFollowers) {
  Takers takers;
  WakingDevice device([&] { takers.add(); });
  Sleeper leader;
  const auto id = leader.id();
  {
    Sleeper follower;
    device.change(*follower.signal, 1);
    follower.join();
    EXPECT_EQ(follower.value, 1);
    EXPECT_EQ(takers.last(), id);
  }
  device.change(*leader.signal, 1);
}

TEST(EventDuty, LeavingLeaderHandsDutyToFollower) {
  Takers takers;
  WakingDevice device([&] { takers.add(); });
  Sleeper follower;  // leads at first, because it came first
  Sleeper other;
  device.change(*follower.signal, 1);
  follower.join();
  const auto id = other.id();
  device.change(*other.signal, 2);
  other.join();
  EXPECT_EQ(other.value, 2);
  EXPECT_EQ(takers.last(), id);
}

TEST(EventDuty, HostStoreWakesLeader) {
  const WakingDevice device;
  Sleeper leader;
  leader.signal->store<std::memory_order_release>(3);
  leader.join();
  EXPECT_EQ(leader.value, 3);
}

TEST(EventDuty, DestroyedSignalWakesLeader) {
  const WakingDevice device;
  Signal* const signal = signal_pool::create(1);
  std::thread leader([&] { EXPECT_EQ(wait(*signal, kEq, 5, kWaitForever, kNoSpin), 0); });
  while ((signal->attention.load() & Signal::kWaiters) == 0) std::this_thread::yield();
  signal_pool::destroy(*signal);
  leader.join();
}

TEST(EventDuty, EventsThreadServesHandlersAndTimedWaits) {
  Takers takers;
  WakingDevice device([&] { takers.add(); });
  AsyncDispatcher dispatcher;
  Signal* const signal = signal_pool::create(0);
  std::atomic<int64_t> seen = 0;
  const auto handler = [](hsa_signal_value_t value, void* argument) {
    static_cast<std::atomic<int64_t>*>(argument)->store(value);
    return false;
  };
  ASSERT_EQ(dispatcher.watch(*signal, kNe, 0, handler, &seen), HSA_STATUS_SUCCESS);
  device.change(*signal, 7);
  while (seen != 7) std::this_thread::yield();
  {
    Sleeper limited(60'000'000'000);
    const auto id = limited.id();
    device.change(*limited.signal, 1);
    limited.join();
    EXPECT_EQ(limited.value, 1);
    EXPECT_NE(takers.last(), id);
  }
  dispatcher.stop();
  signal_pool::destroy(*signal);
}

TEST(EventDuty, InterruptNotifiesAllWaitedSignals) {
  constexpr size_t kMany = 500;
  std::atomic<size_t> called = 0;
  const auto count = [](hsa_signal_value_t, void* argument) {
    auto& calls = *static_cast<std::atomic<size_t>*>(argument);
    ++calls;
    calls.notify_all();
    return false;
  };
  const WakingDevice device;
  AsyncDispatcher dispatcher;
  std::vector<Signal*> signals(kMany);
  for (Signal*& signal : signals) {
    signal = signal_pool::create(1);
    ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, count, &called), HSA_STATUS_SUCCESS);
  }
  // Signals in between keep their position and are notified the next time.
  for (const size_t first : {0u, 1u}) {
    for (size_t i = first; i < kMany; i += 2)
      std::atomic_ref(const_cast<int64_t&>(signals[i]->abi.value)).store(0);
    device.interrupt();
    const size_t all = (first + 1) * kMany / 2;
    for (size_t now = called; now != all; now = called) called.wait(now);
  }
  dispatcher.quiesce();
  for (Signal* const signal : signals) signal_pool::destroy(*signal);
}

TEST(EventDuty, WaitAnyReleasesDuty) {
  Takers takers;
  WakingDevice device([&] { takers.add(); });
  Signal* const one = signal_pool::create(1);
  Signal* const other = signal_pool::create(1);
  const WaitTerm terms[] = {{one, kEq, 0}, {other, kEq, 0}};
  for (int i = 0; i < 20; ++i) {
    device.change(*one, 1);
    std::thread waiter([&] { EXPECT_EQ(wait_any(terms, 2, kWaitForever, kNoSpin, nullptr), 0u); });
    while ((other->attention.load() & Signal::kWaiters) == 0) std::this_thread::yield();
    device.change(*one, 0);
    waiter.join();
  }
  // Interrupts wake no thread now. One that is on its way may still be taken.
  const size_t before = takers.count();
  for (int i = 0; i < 20; ++i) {
    device.interrupt();
    // One after the other, as a device sends them: many at once would be one wake-up.
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LE(takers.count(), before + 1);
  signal_pool::destroy(*one);
  signal_pool::destroy(*other);
}

TEST(EventDuty, InterruptsWakeNoThreadWithoutWaiters) {
  Takers takers;
  WakingDevice device([&] { takers.add(); });
  // A wait on an exception signal, as of every queue, does not count.
  Signal* const exception_signal = signal_pool::create(0, kSignalException);
  std::thread watch([&] { EXPECT_EQ(wait(*exception_signal, kNe, 0, kWaitForever, kNoSpin), 5); });
  while ((exception_signal->attention.load() & Signal::kWaiters) == 0) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) {
    device.interrupt();
    // One after the other, as a device sends them.
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(takers.count(), 0u);
  device.change(*exception_signal, 5);
  watch.join();
  signal_pool::destroy(*exception_signal);
  // A thread that sleeps afterwards is woken, also by earlier signals.
  Signal* const signal = signal_pool::create(1);
  for (int round = 0; round < 20; ++round) {
    std::atomic_ref(const_cast<int64_t&>(signal->abi.value)).store(1);
    std::thread gpu([&] {
      // Signals before the wait, during its start, or while it sleeps.
      std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
      device.change(*signal, 0);
    });
    EXPECT_EQ(wait(*signal, kEq, 0), 0);
    gpu.join();
    for (int i = 0; i < 20; ++i) device.interrupt();
  }
  signal_pool::destroy(*signal);
}

TEST(EventDuty, NextRuntimeWakesSleepersOfPrevious) {
  Signal* const signal = [] {
    const WakingDevice before;
    return signal_pool::create(0);
  }();
  std::thread sleeper;
  std::thread follower;
  {
    const WakingDevice device;
    sleeper = std::thread([&] { EXPECT_EQ(wait(*signal, kEq, 1, kWaitForever, kNoSpin), 1); });
    follower = std::thread([&] { EXPECT_EQ(wait(*signal, kEq, 1, kWaitForever, kNoSpin), 1); });
    while ((signal->attention.load() & Signal::kWaiters) == 0) std::this_thread::yield();
    testing::await_others_asleep();  // both threads, before the device ends
  }
  {
    const WakingDevice device;
    device.change(*signal, 1);
    sleeper.join();
    follower.join();
  }
  signal_pool::destroy(*signal);
}

TEST(EventDuty, EndsOnLeadingThread) {
  WakingDevice device;
  static WakingDevice* ended = nullptr;
  static std::atomic<bool> done = false;
  ended = &device;
  struct sigaction action {};
  action.sa_handler = [](int) {
    ended->stop();
    done = true;
  };
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Sleeper leader;
  pthread_kill(leader.handle(), SIGUSR1);
  while (!done) std::this_thread::yield();
  leader.signal->store<std::memory_order_release>(1);
  leader.join();
  EXPECT_EQ(leader.value, 1);
  sigaction(SIGUSR1, &before, nullptr);
}

// Threads that sleep with and without a timeout and on several signals, handlers, a device and a host that
// change signals, and runtimes that end in between.
TEST(EventDuty, KeepsAllWakeUpsUnderLoad) {
  constexpr int kThreads = 4;
  constexpr auto kDuration = 400ms;
  struct Slot {
    std::atomic<Signal*> asks = nullptr;
  };
  for (int round = 0; round < 3; ++round) {
    const WakingDevice device;
    AsyncDispatcher dispatcher;
    Slot slots[kThreads];
    std::atomic<bool> stop = false;
    std::atomic<int> over = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::minstd_rand random(static_cast<unsigned>(round * kThreads + i + 1));
        Signal* const never = signal_pool::create(1);
        while (!stop) {
          Signal* const signal = signal_pool::create(1);
          slots[i].asks.store(signal, std::memory_order_release);
          switch (random() % 4) {
            case 0:
              while (wait(*signal, kEq, 0, random() % 200'000, kNoSpin) != 0) {
              }
              break;
            case 1: {
              const WaitTerm terms[] = {{never, kEq, 0}, {signal, kEq, 0}};
              ASSERT_EQ(wait_any(terms, 2, kWaitForever, kNoSpin, nullptr), 1u);
              break;
            }
            case 2: {
              std::atomic<bool> called = false;
              const auto handler = [](hsa_signal_value_t, void* argument) {
                auto& flag = *static_cast<std::atomic<bool>*>(argument);
                flag = true;
                flag.notify_all();
                return false;
              };
              ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, handler, &called), HSA_STATUS_SUCCESS);
              called.wait(false);
              dispatcher.quiesce();  // the handler has left notify_all
              break;
            }
            default:
              ASSERT_EQ(wait(*signal, kEq, 0, kWaitForever, kNoSpin), 0);
          }
          ASSERT_TRUE(signal_pool::destroy(*signal));
        }
        signal_pool::destroy(*never);
        ++over;
      });
    }
    std::thread changer([&] {
      std::minstd_rand random(99);
      while (over != kThreads) {
        for (Slot& slot : slots) {
          Signal* const signal = slot.asks.exchange(nullptr, std::memory_order_acquire);
          if (signal == nullptr) continue;
          // The thread destroys it only after the change, because devices do not access a signal after they
          // have changed it.
          if (random() % 3 == 0) {
            signal->store<std::memory_order_release>(0);
          } else {
            device.change(*signal, 0);
          }
        }
        if (random() % 4 == 0) std::this_thread::yield();
      }
    });
    std::this_thread::sleep_for(kDuration);  // duration of the load
    stop = true;
    for (std::thread& thread : threads) thread.join();
    changer.join();
  }
}

}  // namespace
}  // namespace rigel
