// Measures the cost of signal operations.
//
// Operations are called as programs call them: an exported function jumps through the current API table to
// the implementation. Batches of each alternate with batches of the same call to a bare atomic operation;
// `ratio` is the quotient of the best batches.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "api/support/clock.hpp"
#include "api/support/spin.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal_api.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

using Handle = hsa_signal_t;
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kEq = HSA_SIGNAL_CONDITION_EQ;

std::atomic_ref<int64_t> bare(Handle handle) {
  return std::atomic_ref(const_cast<int64_t&>(reinterpret_cast<amd_signal_t*>(handle.handle)->value));
}

struct Table {
  int64_t (*load)(Handle);
  int64_t (*load_acquire)(Handle);
  void (*store)(Handle, int64_t);
  void (*store_release)(Handle, int64_t);
  void (*add)(Handle, int64_t);
};

constexpr Table kBare{
    [](Handle h) { return bare(h).load(kRelaxed); },
    [](Handle h) { return bare(h).load(kAcquire); },
    [](Handle h, int64_t v) { bare(h).store(v, kRelaxed); },
    [](Handle h, int64_t v) { bare(h).store(v, kRelease); },
    [](Handle h, int64_t v) { bare(h).fetch_add(v, kRelaxed); },
};

// A second copy of the same code: the difference between two calls of one operation shows the accuracy of the
// ratio.
constexpr Table kControl{
    [](Handle h) { return bare(h).load(kRelaxed); },
    [](Handle h) { return bare(h).load(kAcquire); },
    [](Handle h, int64_t v) { bare(h).store(v, kRelaxed); },
    [](Handle h, int64_t v) { bare(h).store(v, kRelease); },
    [](Handle h, int64_t v) { bare(h).fetch_add(v, kRelaxed); },
};

constexpr Table kSignal{
    [](Handle h) { return Signal::of_live(h).load<kRelaxed>(); },
    [](Handle h) { return Signal::of_live(h).load<kAcquire>(); },
    [](Handle h, int64_t v) { Signal::of_live(h).store<kRelaxed>(v); },
    [](Handle h, int64_t v) { Signal::of_live(h).store<kRelease>(v); },
    [](Handle h, int64_t v) { Signal::of_live(h).add<kRelaxed>(v); },
};

// The exported functions, once for each table: in a program, each jump has one target. Jumps with several
// targets would be mispredicted, and all but the first would seem slower.
template <const Table& kTable>
struct Exported {
  static inline std::atomic<const Table*> current{&kTable};
  static const Table& table() { return *current.load(kAcquire); }

  [[gnu::noinline, gnu::aligned(64)]] static int64_t load(Handle h) { return table().load(h); }
  [[gnu::noinline, gnu::aligned(64)]] static int64_t load_acquire(Handle h) {
    return table().load_acquire(h);
  }
  [[gnu::noinline, gnu::aligned(64)]] static void store(Handle h, int64_t v) { table().store(h, v); }
  [[gnu::noinline, gnu::aligned(64)]] static void store_release(Handle h, int64_t v) {
    table().store_release(h, v);
  }
  [[gnu::noinline, gnu::aligned(64)]] static void add(Handle h, int64_t v) { table().add(h, v); }
};

constexpr int kBatch = 20'000;

template <class Operation>
[[gnu::noinline, gnu::aligned(64)]] double time_batch(Handle handle, Operation operation) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBatch; ++i) operation(handle);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// `operation(exported functions, handle)`.
template <class Operation>
void compare(benchmark::State& state, Operation operation) {
  Signal* signal = signal_pool::create(0);
  const Handle handle = signal->handle();
  double best_bare = 1;
  double best_control = 1;
  double best_signal = 1;
  for (auto _ : state) {
    best_bare = std::min(best_bare, time_batch(handle, [&](Handle h) { operation(Exported<kBare>{}, h); }));
    best_control =
        std::min(best_control, time_batch(handle, [&](Handle h) { operation(Exported<kControl>{}, h); }));
    const double time = time_batch(handle, [&](Handle h) { operation(Exported<kSignal>{}, h); });
    best_signal = std::min(best_signal, time);
    state.SetIterationTime(time / kBatch);
  }
  state.counters["bare_ns"] = best_bare / kBatch * 1e9;
  state.counters["signal_ns"] = best_signal / kBatch * 1e9;
  state.counters["control_ratio"] = best_control / best_bare;
  state.counters["ratio"] = best_signal / best_bare;
  state.counters["at_most"] = 1.2;
  signal_pool::destroy(*signal);
}

void BM_load_relaxed(benchmark::State& state) {
  compare(state, [](auto exported, Handle h) { benchmark::DoNotOptimize(exported.load(h)); });
}
void BM_load_scacquire(benchmark::State& state) {
  compare(state, [](auto exported, Handle h) { benchmark::DoNotOptimize(exported.load_acquire(h)); });
}
void BM_store_relaxed(benchmark::State& state) {
  compare(state, [](auto exported, Handle h) { exported.store(h, 1); });
}
void BM_store_screlease(benchmark::State& state) {
  compare(state, [](auto exported, Handle h) { exported.store_release(h, 1); });
}
void BM_add_relaxed(benchmark::State& state) {
  compare(state, [](auto exported, Handle h) { exported.add(h, 1); });
}
BENCHMARK(BM_load_relaxed)->UseManualTime()->Iterations(300);
BENCHMARK(BM_load_scacquire)->UseManualTime()->Iterations(300);
BENCHMARK(BM_store_relaxed)->UseManualTime()->Iterations(300);
BENCHMARK(BM_store_screlease)->UseManualTime()->Iterations(300);
BENCHMARK(BM_add_relaxed)->UseManualTime()->Iterations(300);

void BM_create_destroy(benchmark::State& state) {
  for (auto _ : state) signal_pool::destroy(*signal_pool::create(1));
}
BENCHMARK(BM_create_destroy)->ThreadRange(1, 4)->UseRealTime();

void BM_api_create_destroy(benchmark::State& state) {
  for (auto _ : state) {
    hsa_signal_t signal;
    signal_api::create(1, 0, nullptr, 0, &signal);
    signal_api::destroy(signal);
  }
}
BENCHMARK(BM_api_create_destroy);

void BM_create_2000_destroy_2000(benchmark::State& state) {
  std::vector<Signal*> signals(2000);
  for (auto _ : state) {
    for (auto& signal : signals) signal = signal_pool::create(1);
    for (auto& signal : signals) signal_pool::destroy(*signal);
  }
  state.SetItemsProcessed(state.iterations() * 2000);
}
BENCHMARK(BM_create_2000_destroy_2000);

void BM_from_handle(benchmark::State& state) {
  Signal* signal = signal_pool::create(1);
  hsa_signal_t handle = signal->handle();
  for (auto _ : state) {
    benchmark::DoNotOptimize(handle);
    benchmark::DoNotOptimize(Signal::from_handle(handle));
  }
  signal_pool::destroy(*signal);
}
BENCHMARK(BM_from_handle);

void BM_wait_that_holds_already(benchmark::State& state) {
  Signal* signal = signal_pool::create(0);
  for (auto _ : state) benchmark::DoNotOptimize(wait(*signal, kEq, 0));
  signal_pool::destroy(*signal);
}
BENCHMARK(BM_wait_that_holds_already);

// Two threads alternate. The argument selects their wait: 0 without spinning, 1 blocked, 2 active.
void BM_ping_pong(benchmark::State& state) {
  const Spin spin = state.range(0) == 0 ? Spin{0} : state.range(0) == 1 ? Spin::blocked() : Spin::active();
  Signal* ping = signal_pool::create(0);
  Signal* pong = signal_pool::create(0);
  std::thread other([&] {
    for (int64_t turn = 1;; ++turn) {
      if (wait(*ping, HSA_SIGNAL_CONDITION_NE, turn - 1, kWaitForever, spin) < 0) return;
      pong->store<kRelease>(turn);
    }
  });
  int64_t turn = 0;
  for (auto _ : state) {
    ping->store<kRelease>(++turn);
    wait(*pong, kEq, turn, kWaitForever, spin);
  }
  ping->store(-1);
  other.join();
  signal_pool::destroy(*ping);
  signal_pool::destroy(*pong);
}
BENCHMARK(BM_ping_pong)->DenseRange(0, 2)->UseRealTime();

// Time from the store to the return of a wait that sleeps in the kernel.
void BM_wake_up_of_a_sleeper(benchmark::State& state) {
  Signal* signal = signal_pool::create(0);
  Signal* answer = signal_pool::create(0);
  std::atomic<uint64_t> woken{0};
  std::thread sleeper([&] {
    for (int64_t turn = 1;; ++turn) {
      if (wait(*signal, HSA_SIGNAL_CONDITION_NE, turn - 1, kWaitForever, Spin{0}) < 0) return;
      woken.store(system_time_ns(), kRelaxed);
      answer->store<kRelease>(turn);
    }
  });
  int64_t turn = 0;
  for (auto _ : state) {
    while ((signal->attention.load() & Signal::kWaiters) == 0) cpu_relax();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    const uint64_t start = system_time_ns();
    signal->store<kRelease>(++turn);
    wait(*answer, kEq, turn);
    state.SetIterationTime(static_cast<double>(woken.load(kRelaxed) - start) * 1e-9);
  }
  while ((signal->attention.load() & Signal::kWaiters) == 0) cpu_relax();
  signal->store(-1);
  sleeper.join();
  signal_pool::destroy(*signal);
  signal_pool::destroy(*answer);
}
BENCHMARK(BM_wake_up_of_a_sleeper)->UseManualTime()->Iterations(2000);

// A store that satisfies no condition, on a signal with the argument's number of handlers.
void BM_store_with_handlers_of_this_signal(benchmark::State& state) {
  AsyncDispatcher dispatcher;
  Signal* signal = signal_pool::create(0);
  const auto handler = [](hsa_signal_value_t, void*) { return false; };
  for (int64_t i = 0; i < state.range(0); ++i) dispatcher.watch(*signal, kEq, -1, handler, nullptr);
  for (auto _ : state) signal->store<kRelease>(1);
  dispatcher.stop();
  signal_pool::destroy(*signal);
}
BENCHMARK(BM_store_with_handlers_of_this_signal)->Arg(0)->Arg(1)->Arg(16);

// A signal's handler is called and answers, while other signals have the argument's number of handlers.
void BM_handler_round_trip(benchmark::State& state) {
  AsyncDispatcher dispatcher;
  std::vector<Signal*> others;
  const auto never = [](hsa_signal_value_t, void*) { return false; };
  for (int64_t i = 0; i < state.range(0); ++i) {
    others.push_back(signal_pool::create(1));
    dispatcher.watch(*others.back(), kEq, 0, never, nullptr);
  }
  struct Pair {
    Signal* question = signal_pool::create(0);
    Signal* answer = signal_pool::create(0);
  } pair;
  const auto reply = [](hsa_signal_value_t value, void* argument) {
    auto& self = *static_cast<Pair*>(argument);
    self.question->silent_store(0);
    self.answer->store<kRelease>(value);
    return true;
  };
  dispatcher.watch(*pair.question, HSA_SIGNAL_CONDITION_NE, 0, reply, &pair);
  int64_t turn = 0;
  for (auto _ : state) {
    pair.question->store<kRelease>(++turn);
    wait(*pair.answer, kEq, turn);
  }
  dispatcher.stop();
  for (Signal* signal : others) signal_pool::destroy(*signal);
  signal_pool::destroy(*pair.question);
  signal_pool::destroy(*pair.answer);
}
BENCHMARK(BM_handler_round_trip)->Arg(0)->Arg(10'000)->UseRealTime();

// Registers a handler whose condition holds, and waits for its call.
void BM_handler_once(benchmark::State& state) {
  AsyncDispatcher dispatcher;
  Signal* signal = signal_pool::create(0);
  Signal* answer = signal_pool::create(0);
  const auto reply = [](hsa_signal_value_t, void* argument) {
    static_cast<Signal*>(argument)->add<kRelease>(1);
    return false;
  };
  int64_t turn = 0;
  for (auto _ : state) {
    dispatcher.watch(*signal, kEq, 0, reply, answer);
    wait(*answer, kEq, ++turn);
  }
  dispatcher.stop();
  signal_pool::destroy(*signal);
  signal_pool::destroy(*answer);
}
BENCHMARK(BM_handler_once)->UseRealTime();

void BM_wait_any_of_sleeping(benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(0));
  std::vector<WaitTerm> terms;
  for (uint32_t i = 0; i < count; ++i) terms.push_back({signal_pool::create(1), kEq, 0});
  // Times out at once, after linking and unlinking all entries.
  for (auto _ : state) wait_any(terms.data(), count, 1, Spin{0}, nullptr);
  for (const auto& term : terms) signal_pool::destroy(*term.signal);
}
BENCHMARK(BM_wait_any_of_sleeping)->Arg(1)->Arg(16)->Arg(1000);

}  // namespace
}  // namespace rigel
