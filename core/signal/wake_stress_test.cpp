// Stress tests with many threads, for a bounded time: no wake-up is lost, and no signal is used after its
// end. A lost wake-up hangs, which the time limit of the test reports.
#include <gtest/gtest.h>
#include <hsa_backend/hsa_backend.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kEq = HSA_SIGNAL_CONDITION_EQ;
constexpr auto kNe = HSA_SIGNAL_CONDITION_NE;
constexpr auto kGte = HSA_SIGNAL_CONDITION_GTE;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kDuration = 300ms;

long peak_resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Mixes spinning and sleeping, so that stores hit each step of the waiter's preparation.
Spin some_spin(uint32_t number) {
  return Spin{number % 3 == 0 ? 0u : number * 7919 % 3000};
}

TEST(WakeStress, PingPong) {
  for (const bool membarrier : {true, false}) {
    asymmetric_fence::refuse_for_tests(!membarrier);
    Signal* ping = signal_pool::create(0);
    Signal* pong = signal_pool::create(0);
    std::thread other([&] {
      for (int64_t turn = 1;; ++turn) {
        const int64_t value =
            wait(*ping, kNe, turn - 1, kWaitForever, some_spin(static_cast<uint32_t>(turn)));
        if (value < 0) return;
        ASSERT_EQ(value, turn);
        pong->store<kRelease>(turn);
      }
    });
    int64_t turn = 0;
    for (const auto end = Clock::now() + kDuration; Clock::now() < end;) {
      ping->store<kRelease>(++turn);
      ASSERT_EQ(wait(*pong, kEq, turn, kWaitForever, some_spin(static_cast<uint32_t>(turn / 5))), turn);
    }
    ping->store(-1);
    other.join();
    signal_pool::destroy(*ping);
    signal_pool::destroy(*pong);
  }
  asymmetric_fence::refuse_for_tests(false);
}

TEST(WakeStress, ManyThreadsWaitOnOneCounter) {
  constexpr int kWaiters = 4;
  Signal* counter = signal_pool::create(0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiters; ++i) {
    threads.emplace_back([&, i] {
      int64_t goal = 1;
      while (!stop) {
        const int64_t value =
            wait(*counter, kGte, goal, kWaitForever, some_spin(static_cast<uint32_t>(goal + i)));
        ASSERT_GE(value, goal);
        goal = value + 1 + i;
      }
    });
  }
  std::thread adder([&] {
    while (!stop) counter->add<kRelease>(1);
  });
  for (const auto end = Clock::now() + kDuration; Clock::now() < end;) counter->add(1);
  stop = true;
  adder.join();
  counter->store(int64_t{1} << 60);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter->attention.load() & Signal::kWaiters, 0u);
  signal_pool::destroy(*counter);
}

void eight_threads_wait_on_ten_thousand_signals() {
  constexpr uint32_t kSignals = 10'000;
  constexpr int kThreads = 8;
  constexpr int kRounds = 20;
  std::vector<WaitTerm> terms;
  for (uint32_t i = 0; i < kSignals; ++i) terms.push_back({signal_pool::create(0), kGte, 1});
  std::atomic<int> returned{0};
  std::vector<std::thread> threads;
  std::mt19937 random(1);
  std::vector<uint32_t> chosen;
  for (int round = 0; round < kRounds; ++round) chosen.push_back(random() % kSignals);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      auto mine = terms;
      for (int round = 1; round <= kRounds; ++round) {
        for (auto& term : mine) term.compare = round;
        int64_t value = -1;
        const uint32_t index =
            wait_any(mine.data(), kSignals, kWaitForever, some_spin(static_cast<uint32_t>(i)), &value);
        ASSERT_EQ(index, chosen[round - 1]);
        ASSERT_EQ(value, round);
        if (++returned == round * kThreads) returned.notify_one();
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    terms[chosen[round - 1]].signal->store<kRelease>(round);
    for (int seen = returned; seen != round * kThreads; seen = returned) returned.wait(seen);
  }
  for (auto& thread : threads) thread.join();
  for (const auto& term : terms) {
    EXPECT_EQ(term.signal->attention.load(), 0u);
    signal_pool::destroy(*term.signal);
  }
}

TEST(WakeStress, EightThreadsWaitOnTenThousandSignals) {
  eight_threads_wait_on_ten_thousand_signals();
  const size_t signals_made = signal_pool::capacity();
  const long peak_kib = peak_resident_kib();
  eight_threads_wait_on_ten_thousand_signals();
  EXPECT_EQ(signal_pool::capacity(), signals_made);
  if (HSABE_SANITIZER == HSABE_SANITIZER_NONE) {
    EXPECT_LE(peak_resident_kib(), peak_kib + 1024) << "the signals are 1.3 MB, the threads' lists 1.9 MB";
  }
}

TEST(WakeStress, WaitAllWithManyCompletingThreads) {
  constexpr uint32_t kSignals = 24;
  std::vector<WaitTerm> terms;
  for (uint32_t i = 0; i < kSignals; ++i) terms.push_back({signal_pool::create(0), kGte, 1});
  std::atomic<int64_t> round{0};
  std::vector<std::thread> completers;
  for (uint32_t part = 0; part < 3; ++part) {
    completers.emplace_back([&, part] {
      for (int64_t now = 1;; ++now) {
        while (round < now) {
          if (round < 0) return;
          std::this_thread::yield();
        }
        for (uint32_t i = part; i < kSignals; i += 3) terms[i].signal->add<kRelease>(1);
      }
    });
  }
  uint32_t count = 0;
  for (const auto end = Clock::now() + kDuration; Clock::now() < end;) {
    round = ++count;
    for (auto& term : terms) term.compare = count;
    ASSERT_TRUE(wait_all(terms.data(), kSignals, kWaitForever, some_spin(count), nullptr));
  }
  round = -1;
  for (auto& completer : completers) completer.join();
  for (const auto& term : terms) signal_pool::destroy(*term.signal);
}

// The waiter destroys its signal while the signaller is still in its store, and the next signal gets the same
// memory.
TEST(WakeStress, WaiterDestroysSignalDuringStore) {
  std::atomic<Signal*> handed_over{nullptr};
  std::atomic<bool> stop{false};
  std::vector<std::thread> signallers;
  for (int i = 0; i < 2; ++i) {
    signallers.emplace_back([&] {
      while (!stop) {
        if (Signal* signal = handed_over.exchange(nullptr)) signal->store<kRelease>(0);
      }
    });
  }
  uint32_t count = 0;
  for (const auto end = Clock::now() + kDuration; Clock::now() < end; ++count) {
    Signal* signal = signal_pool::create(1);
    handed_over = signal;
    ASSERT_EQ(wait(*signal, kEq, 0, kWaitForever, some_spin(count)), 0);
    ASSERT_TRUE(signal_pool::destroy(*signal));
  }
  stop = true;
  for (auto& signaller : signallers) signaller.join();
}

TEST(WakeStress, DestroyDuringWait) {
  uint32_t count = 0;
  std::atomic<Signal*> current{signal_pool::create(1)};
  std::atomic<bool> stop{false};
  std::vector<std::thread> waiters;
  for (uint32_t i = 0; i < 3; ++i) {
    waiters.emplace_back([&, i] {
      Signal* never = signal_pool::create(1);
      for (uint32_t round = i; !stop; ++round) {
        Signal* signal = current;
        if (round % 2 == 0) {
          // 0 if it is destroyed; the recycled signal never satisfies.
          ASSERT_EQ(wait(*signal, kEq, 0, kWaitForever, some_spin(round)), 0);
        } else {
          const WaitTerm terms[] = {{signal, kEq, 0}, {never, kEq, 0}};
          ASSERT_EQ(wait_any(terms, 2, 2'000'000, some_spin(round), nullptr), kWaitTimedOut);
        }
      }
      signal_pool::destroy(*never);
    });
  }
  testing::internal::CaptureStderr();  // a waiter that starts after the destruction logs an error
  for (const auto end = Clock::now() + kDuration; Clock::now() < end; ++count) {
    Signal* doomed = current.exchange(signal_pool::create(1));
    // Every second time the waiters get past the start of their wait.
    if (count % 2 == 0) std::this_thread::sleep_for(50us);
    ASSERT_TRUE(signal_pool::destroy(*doomed));
  }
  stop = true;
  signal_pool::destroy(*current);
  for (auto& waiter : waiters) waiter.join();
  testing::internal::GetCapturedStderr();
}

TEST(WakeStress, DestroyWithHandlers) {
  AsyncDispatcher dispatcher;
  std::atomic<uint64_t> calls{0};
  struct Job {
    explicit Job(std::atomic<uint64_t>& counter) : calls(counter) {}
    std::atomic<uint64_t>& calls;
    std::atomic<int> state{0};
  };
  const auto handler = [](hsa_signal_value_t value, void* argument) {
    auto& job = *static_cast<Job*>(argument);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(job.state.fetch_add(1), 0) << "called twice";
    ++job.calls;
    return false;
  };
  std::vector<std::thread> threads;
  std::atomic<uint64_t> expected{0};
  for (uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      std::vector<std::unique_ptr<Job>> jobs;
      uint32_t round = i;
      for (const auto end = Clock::now() + kDuration; Clock::now() < end; ++round) {
        jobs.push_back(std::make_unique<Job>(calls));
        Signal* signal = signal_pool::create(1);
        ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, handler, jobs.back().get()), HSA_STATUS_SUCCESS);
        // A third never satisfies; the others do just before the destruction.
        if (round % 3 != 0) {
          ++expected;
          signal->store<kRelease>(0);
        }
        if (round % 5 == 0) std::this_thread::yield();
        signal_pool::destroy(*signal);
      }
      dispatcher.quiesce();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(calls, expected);
}

TEST(WakeStress, StopDuringChanges) {
  std::vector<Signal*> signals;
  for (int i = 0; i < 50; ++i) signals.push_back(signal_pool::create(1));
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (uint32_t i = 0; !stop; ++i) signals[i % signals.size()]->store(i % 3);
  });
  const auto handler = [](hsa_signal_value_t, void*) { return true; };
  for (const auto end = Clock::now() + kDuration; Clock::now() < end;) {
    AsyncDispatcher dispatcher;
    for (Signal* signal : signals) {
      ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, handler, nullptr), HSA_STATUS_SUCCESS);
    }
    dispatcher.stop();
    ASSERT_EQ(signals[0]->attention.load() & Signal::kWaiters, 0u);
  }
  stop = true;
  changer.join();
  for (Signal* signal : signals) signal_pool::destroy(*signal);
}

}  // namespace
}  // namespace rigel
