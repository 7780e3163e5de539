// Waits for signals: conditions, timeouts, groups, any, all, and asynchronous handlers.
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <chrono>
#include <ostream>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/optional_function.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

using namespace std::chrono_literals;
using Value = hsa_signal_value_t;

struct WaitFunction {
  const char* name;
  Value (*wait)(hsa_signal_t, hsa_signal_condition_t, Value, uint64_t, hsa_wait_state_t);
  hsa_wait_state_t state;

  friend void PrintTo(const WaitFunction& function, std::ostream* out) { *out << function.name; }
};

class SignalWait : public HsaTest, public testing::WithParamInterface<WaitFunction> {
 protected:
  static Value wait(hsa_signal_t signal, hsa_signal_condition_t condition, Value value, uint64_t timeout) {
    return GetParam().wait(signal, condition, value, timeout, GetParam().state);
  }
};

TEST_P(SignalWait, ReturnsImmediatelyIfConditionHolds) {
  const ScopedSignal signal(5);
  const uint64_t long_time = ticks(kPatience);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_EQ, 5, long_time), 5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_NE, 4, long_time), 5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_LT, 6, long_time), 5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_GTE, 5, long_time), 5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_GTE, INT64_MIN, long_time), 5);
}

TEST_P(SignalWait, ComparesSignedValues) {
  const ScopedSignal signal(-1);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_LT, 0, ticks(kPatience)), -1);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_GTE, 0, 0), -1) << "and gives up";
}

TEST_P(SignalWait, ReturnsAfterTimeout) {
  const ScopedSignal signal(5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_EQ, 6, 0), 5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_EQ, 6, 1), 5);
  EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_EQ, 6, ticks(3ms)), 5);
}

TEST_P(SignalWait, ReturnsWhenConditionBecomesTrue) {
  const struct {
    hsa_signal_condition_t condition;
    Value compare;
    Value final;
  } cases[] = {{HSA_SIGNAL_CONDITION_EQ, 0, 0},
               {HSA_SIGNAL_CONDITION_NE, 3, 9},
               {HSA_SIGNAL_CONDITION_LT, 3, -9},
               {HSA_SIGNAL_CONDITION_GTE, 4, 4}};
  for (const auto& example : cases) {
    const ScopedSignal signal(3);
    std::thread other([&] {
      // Time for the wait to start.
      std::this_thread::sleep_for(1ms);
      hsa_signal_store_screlease(signal, example.final);
    });
    Value seen = 3;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (seen != example.final && std::chrono::steady_clock::now() < deadline) {
      seen = wait(signal, example.condition, example.compare, UINT64_MAX);
    }
    EXPECT_EQ(seen, example.final);
    other.join();
  }
}

TEST_P(SignalWait, WakesEveryWaiter) {
  const ScopedSignal signal(1);
  std::atomic<int> woken = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 6; ++i) {
    waiters.emplace_back([&] {
      while (wait(signal, HSA_SIGNAL_CONDITION_LT, 1, ticks(kPatience)) >= 1) {
      }
      ++woken;
    });
  }
  // Time for the waiters to fall asleep.
  std::this_thread::sleep_for(2ms);
  hsa_signal_subtract_screlease(signal, 1);
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(woken, 6);
}

TEST_P(SignalWait, PingPongLosesNoWakeUp) {
  const ScopedSignal ping(0);
  const ScopedSignal pong(0);
  constexpr int kRounds = 2000;
  std::thread other([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (wait(ping, HSA_SIGNAL_CONDITION_GTE, i, ticks(kPatience)) < i) {
      }
      hsa_signal_store_screlease(pong, i);
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    hsa_signal_store_screlease(ping, i);
    while (wait(pong, HSA_SIGNAL_CONDITION_GTE, i, ticks(kPatience)) < i) {
    }
  }
  other.join();
  EXPECT_EQ(pong.value(), kRounds);
}

INSTANTIATE_TEST_SUITE_P(
    , SignalWait,
    testing::Values(WaitFunction{"scacquire_blocked", hsa_signal_wait_scacquire, HSA_WAIT_STATE_BLOCKED},
                    WaitFunction{"scacquire_active", hsa_signal_wait_scacquire, HSA_WAIT_STATE_ACTIVE},
                    WaitFunction{"relaxed_blocked", hsa_signal_wait_relaxed, HSA_WAIT_STATE_BLOCKED},
                    WaitFunction{"relaxed_active", hsa_signal_wait_relaxed, HSA_WAIT_STATE_ACTIVE},
                    WaitFunction{"acquire_blocked", hsa_signal_wait_acquire, HSA_WAIT_STATE_BLOCKED}),
    [](const testing::TestParamInfo<WaitFunction>& test) { return test.param.name; });

// --- Groups ----------------------------------------------------------------------------------------------

class SignalGroup : public HsaTest {
 protected:
  void SetUp() override {
    HsaTest::SetUp();
    if (!IsSkipped()) consumer_ = all_agents().front();
  }

  hsa_agent_t consumer_{};
};

TEST_F(SignalGroup, WaitsForAnyMember) {
  const ScopedSignal first(1);
  const ScopedSignal second(1);
  const hsa_signal_t members[] = {first, second};
  hsa_signal_group_t group{};
  ASSERT_HSA(hsa_signal_group_create(2, members, 1, &consumer_, &group));
  const hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_LT};
  const Value compare[] = {0, 1};
  hsa_signal_t which{};
  Value value = 77;
  hsa_signal_store_relaxed(second, 0);
  EXPECT_HSA(hsa_signal_group_wait_any_scacquire(group, conditions, compare, HSA_WAIT_STATE_BLOCKED, &which,
                                                 &value));
  EXPECT_EQ(which.handle, second.get().handle);
  EXPECT_EQ(value, 0);
  hsa_signal_store_relaxed(second, 1);
  std::thread other([&] {
    std::this_thread::sleep_for(1ms);
    hsa_signal_store_screlease(first, 0);
  });
  EXPECT_HSA(
      hsa_signal_group_wait_any_relaxed(group, conditions, compare, HSA_WAIT_STATE_BLOCKED, &which, &value));
  other.join();
  EXPECT_EQ(which.handle, first.get().handle);
  EXPECT_HSA(hsa_signal_group_destroy(group));
  EXPECT_EQ(first.value(), 0) << "its members outlive it";
}

TEST_F(SignalGroup, CreationRejectsNullsAndZeros) {
  const ScopedSignal signal;
  const hsa_signal_t member = signal;
  hsa_signal_group_t group{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_signal_group_create(0, &member, 1, &consumer_, &group));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_signal_group_create(1, nullptr, 1, &consumer_, &group));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_signal_group_create(1, &member, 0, &consumer_, &group));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_group_create(1, &member, 1, nullptr, &group));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_signal_group_create(1, &member, 1, &consumer_, nullptr));
}

TEST_F(SignalGroup, WaitRejectsNullsAndInvalidGroups) {
  const ScopedSignal signal;
  const hsa_signal_t member = signal;
  hsa_signal_group_t group{};
  ASSERT_HSA(hsa_signal_group_create(1, &member, 1, &consumer_, &group));
  const hsa_signal_condition_t condition = HSA_SIGNAL_CONDITION_EQ;
  const Value compare = 0;
  hsa_signal_t which{};
  Value value = 0;
  const auto wait = [&](const hsa_signal_condition_t* c, const Value* v, hsa_signal_t* s, Value* out) {
    return hsa_signal_group_wait_any_scacquire(group, c, v, HSA_WAIT_STATE_BLOCKED, s, out);
  };
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, wait(nullptr, &compare, &which, &value));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, wait(&condition, nullptr, &which, &value));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, wait(&condition, &compare, nullptr, &value));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, wait(&condition, &compare, &which, nullptr));
  EXPECT_HSA(hsa_signal_group_destroy(group));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, hsa_signal_group_destroy({0}));
}

// --- Any and all -----------------------------------------------------------------------------------------

class WaitMany : public HsaTest {};

TEST_F(WaitMany, AnyReturnsSatisfiedIndex) {
  const ScopedSignal signals[] = {ScopedSignal(1), ScopedSignal(1), ScopedSignal(1)};
  hsa_signal_t handles[] = {signals[0], signals[1], signals[2]};
  hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ,
                                         HSA_SIGNAL_CONDITION_EQ};
  Value compare[] = {0, 0, 0};
  Value value = 77;
  hsa_signal_store_relaxed(signals[1], 0);
  EXPECT_EQ(
      hsa_amd_signal_wait_any(3, handles, conditions, compare, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, &value),
      1u);
  EXPECT_EQ(value, 0);
  hsa_signal_store_relaxed(signals[1], 1);
  std::thread other([&] {
    std::this_thread::sleep_for(1ms);
    hsa_signal_store_screlease(signals[2], 0);
  });
  EXPECT_EQ(
      hsa_amd_signal_wait_any(3, handles, conditions, compare, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, nullptr),
      2u);
  other.join();
}

TEST_F(WaitMany, AnyReturnsAfterTimeout) {
  const ScopedSignal signal(1);
  hsa_signal_t handle = signal;
  hsa_signal_condition_t condition = HSA_SIGNAL_CONDITION_EQ;
  Value compare = 0;
  for (const auto state : {HSA_WAIT_STATE_BLOCKED, HSA_WAIT_STATE_ACTIVE}) {
    EXPECT_EQ(hsa_amd_signal_wait_any(1, &handle, &condition, &compare, ticks(2ms), state, nullptr),
              UINT32_MAX);
    Value value = -7;
    EXPECT_EQ(hsa_amd_signal_wait_any(1, &handle, &condition, &compare, ticks(2ms), state, &value),
              UINT32_MAX);
    EXPECT_EQ(value, -7) << "nothing was satisfied";
  }
}

TEST_F(WaitMany, AnySeesEachOfManySignals) {
  constexpr uint32_t kCount = 300;
  std::vector<ScopedSignal> signals;
  std::vector<hsa_signal_t> handles;
  for (uint32_t i = 0; i < kCount; ++i) {
    signals.emplace_back(1);
    handles.push_back(signals.back());
  }
  std::vector<hsa_signal_condition_t> conditions(kCount, HSA_SIGNAL_CONDITION_EQ);
  std::vector<Value> compare(kCount, 0);
  for (uint32_t i = 0; i < kCount; i += 37) {
    std::thread other([&] { hsa_signal_store_screlease(signals[i], 0); });
    EXPECT_EQ(hsa_amd_signal_wait_any(kCount, handles.data(), conditions.data(), compare.data(), UINT64_MAX,
                                      HSA_WAIT_STATE_BLOCKED, nullptr),
              i);
    other.join();
    hsa_signal_store_relaxed(signals[i], 1);
  }
}

TEST_F(WaitMany, AllWaitsForLastSignal) {
  REQUIRE_HSA(hsa_amd_signal_wait_all);
  const ScopedSignal signals[] = {ScopedSignal(1), ScopedSignal(1)};
  hsa_signal_t handles[] = {signals[0], signals[1]};
  hsa_signal_condition_t conditions[] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_LT};
  Value compare[] = {0, 0};
  Value values[] = {77, 77};
  hsa_signal_store_relaxed(signals[0], 0);
  EXPECT_EQ(
      hsa_amd_signal_wait_all(2, handles, conditions, compare, ticks(2ms), HSA_WAIT_STATE_BLOCKED, values),
      UINT32_MAX);
  std::thread other([&] {
    std::this_thread::sleep_for(1ms);
    hsa_signal_store_screlease(signals[1], -4);
  });
  EXPECT_EQ(
      hsa_amd_signal_wait_all(2, handles, conditions, compare, UINT64_MAX, HSA_WAIT_STATE_BLOCKED, values),
      0u);
  other.join();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], -4);
}

// --- Handlers --------------------------------------------------------------------------------------------

class AsyncHandler : public HsaTest {};

struct Calls {
  std::atomic<int> count = 0;
  std::atomic<Value> value = 0;
  int limit = 1;  // number of calls after which the handler returns false
  hsa_signal_t done{};
};

bool count_call(Value value, void* data) {
  auto& calls = *static_cast<Calls*>(data);
  calls.value = value;
  const int count = ++calls.count;
  const bool again = count < calls.limit;
  hsa_signal_add_screlease(calls.done, 1);
  return again;
}

TEST_F(AsyncHandler, IsCalledWhenConditionBecomesTrue) {
  const ScopedSignal signal(1);
  const ScopedSignal done(0);
  Calls calls;
  calls.done = done;
  ASSERT_HSA(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, count_call, &calls));
  EXPECT_EQ(calls.count, 0);
  hsa_signal_store_screlease(signal, -3);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 1));
  EXPECT_EQ(calls.count, 1);
  EXPECT_EQ(calls.value, -3);
}

TEST_F(AsyncHandler, IsCalledIfConditionHoldsAlready) {
  const ScopedSignal signal(0);
  const ScopedSignal done(0);
  Calls calls;
  calls.done = done;
  ASSERT_HSA(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, count_call, &calls));
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 1));
}

TEST_F(AsyncHandler, StaysRegisteredWhileItReturnsTrue) {
  const ScopedSignal signal(0);
  const ScopedSignal done(0);
  Calls calls;
  calls.done = done;
  calls.limit = 5;
  ASSERT_HSA(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, count_call, &calls));
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_GTE, 5));
  // A surplus call would happen during this time.
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls.count, 5) << "and not after it has returned false";
}

TEST_F(AsyncHandler, EachOfManyIsCalledOnce) {
  constexpr int kCount = 2000;
  const ScopedSignal done(0);
  std::vector<ScopedSignal> signals;
  std::vector<Calls> calls(kCount);
  for (int i = 0; i < kCount; ++i) {
    signals.emplace_back(1);
    calls[i].done = done;
    ASSERT_HSA(hsa_amd_signal_async_handler(signals[i], HSA_SIGNAL_CONDITION_EQ, 0, count_call, &calls[i]));
  }
  for (int i = kCount - 1; i >= 0; --i) hsa_signal_store_screlease(signals[i], 0);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_GTE, kCount));
  for (const Calls& each : calls) EXPECT_EQ(each.count, 1);
}

TEST_F(AsyncHandler, MayRegisterAnotherHandler) {
  struct Chain {
    hsa_signal_t next{};
    hsa_signal_t own{};
    hsa_signal_t done{};
  };
  const ScopedSignal done(0);
  Chain chain;
  chain.done = done;
  ASSERT_HSA(hsa_signal_create(0, 0, nullptr, &chain.next));
  ASSERT_HSA(hsa_signal_create(0, 0, nullptr, &chain.own));
  const auto last = [](Value, void* data) {
    hsa_signal_add_screlease(static_cast<Chain*>(data)->done, 1);
    return false;
  };
  static bool (*const kLast)(Value, void*) = last;
  ASSERT_HSA(hsa_amd_signal_async_handler(
      chain.own, HSA_SIGNAL_CONDITION_EQ, 0,
      [](Value, void* data) {
        auto& self = *static_cast<Chain*>(data);
        if (hsa_amd_signal_async_handler(self.next, HSA_SIGNAL_CONDITION_EQ, 0, kLast, data) ==
            HSA_STATUS_SUCCESS) {
          hsa_signal_add_screlease(self.done, 1);
        }
        return false;
      },
      &chain));
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 2));
  EXPECT_HSA(hsa_signal_destroy(chain.own));
  EXPECT_HSA(hsa_signal_destroy(chain.next));
}

TEST_F(AsyncHandler, RejectsNulls) {
  const ScopedSignal signal(1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_async_function(nullptr, nullptr));
}

TEST_F(AsyncHandler, AsyncFunctionRunsOnAnotherThread) {
  struct Data {
    hsa_signal_t done{};
    std::thread::id thread;
  };
  const ScopedSignal done(0);
  Data data;
  data.done = done;
  ASSERT_HSA(hsa_amd_async_function(
      [](void* pointer) {
        auto& self = *static_cast<Data*>(pointer);
        self.thread = std::this_thread::get_id();
        hsa_signal_store_screlease(self.done, 1);
      },
      &data));
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 1));
  EXPECT_NE(data.thread, std::this_thread::get_id());
}

}  // namespace
}  // namespace conformance
