// Measures the time to wake threads that sleep until a device signals, with the virtual GPU as an in-process
// transport.
//
// The benchmark's thread acts as the device: value, mailbox, interrupt. The time of an iteration starts
// before the change of the value and ends when the last sleeper has returned from its wait; cpu_us is the CPU
// time of all threads for one iteration. The argument is the number of sleeping threads, each with a separate
// signal.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "api/support/clock.hpp"
#include "core/driver/testing/waking_device.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

using testing::WakingDevice;

double processor_us() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

void WakeUpByADevice(benchmark::State& state) {
  const WakingDevice device;
  struct Sleeper {
    Signal* signal = signal_pool::create(0);
    std::atomic<uint64_t> back = 0;
    std::atomic<int64_t> turn = 0;
    std::thread thread;
  };
  std::vector<Sleeper> sleepers(static_cast<size_t>(state.range(0)));
  for (Sleeper& self : sleepers) {
    self.thread = std::thread([&self] {
      for (int64_t turn = 1;; ++turn) {
        if (wait(*self.signal, HSA_SIGNAL_CONDITION_NE, turn - 1, kWaitForever, Spin{0}) < 0) return;
        self.back.store(system_time_ns(), std::memory_order_relaxed);
        self.turn.store(turn, std::memory_order_release);
      }
    });
  }
  // This thread leaves the CPUs to the threads that wake.
  const auto rest = [] { std::this_thread::sleep_for(std::chrono::microseconds(500)); };
  const auto all_sleep = [&] {
    for (const Sleeper& self : sleepers) {
      while ((self.signal->attention.load() & Signal::kWaiters) == 0) rest();
    }
    rest();  // a linked thread may not be asleep yet, which cannot be observed
  };
  std::vector<double> seconds;
  const double processor = processor_us();
  int64_t turn = 0;
  for (auto _ : state) {
    all_sleep();
    ++turn;
    const uint64_t start = system_time_ns();
    for (Sleeper& self : sleepers) device.change(*self.signal, turn);
    uint64_t end = start;
    for (Sleeper& self : sleepers) {
      while (self.turn.load(std::memory_order_acquire) != turn) rest();
      end = std::max(end, self.back.load(std::memory_order_relaxed));
    }
    seconds.push_back(static_cast<double>(end - start) * 1e-9);
    state.SetIterationTime(seconds.back());
  }
  state.counters["cpu_us"] = (processor_us() - processor) / static_cast<double>(turn);
  std::sort(seconds.begin(), seconds.end());
  state.counters["p50_us"] = seconds[seconds.size() / 2] * 1e6;
  state.counters["p90_us"] = seconds[seconds.size() * 9 / 10] * 1e6;
  all_sleep();
  for (Sleeper& self : sleepers) {
    device.change(*self.signal, -1);
    self.thread.join();
    signal_pool::destroy(*self.signal);
  }
}
BENCHMARK(WakeUpByADevice)
    ->ArgName("sleepers")
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->UseManualTime()
    ->Iterations(1000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rigel
