// Cost of dispatches to the CPU agent for an application, measured through the public API.
#include <benchmark/benchmark.h>
#include <hsa/hsa.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/cpu/testing/application.hpp"
#include "backends/cpu/testing/bare_signal.hpp"

namespace {

using rigel::cpu::testing::Application;

struct EmptyKernel : Application {
  void run() { submit(empty); }
  const hsa_kernel_dispatch_packet_t empty = (load(TEST_KERNELS), packet("empty"));
};

// Argument: hsa_wait_state_t.
void RuntimeDispatchRoundTrip(benchmark::State& state) {
  EmptyKernel program;
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    program.expect(1);
    program.run();
    program.wait(static_cast<hsa_wait_state_t>(state.range(0)));
    times.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  // The mean is not meaningful on a machine with other load.
  std::sort(times.begin(), times.end());
  state.counters["p10_ns"] = times[times.size() / 10];
  state.counters["p50_ns"] = times[times.size() / 2];
  if (state.range(0) == HSA_WAIT_STATE_ACTIVE) state.counters["at_most_ns"] = 1000;
}
BENCHMARK(RuntimeDispatchRoundTrip)->UseRealTime()->Arg(HSA_WAIT_STATE_ACTIVE)->Arg(HSA_WAIT_STATE_BLOCKED);

void RuntimeDispatchThroughput(benchmark::State& state) {
  EmptyKernel program;
  constexpr int kBatch = 512;
  for (auto _ : state) {
    program.expect(kBatch);
    for (int i = 0; i < kBatch; ++i) program.run();
    program.wait(HSA_WAIT_STATE_ACTIVE);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(RuntimeDispatchThroughput)->UseRealTime();

// Milliseconds until the first dispatch is complete: hsa_init, the agent, the code object, the queue, the
// kernel.
double init_to_first_dispatch() {
  const auto begin = std::chrono::steady_clock::now();
  EmptyKernel program;
  program.expect(1);
  program.run();
  program.wait(HSA_WAIT_STATE_ACTIVE);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  return time.count();
}

// The same in a new process, which must load the modules: this program again, selected by the environment.
constexpr const char* kFirstOfAProcess = "RIGEL_BENCH_FIRST_OF_A_PROCESS";

double first_of_a_process() {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  setenv(kFirstOfAProcess, "1", 1);
  FILE* const child = popen(('"' + program + '"').c_str(), "re");
  unsetenv(kFirstOfAProcess);
  double time = 0;
  if (child == nullptr || std::fscanf(child, "%lf", &time) != 1 || pclose(child) != 0) std::abort();
  return time;
}

void InitToFirstDispatch(benchmark::State& state, double (*measure)()) {
  std::vector<double> times;
  for (auto _ : state) {
    times.push_back(measure());
    state.SetIterationTime(times.back() * 1e-3);
  }
  std::sort(times.begin(), times.end());
  state.counters["p50_ms"] = times[times.size() / 2];
  state.counters["at_most_ms"] = 3;
}
BENCHMARK_CAPTURE(InitToFirstDispatch, of_a_process, first_of_a_process)
    ->UseManualTime()
    ->Iterations(30)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(InitToFirstDispatch, again, init_to_first_dispatch)
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond);

// Signals compared with a bare atomic operation (testing/bare_signal.hpp).
template <class Ours, class Bare>
void compare_signals(benchmark::State& state, Ours ours, Bare bare) {
  constexpr int kBatch = 20'000;
  CHECK_HSA(hsa_init());
  hsa_signal_t signal;
  CHECK_HSA(hsa_signal_create(0, 0, nullptr, &signal));
  double best_ours = 1, best_bare = 1;
  const auto batch = [&](auto& operation, double& best) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kBatch; ++i) operation(signal);
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::min(best, time);
    return time;
  };
  for (auto _ : state) {
    batch(bare, best_bare);
    state.SetIterationTime(batch(ours, best_ours) / kBatch);
  }
  state.counters["ns"] = best_ours / kBatch * 1e9;
  state.counters["bare_ns"] = best_bare / kBatch * 1e9;
  state.counters["ratio"] = best_ours / best_bare;
  state.counters["at_most"] = 1.2;
  CHECK_HSA(hsa_signal_destroy(signal));
  CHECK_HSA(hsa_shut_down());
}

void SignalLoadScacquire(benchmark::State& state) {
  compare_signals(
      state, [](hsa_signal_t s) { benchmark::DoNotOptimize(hsa_signal_load_scacquire(s)); },
      [](hsa_signal_t s) { benchmark::DoNotOptimize(bare_signal_load_scacquire(s)); });
}
BENCHMARK(SignalLoadScacquire)->UseManualTime()->Iterations(300);

void SignalStoreScrelease(benchmark::State& state) {
  compare_signals(
      state, [](hsa_signal_t s) { hsa_signal_store_screlease(s, 1); },
      [](hsa_signal_t s) { bare_signal_store_screlease(s, 1); });
}
BENCHMARK(SignalStoreScrelease)->UseManualTime()->Iterations(300);

// In batches, each measured: if a CPU is one of two hardware threads, everything takes nearly twice as long
// while the other one is busy.
void SignalCreateDestroy(benchmark::State& state) {
  constexpr int kBatch = 1000;
  CHECK_HSA(hsa_init());
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kBatch; ++i) {
      hsa_signal_t signal;
      hsa_signal_create(1, 0, nullptr, &signal);
      hsa_signal_destroy(signal);
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    times.push_back(time.count() / kBatch);
  }
  std::sort(times.begin(), times.end());
  state.counters["p10_ns"] = times[times.size() / 10];
  state.counters["p50_ns"] = times[times.size() / 2];
  state.counters["at_most_ns"] = 40;
  state.SetItemsProcessed(state.iterations() * kBatch);
  CHECK_HSA(hsa_shut_down());
}
BENCHMARK(SignalCreateDestroy);

}  // namespace

int main(int count, char** arguments) {
  if (std::getenv(kFirstOfAProcess) != nullptr) {
    std::printf("%f\n", init_to_first_dispatch());
    return 0;
  }
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
