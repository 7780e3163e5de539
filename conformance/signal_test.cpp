// Signals: creation and destruction, and every operation with every memory order.
#include <hsa/hsa_ext_amd.h>

#include <functional>
#include <initializer_list>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

using Value = hsa_signal_value_t;

class Signal : public HsaTest {};

TEST_F(Signal, HoldsInitialValue) {
  for (const Value value : {Value{0}, Value{1}, Value{-1}, INT64_MAX, INT64_MIN}) {
    const ScopedSignal signal(value);
    EXPECT_EQ(hsa_signal_load_relaxed(signal), value);
    EXPECT_EQ(hsa_signal_load_scacquire(signal), value);
  }
}

TEST_F(Signal, HandlesOfLiveSignalsDiffer) {
  std::set<uint64_t> handles;
  std::vector<ScopedSignal> signals;
  for (int i = 0; i < 5000; ++i) {
    signals.emplace_back(i);
    EXPECT_NE(signals.back().get().handle, 0u);
    handles.insert(signals.back().get().handle);
  }
  EXPECT_EQ(handles.size(), signals.size());
  for (size_t i = 0; i < signals.size(); ++i) EXPECT_EQ(signals[i].value(), static_cast<Value>(i));
}

TEST_F(Signal, AcceptsConsumerAgents) {
  const auto agents = all_agents();
  hsa_signal_t signal{};
  ASSERT_HSA(hsa_signal_create(7, static_cast<uint32_t>(agents.size()), agents.data(), &signal));
  EXPECT_EQ(hsa_signal_load_relaxed(signal), 7);
  EXPECT_HSA(hsa_signal_destroy(signal));
}

TEST_F(Signal, CreationRejectsNullAndRepeatedConsumers) {
  const auto agents = all_agents();
  hsa_signal_t signal{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_create(0, 0, nullptr, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_create(0, 1, nullptr, &signal));
  const hsa_agent_t twice[] = {agents.front(), agents.front()};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_create(0, 2, twice, &signal));
}

TEST_F(Signal, DestroyRejectsNullHandle) {
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_signal_destroy({0}));
}

TEST_F(Signal, IsCreatedAndDestroyedByManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&failures, t] {
      for (int i = 0; i < 2000; ++i) {
        hsa_signal_t signal{};
        if (hsa_signal_create(t * 10000 + i, 0, nullptr, &signal) != HSA_STATUS_SUCCESS) ++failures;
        if (hsa_signal_load_relaxed(signal) != t * 10000 + i) ++failures;
        if (hsa_signal_destroy(signal) != HSA_STATUS_SUCCESS) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(Signal, AmdCreationAppliesAttributesAndChecksForNull) {
  hsa_signal_t signal{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_signal_create(0, 0, nullptr, 0, nullptr));
  ASSERT_HSA(hsa_amd_signal_create(5, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal));
  EXPECT_EQ(hsa_signal_load_relaxed(signal), 5);
  volatile Value* value = nullptr;
  ASSERT_HSA(hsa_amd_signal_value_pointer(signal, &value));
  EXPECT_EQ(*value, 5);
  hsa_signal_store_relaxed(signal, 6);
  EXPECT_EQ(*value, 6);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_signal_value_pointer(signal, nullptr));
  EXPECT_HSA(hsa_signal_destroy(signal));
}

TEST_F(Signal, OrdinarySignalHasNoValuePointer) {
  const ScopedSignal signal;
  volatile Value* value = nullptr;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_signal_value_pointer(signal, &value));
}

// --- Operations ------------------------------------------------------------------------------------------

/// An operation with up to two operands (compare-and-swap uses both), its result and its return value.
struct Operation {
  const char* name;
  std::function<Value(hsa_signal_t, Value a, Value b)> run;
  Value (*result)(Value before, Value a, Value b);
  enum { kNothing, kBefore } returns;

  friend void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }
};

Value store(Value, Value a, Value) {
  return a;
}
Value swapped(Value before, Value a, Value b) {
  return before == a ? b : before;
}
Value added(Value before, Value a, Value) {
  return static_cast<Value>(static_cast<uint64_t>(before) + static_cast<uint64_t>(a));
}
Value subtracted(Value before, Value a, Value) {
  return static_cast<Value>(static_cast<uint64_t>(before) - static_cast<uint64_t>(a));
}
Value anded(Value before, Value a, Value) {
  return before & a;
}
Value ored(Value before, Value a, Value) {
  return before | a;
}
Value xored(Value before, Value a, Value) {
  return before ^ a;
}

#define UNARY(function, effect)                                                                          \
  Operation {                                                                                            \
#function, [](hsa_signal_t s, Value a, Value) { return function(s, a), Value{0}; }, effect,          \
                                                                                     Operation::kNothing \
  }
#define ALL_ORDERS(name, effect)                                                                    \
  UNARY(hsa_signal_##name##_relaxed, effect), UNARY(hsa_signal_##name##_scacquire, effect),         \
      UNARY(hsa_signal_##name##_screlease, effect), UNARY(hsa_signal_##name##_scacq_screl, effect), \
      UNARY(hsa_signal_##name##_acquire, effect), UNARY(hsa_signal_##name##_release, effect),       \
      UNARY(hsa_signal_##name##_acq_rel, effect)
#define EXCHANGE(order)                                                                          \
  Operation {                                                                                    \
    "hsa_signal_exchange_" #order,                                                               \
        [](hsa_signal_t s, Value a, Value) { return hsa_signal_exchange_##order(s, a); }, store, \
        Operation::kBefore                                                                       \
  }
#define CAS(order)                                                                                 \
  Operation {                                                                                      \
    "hsa_signal_cas_" #order,                                                                      \
        [](hsa_signal_t s, Value a, Value b) { return hsa_signal_cas_##order(s, a, b); }, swapped, \
        Operation::kBefore                                                                         \
  }

const Operation kOperations[] = {
    UNARY(hsa_signal_store_relaxed, store),
    UNARY(hsa_signal_store_screlease, store),
    UNARY(hsa_signal_store_release, store),
    UNARY(hsa_signal_silent_store_relaxed, store),
    UNARY(hsa_signal_silent_store_screlease, store),
    ALL_ORDERS(add, added),
    ALL_ORDERS(subtract, subtracted),
    ALL_ORDERS(and, anded),
    ALL_ORDERS(or, ored),
    ALL_ORDERS(xor, xored),
    EXCHANGE(relaxed),
    EXCHANGE(scacquire),
    EXCHANGE(screlease),
    EXCHANGE(scacq_screl),
    EXCHANGE(acquire),
    EXCHANGE(release),
    EXCHANGE(acq_rel),
    CAS(relaxed),
    CAS(scacquire),
    CAS(screlease),
    CAS(scacq_screl),
    CAS(acquire),
    CAS(release),
    CAS(acq_rel),
};

class SignalOperation : public HsaTest, public testing::WithParamInterface<Operation> {};

TEST_P(SignalOperation, StoresAndReturnsExpectedValues) {
  const Value values[] = {0, 1, -1, 2, 0x0123456789abcdef, -0x0123456789abcdef, INT64_MAX, INT64_MIN};
  const ScopedSignal signal;
  for (const Value before : values) {
    for (const Value a : values) {
      hsa_signal_store_relaxed(signal, before);
      const Value returned = GetParam().run(signal, a, 42);
      EXPECT_EQ(hsa_signal_load_relaxed(signal), GetParam().result(before, a, 42)) << before << " with " << a;
      if (GetParam().returns == Operation::kBefore) {
        EXPECT_EQ(returned, before) << before << " with " << a;
      }
    }
  }
}

std::string name_of_operation(const testing::TestParamInfo<Operation>& test) {
  return test.param.name;
}

// The operations whose name contains one of `words`, or, if `contained` is false, none of them.
std::vector<Operation> operations(std::initializer_list<const char*> words, bool contained = true) {
  std::vector<Operation> chosen;
  for (const Operation& operation : kOperations) {
    const std::string name = operation.name;
    bool contains = false;
    for (const char* word : words) contains = contains || name.find(word) != std::string::npos;
    if (contains == contained) chosen.push_back(operation);
  }
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(, SignalOperation, testing::ValuesIn(kOperations), name_of_operation);

// Concurrent read-modify-writes must not be lost. Additions, subtractions and flipped bits can be counted.
class CountableSignalOperation : public HsaTest, public testing::WithParamInterface<Operation> {};

TEST_P(CountableSignalOperation, IsAtomic) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 5001;  // odd, so that the bit of each thread is set at the end
  const bool adds = GetParam().result != xored;
  const ScopedSignal signal(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&signal, operand = adds ? Value{1} : Value{1} << t] {
      for (int i = 0; i < kTimes; ++i) GetParam().run(signal, operand, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Value sum = GetParam().result == subtracted ? -kThreads * kTimes : kThreads * kTimes;
  EXPECT_EQ(signal.value(), adds ? sum : (Value{1} << kThreads) - 1);
}

INSTANTIATE_TEST_SUITE_P(, CountableSignalOperation,
                         testing::ValuesIn(operations({"_add_", "_subtract_", "_xor_"})), name_of_operation);

class WakingSignalOperation : public HsaTest, public testing::WithParamInterface<Operation> {};

TEST_P(WakingSignalOperation, WakesSleepingThread) {
  const Value before = 6;
  const Value a = GetParam().result == swapped ? before : 3;
  const Value after = GetParam().result(before, a, 9);
  ASSERT_NE(after, before);
  const ScopedSignal signal(before);
  bool woken = false;
  std::thread waiter([&] { woken = wait_for(signal, HSA_SIGNAL_CONDITION_EQ, after); });
  // Time for the waiter to fall asleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  GetParam().run(signal, a, 9);
  waiter.join();
  EXPECT_TRUE(woken);
}

INSTANTIATE_TEST_SUITE_P(, WakingSignalOperation, testing::ValuesIn(operations({"_silent_"}, false)),
                         name_of_operation);

TEST_F(Signal, CompareAndSwapIsAtomic) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 2000;
  const ScopedSignal signal(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&signal] {
      for (int i = 0; i < kTimes; ++i) {
        Value seen = hsa_signal_load_relaxed(signal);
        for (;;) {
          const Value before = hsa_signal_cas_scacq_screl(signal, seen, seen + 1);
          if (before == seen) break;
          seen = before;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(signal.value(), kThreads * kTimes);
}

TEST_F(Signal, AcquireLoadSeesReleasedStores) {
  for (int round = 0; round < 200; ++round) {
    const ScopedSignal signal(0);
    int data = 0;
    std::thread writer([&] {
      data = round + 1;
      hsa_signal_store_screlease(signal, 1);
    });
    while (hsa_signal_load_scacquire(signal) != 1) std::this_thread::yield();
    EXPECT_EQ(data, round + 1);
    writer.join();
  }
}

}  // namespace
}  // namespace conformance
