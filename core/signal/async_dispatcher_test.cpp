#include "core/signal/async_dispatcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/signal/signal_pool.hpp"
#include "core/signal/testing/others_asleep.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

using namespace std::chrono_literals;

constexpr auto kEq = HSA_SIGNAL_CONDITION_EQ;
constexpr auto kLt = HSA_SIGNAL_CONDITION_LT;
constexpr auto kGte = HSA_SIGNAL_CONDITION_GTE;

using Body = std::function<bool(int64_t)>;

bool call_body(hsa_signal_value_t value, void* body) {
  return (*static_cast<Body*>(body))(value);
}

class AsyncHandler : public ::testing::Test {
 protected:
  ~AsyncHandler() override {
    dispatcher_.stop();
    for (Signal* signal : signals_) signal_pool::destroy(*signal);
  }

  Signal& make_signal(int64_t value = 1, uint32_t attributes = 0) {
    signals_.push_back(signal_pool::create(value, attributes));
    return *signals_.back();
  }

  void watch(Signal& signal, SignalCondition condition, int64_t compare, Body& body) {
    ASSERT_EQ(dispatcher_.watch(signal, condition, compare, call_body, &body), HSA_STATUS_SUCCESS);
  }

  AsyncDispatcher dispatcher_;
  std::vector<Signal*> signals_;
};

void await(const std::atomic<int>& count, int expected) {
  while (count != expected) std::this_thread::yield();
}

/// CPU time of all threads of the process.
int64_t cpu_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST_F(AsyncHandler, IsCalledOnceWithSatisfyingValue) {
  Signal& signal = make_signal();
  std::atomic<int> calls{0};
  Body body = [&](int64_t value) {
    EXPECT_EQ(value, -4);
    ++calls;
    return false;
  };
  watch(signal, kLt, 0, body);
  signal.store(3);
  dispatcher_.quiesce();
  EXPECT_EQ(calls, 0);
  signal.store(-4);
  await(calls, 1);
  signal.store(-5);
  dispatcher_.quiesce();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(signal.attention.load(), 0u) << "a handler that is done leaves nothing behind";
}

TEST_F(AsyncHandler, IsCalledAtOnceIfConditionHolds) {
  Signal& signal = make_signal(0);
  std::atomic<int> calls{0};
  Body body = [&](int64_t) {
    ++calls;
    return false;
  };
  watch(signal, kEq, 0, body);
  await(calls, 1);
}

TEST_F(AsyncHandler, IsCalledAgainWhileItReturnsTrueAndConditionHolds) {
  Signal& signal = make_signal(0);
  std::vector<int64_t> seen;
  std::atomic<int> calls{0};
  int64_t last = 0;
  Body body = [&](int64_t value) {
    seen.push_back(value);
    last = value;
    // The condition is a level: without this store, the handler would be called again.
    signal.store(0);
    ++calls;
    return seen.size() < 3;
  };
  watch(signal, kGte, 1, body);
  for (int i = 1; i <= 3; ++i) {
    signal.store(10 * i);
    await(calls, i);
  }
  dispatcher_.quiesce();
  signal.store(99);
  dispatcher_.quiesce();
  EXPECT_EQ(seen, (std::vector<int64_t>{10, 20, 30}));
}

TEST_F(AsyncHandler, RunsOthersWhileOneConditionKeepsHolding) {
  Signal& always = make_signal(0);
  Signal& other = make_signal(1);
  std::atomic<int> calls{0};
  std::atomic<bool> enough{false};
  Body greedy = [&](int64_t) { return !enough; };
  Body modest = [&](int64_t) {
    ++calls;
    return false;
  };
  watch(always, kEq, 0, greedy);
  watch(other, kEq, 0, modest);
  std::thread signaller([&] { other.store(0); });
  await(calls, 1);
  enough = true;
  signaller.join();
  dispatcher_.stop();
}

TEST_F(AsyncHandler, SharesSignalWithHandlersAndWaitingThreads) {
  Signal& signal = make_signal(1);
  std::atomic<int> calls{0};
  Body body = [&](int64_t) {
    ++calls;
    return false;
  };
  for (int i = 0; i < 100; ++i) watch(signal, kEq, 0, body);
  std::thread sleeper([&] { EXPECT_EQ(wait(signal, kEq, 0, kWaitForever, Spin{0}), 0); });
  testing::await_others_asleep();
  signal.store(0);
  sleeper.join();
  await(calls, 100);
}

TEST_F(AsyncHandler, RunsOneAtATimeOnOneThread) {
  std::atomic<int> inside{0};
  std::atomic<int> calls{0};
  std::atomic<bool> overlapped{false};
  std::thread::id thread;
  Body body = [&](int64_t) {
    if (++inside != 1) overlapped = true;
    if (calls == 0) thread = std::this_thread::get_id();
    if (thread != std::this_thread::get_id()) overlapped = true;
    // Long enough for another call to overlap.
    std::this_thread::sleep_for(50us);
    --inside;
    ++calls;
    return false;
  };
  std::vector<Signal*> signals;
  for (int i = 0; i < 40; ++i) {
    signals.push_back(&make_signal());
    watch(*signals.back(), kEq, 0, body);
  }
  std::thread half([&] {
    for (int i = 0; i < 20; ++i) signals[i]->store(0);
  });
  for (int i = 20; i < 40; ++i) signals[i]->store(0);
  half.join();
  await(calls, 40);
  EXPECT_FALSE(overlapped);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_F(AsyncHandler, CanRegisterWaitAndDestroyInHandler) {
  Signal& first = make_signal(1);
  Signal* second = signal_pool::create(1);
  std::atomic<int> calls{0};
  Body inner = [&](int64_t) {
    signal_pool::destroy(*second);
    ++calls;
    return true;  // ignored, because it has destroyed its signal
  };
  Body outer = [&](int64_t) {
    EXPECT_EQ(dispatcher_.watch(*second, kEq, 0, call_body, &inner), HSA_STATUS_SUCCESS);
    std::thread completer([&] { first.store(5); });
    EXPECT_EQ(wait(first, kEq, 5), 5);
    completer.join();
    dispatcher_.quiesce();  // has no effect here, and in particular does not hang
    second->store(0);
    ++calls;
    return false;
  };
  watch(first, kEq, 0, outer);
  first.store(0);
  await(calls, 2);
  dispatcher_.quiesce();
}

TEST_F(AsyncHandler, IsDroppedWhenSignalIsDestroyed) {
  Signal* signal = signal_pool::create(1);
  bool called = false;
  Body body = [&](int64_t) { return called = true; };
  watch(*signal, kEq, 0, body);
  signal_pool::destroy(*signal);
  Signal* again = signal_pool::create(0);
  EXPECT_EQ(again, signal);
  again->store(0);
  dispatcher_.quiesce();
  EXPECT_FALSE(called);
  signal_pool::destroy(*again);
}

TEST_F(AsyncHandler, IsCalledForChangeBeforeDestruction) {
  for (const bool announced : {true, false}) {
    Signal* signal = signal_pool::create(1);
    Signal& blocker = make_signal(0);
    std::atomic<int> calls{0};
    std::atomic<bool> release{false};
    std::atomic<bool> blocked{false};
    Body block = [&](int64_t) {
      blocked = true;
      while (!release) std::this_thread::yield();
      return false;
    };
    Body body = [&](int64_t value) {
      EXPECT_EQ(value, 0);
      ++calls;
      return true;
    };
    watch(*signal, kEq, 0, body);
    watch(blocker, kEq, 0, block);
    while (!blocked) std::this_thread::yield();
    announced ? signal->store(0) : signal->silent_store(0);
    signal_pool::destroy(*signal);
    Signal* again = signal_pool::create(7);  // at the same address
    release = true;
    dispatcher_.quiesce();
    EXPECT_EQ(calls, 1);
    signal_pool::destroy(*again);
  }
}

TEST_F(AsyncHandler, IsCalledForSilentSignalWithoutNotification) {
  Signal& signal = make_signal(1, kSignalIpc);
  std::atomic<int> calls{0};
  Body body = [&](int64_t) {
    ++calls;
    return false;
  };
  watch(signal, kEq, 0, body);
  testing::await_others_asleep();  // then only polling can wake the dispatcher
  signal.silent_store(0);
  await(calls, 1);
}

TEST_F(AsyncHandler, IsRejectedForSignalDestroyedDuringRegistration) {
  Body body = [](int64_t) { return false; };
  Signal* dead = signal_pool::create(1);
  signal_pool::destroy(*dead);
  EXPECT_EQ(dispatcher_.watch(*dead, kEq, 0, call_body, &body), HSA_STATUS_ERROR_INVALID_SIGNAL);
}

TEST_F(AsyncHandler, RunsWithTenThousandOtherHandlers) {
  std::atomic<int> wrong{0};
  std::atomic<int> calls{0};
  Body neighbour = [&](int64_t) {
    ++wrong;
    return false;
  };
  Body body = [&](int64_t) {
    ++calls;
    return false;
  };
  for (int i = 0; i < 10'000; ++i) watch(make_signal(), kEq, 0, neighbour);
  Signal& signal = make_signal();
  watch(signal, kEq, 0, body);
  signal.store(0);
  await(calls, 1);
  EXPECT_EQ(wrong, 0);
}

// Polling each neighbour would cost a cache miss for each: milliseconds instead of microseconds per call.
TEST_F(AsyncHandler, CostIsIndependentOfOtherHandlers) {
  Signal& signal = make_signal(0);
  std::atomic<int> calls{0};
  Body body = [&](int64_t) {
    signal.store(0);
    ++calls;
    return true;
  };
  watch(signal, kEq, 1, body);
  const auto least_cost_of_a_call = [&] {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 300; ++i) {
      const int64_t start = cpu_time_ns();
      const int goal = calls + 1;
      signal.store(1);
      await(calls, goal);
      least = std::min(least, cpu_time_ns() - start);
    }
    return least;
  };
  const int64_t alone = least_cost_of_a_call();
  Body neighbour = [](int64_t) { return false; };
  for (int i = 0; i < 50'000; ++i) watch(make_signal(), kEq, 0, neighbour);
  EXPECT_LT(least_cost_of_a_call(), 10 * alone + 50'000);
}

TEST_F(AsyncHandler, SeesWritesBeforeSignal) {
  Signal& signal = make_signal(0);
  int payload = 0;  // plain, so that ThreadSanitizer checks the order
  int sum = 0;
  std::atomic<int> calls{0};
  Body body = [&](int64_t) {
    sum += payload;
    signal.store(0);
    ++calls;
    return true;
  };
  watch(signal, kEq, 1, body);
  for (int i = 1; i <= 100; ++i) {
    payload = i;
    signal.store<std::memory_order_release>(1);
    await(calls, i);
  }
  EXPECT_EQ(sum, 5050);
}

using AsyncFunction = AsyncHandler;

TEST_F(AsyncFunction, IsCalledInOrder) {
  std::vector<int> order;
  struct Item {
    std::vector<int>* order;
    int number;
  };
  std::vector<Item> items;
  for (int i = 0; i < 100; ++i) items.push_back({&order, i});
  for (auto& item : items) {
    const auto append = [](void* argument) {
      const auto* self = static_cast<Item*>(argument);
      self->order->push_back(self->number);
    };
    ASSERT_EQ(dispatcher_.post(append, &item), HSA_STATUS_SUCCESS);
  }
  dispatcher_.quiesce();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(AsyncDispatcher, StartsThreadOnFirstUse) {
  // Compares ids, because a thread that an earlier test joined may still be listed.
  const auto threads = [] {
    std::set<std::string> ids;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      ids.insert(thread.path().filename());
    return ids;
  };
  const auto before = threads();
  AsyncDispatcher dispatcher;
  dispatcher.quiesce();
  dispatcher.stop();
  EXPECT_THAT(before, ::testing::IsSupersetOf(threads()));
  ASSERT_EQ(dispatcher.post([](void*) {}, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_THAT(before, ::testing::Not(::testing::IsSupersetOf(threads()))) << "the thread that calls it";
}

TEST(AsyncDispatcher, StopDropsHandlersAndCallsPostedFunctions) {
  AsyncDispatcher dispatcher;
  Signal* signal = signal_pool::create(1);
  std::atomic<int> function_calls{0};
  Body body = [&](int64_t) {
    ADD_FAILURE() << "called after the end";
    return false;
  };
  const auto count = [](void* calls) { ++*static_cast<std::atomic<int>*>(calls); };
  // The dispatcher is busy when it is stopped.
  const auto sleep = [](void*) { std::this_thread::sleep_for(2ms); };
  ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, call_body, &body), HSA_STATUS_SUCCESS);
  ASSERT_EQ(dispatcher.post(sleep, nullptr), HSA_STATUS_SUCCESS);
  ASSERT_EQ(dispatcher.post(count, &function_calls), HSA_STATUS_SUCCESS);
  dispatcher.stop();
  EXPECT_EQ(function_calls, 1);
  EXPECT_EQ(signal->attention.load(), 0u);
  signal->store(0);
  signal_pool::destroy(*signal);
}

TEST(AsyncDispatcher, WorksAgainAfterStop) {
  AsyncDispatcher dispatcher;
  for (int round = 0; round < 5; ++round) {
    Signal* signal = signal_pool::create(1);
    std::atomic<int> calls{0};
    Body body = [&](int64_t) {
      ++calls;
      return true;
    };
    ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, call_body, &body), HSA_STATUS_SUCCESS);
    signal->store(0);
    while (calls == 0) std::this_thread::yield();
    dispatcher.stop();
    const int at_stop = calls;
    // Time for an incorrect call.
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(calls, at_stop);
    signal_pool::destroy(*signal);
  }
}

TEST(AsyncDispatcher, StopInHandlerCallsNothingAfterwards) {
  AsyncDispatcher dispatcher;
  Signal* signal = signal_pool::create(1);
  Signal* due = signal_pool::create(1);
  std::atomic<int> functions{0};
  std::atomic<bool> done{false};
  const auto count = [](void* calls) { ++*static_cast<std::atomic<int>*>(calls); };
  Body dropped = [](int64_t) {
    ADD_FAILURE() << "called after the end";
    return false;
  };
  Body stopper = [&](int64_t) {
    EXPECT_EQ(dispatcher.watch(*due, kEq, 0, call_body, &dropped), HSA_STATUS_SUCCESS);
    due->store(0);
    EXPECT_EQ(dispatcher.post(count, &functions), HSA_STATUS_SUCCESS);
    dispatcher.stop();
    EXPECT_EQ(functions, 2) << "one that became due with this handler, and one posted by it";
    EXPECT_EQ(due->attention.load(), 0u);
    EXPECT_EQ(signal->attention.load(), 0u);
    done = true;
    return true;
  };
  Body block = [&](int64_t) {
    // The handler and the function after it are in one batch.
    EXPECT_EQ(dispatcher.watch(*signal, kEq, 1, call_body, &stopper), HSA_STATUS_SUCCESS);
    EXPECT_EQ(dispatcher.post(count, &functions), HSA_STATUS_SUCCESS);
    return false;
  };
  Signal* first = signal_pool::create(0);
  ASSERT_EQ(dispatcher.watch(*first, kEq, 0, call_body, &block), HSA_STATUS_SUCCESS);
  while (!done) std::this_thread::yield();
  dispatcher.stop();
  signal_pool::destroy(*first);
  signal_pool::destroy(*signal);
  signal_pool::destroy(*due);
}

TEST(AsyncDispatcher, WorksAgainAfterStopInHandler) {
  AsyncDispatcher dispatcher;
  Signal* signal = signal_pool::create(1);
  Signal* other = signal_pool::create(0);
  std::atomic<int> calls{0};
  Body second = [&](int64_t) {
    ++calls;
    return false;
  };
  Body first = [&](int64_t) {
    dispatcher.stop();
    EXPECT_EQ(dispatcher.watch(*other, kEq, 0, call_body, &second), HSA_STATUS_SUCCESS);
    ++calls;
    return true;
  };
  ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, call_body, &first), HSA_STATUS_SUCCESS);
  signal->store(0);
  while (calls != 2) std::this_thread::yield();
  dispatcher.stop();
  EXPECT_EQ(signal->attention.load(), 0u);
  EXPECT_EQ(calls, 2);
  signal_pool::destroy(*signal);
  signal_pool::destroy(*other);
}

TEST(AsyncDispatcher, UsesNoCpuTimeWhileIdle) {
  AsyncDispatcher dispatcher;
  std::vector<Signal*> signals;
  Body body = [](int64_t) { return false; };
  for (int i = 0; i < 10'000; ++i) {
    signals.push_back(signal_pool::create(1));
    ASSERT_EQ(dispatcher.watch(*signals.back(), kEq, 0, call_body, &body), HSA_STATUS_SUCCESS);
  }
  std::thread waiter([&] { wait(*signals[0], kEq, -1); });
  // All threads are asleep; the test measures the CPU time of the next pause.
  std::this_thread::sleep_for(20ms);
  const auto before = cpu_time_ns();
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(cpu_time_ns() - before, 100'000'000) << "somebody is busy waiting";
  signals[0]->store(-1);
  waiter.join();
  dispatcher.stop();
  for (Signal* signal : signals) signal_pool::destroy(*signal);
}

std::atomic<int> calls_behind{0};

TEST(AsyncDispatcher, CallsAfterEachFunctionAfterEachCall) {
  AsyncDispatcher dispatcher([]() noexcept { ++calls_behind; });
  calls_behind = 0;
  Signal* signal = signal_pool::create(0);
  std::atomic<int> handled{0};
  Body body = [&](int64_t) {
    EXPECT_EQ(calls_behind, handled);
    return ++handled < 3;
  };
  ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, call_body, &body), HSA_STATUS_SUCCESS);
  while (handled < 3) std::this_thread::yield();
  int seen = -1;
  const auto look = [](void* behind) { *static_cast<int*>(behind) = calls_behind; };
  ASSERT_EQ(dispatcher.post(look, &seen), HSA_STATUS_SUCCESS);
  dispatcher.stop();
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(calls_behind, 4);
  signal_pool::destroy(*signal);
}

TEST(AsyncDispatcher, StartsEmptyInForkedChild) {
  AsyncDispatcher dispatcher;
  Signal* signal = signal_pool::create(1);
  std::atomic<int> calls{0};
  Body body = [&](int64_t) {
    ++calls;
    return false;
  };
  ASSERT_EQ(dispatcher.watch(*signal, kEq, 0, call_body, &body), HSA_STATUS_SUCCESS);
  // the thread is running: ASan's allocator stays locked in a child forked during its start
  dispatcher.quiesce();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    dispatcher.reset_after_fork();
    signal_pool::reset_after_fork();
    Signal* own = signal_pool::create(0);
    if (dispatcher.watch(*own, kEq, 0, call_body, &body) != HSA_STATUS_SUCCESS) _exit(1);
    while (calls == 0) std::this_thread::yield();
    dispatcher.stop();
    _exit(calls == 1 ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);

  const pid_t careless_child = fork();
  if (careless_child == 0) {
    alarm(20);
    dispatcher.stop();  // no reset: it must not hang
    _exit(0);
  }
  ASSERT_EQ(waitpid(careless_child, &status, 0), careless_child);
  EXPECT_EQ(status, 0);

  signal->store(0);
  while (calls == 0) std::this_thread::yield();
  dispatcher.stop();
  signal_pool::destroy(*signal);
}

}  // namespace
}  // namespace rigel
