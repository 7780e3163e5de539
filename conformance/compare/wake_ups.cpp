// Measures wake-up latency of waiting threads and the CPU time of an idle process, with the library that the
// dynamic linker finds. To compare two libraries, run this alternately with each. Uses only the public API.
//
//   LD_LIBRARY_PATH=<directory> hsa_wake_ups [--idle SECONDS]
//
// Prints, for each case, the median time from the change until the last sleeper returns, and the average CPU
// time of all threads during it, including a virtual GPU's. Devices report the end of their work by profiling
// times. Idle processes: CPU time and context switches.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "compare/measured_agent.hpp"

namespace {

using compare::check;

constexpr int kRounds = 200;
constexpr std::chrono::milliseconds kUntilAsleep(3);  // longer than waiters spin before they sleep

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Converts system ticks, the unit of profiling times.
double in_microseconds(uint64_t ticks) {
  uint64_t frequency = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  return static_cast<double>(ticks) * 1e6 / static_cast<double>(frequency);
}

double now() {
  uint64_t ticks = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
  return in_microseconds(ticks);
}

hsa_signal_t create_signal() {
  hsa_signal_t signal{};
  check(hsa_signal_create(1, 0, nullptr, &signal), "signal");
  return signal;
}

// Calls `prepare`, lets one sleeper per signal fall asleep, then calls `change`, which makes the signals 0:
// directly or, if `device` is not 0, by completing work of the device.
void wake(const char* what, const std::vector<hsa_signal_t>& signals, hsa_agent_t device,
          const std::function<void()>& prepare, const std::function<void()>& change) {
  std::atomic<int> round{0};
  std::atomic<size_t> returned{0};
  std::vector<double> returns(signals.size());
  std::vector<std::thread> sleepers;
  for (size_t i = 0; i < signals.size(); ++i) {
    sleepers.emplace_back([&, i] {
      for (int expected_round = 1; expected_round <= kRounds; ++expected_round) {
        round.wait(expected_round - 1);
        while (hsa_signal_wait_scacquire(signals[i], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                         HSA_WAIT_STATE_BLOCKED) > 0) {
        }
        returns[i] = now();
        returned.fetch_add(1);
        returned.notify_one();
      }
    });
  }
  std::vector<double> times;
  double cpu = 0;
  for (int current_round = 1; current_round <= kRounds; ++current_round) {
    for (const hsa_signal_t signal : signals) hsa_signal_store_relaxed(signal, 1);
    prepare();
    returned = 0;
    round = current_round;
    round.notify_all();
    std::this_thread::sleep_for(kUntilAsleep);
    const double cpu_before = cpu_us();
    const double begin = now();
    change();
    for (size_t seen = 0; (seen = returned.load()) < signals.size();) returned.wait(seen);
    cpu += cpu_us() - cpu_before;
    double longest = 0;
    for (size_t i = 0; i < signals.size(); ++i) {
      hsa_amd_profiling_dispatch_time_t time{};
      if (device.handle != 0)
        check(hsa_amd_profiling_get_dispatch_time(device, signals[i], &time), "times of a packet");
      const double ended = device.handle == 0 ? begin : in_microseconds(time.end);
      longest = std::max(longest, returns[i] - ended);
    }
    times.push_back(longest);
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  std::printf("%-36s %8.1f us, %8.1f us CPU time\n", what, times[kRounds / 2], cpu / kRounds);
}

void wake_by_a_thread() {
  const hsa_signal_t signal = create_signal();
  wake(
      "a thread wakes a sleeper", {signal}, {0}, [] {}, [&] { hsa_signal_store_screlease(signal, 0); });
  hsa_signal_destroy(signal);
}

// Threads sleep on the completion signals of barrier packets that wait for one signal.
void wake_by_a_device(const compare::MeasuredAgent& agent, size_t sleepers) {
  hsa_queue_t* const queue = agent.create_queue(64);
  check(hsa_amd_profiling_set_profiler_enabled(queue, 1), "profiling");
  const hsa_signal_t go = create_signal();
  std::vector<hsa_signal_t> done(sleepers);
  std::ranges::generate(done, create_signal);
  char what[64];
  std::snprintf(what, sizeof what, "the device wakes %zu", sleepers);
  wake(
      what, done, agent.agent,
      [&] {
        hsa_signal_store_relaxed(go, 1);
        for (const hsa_signal_t signal : done) {
          auto packet = compare::barrier_packet(signal);
          packet.dep_signal[0] = go;
          compare::submit(queue, &packet);
        }
      },
      [&] { hsa_signal_store_screlease(go, 0); });
  hsa_queue_destroy(queue);
  for (const hsa_signal_t signal : done) hsa_signal_destroy(signal);
  hsa_signal_destroy(go);
}

void call_a_handler() {
  const hsa_signal_t signal = create_signal(), called = create_signal();
  const auto handler = [](hsa_signal_value_t, void* other) {
    hsa_signal_store_screlease({reinterpret_cast<uint64_t>(other)}, 0);
    return false;
  };
  wake(
      "a handler wakes a thread", {called}, {0},
      [&] {
        hsa_signal_store_relaxed(signal, 1);
        check(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, handler,
                                           reinterpret_cast<void*>(called.handle)),
              "handler");
      },
      [&] { hsa_signal_store_screlease(signal, 0); });
  hsa_signal_destroy(signal);
  hsa_signal_destroy(called);
}

void idle(const char* what, int seconds) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const double cpu = cpu_us();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double elapsed = cpu_us() - cpu;
  getrusage(RUSAGE_SELF, &after);
  std::printf("%-36s %8.1f us CPU time, %ld context switches in %d s\n", what, elapsed,
              after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw, seconds);
}

// A process with a used queue, without and with a thread that waits.
void idle_with_a_queue(const compare::MeasuredAgent& agent, int seconds) {
  hsa_queue_t* const queue = agent.create_queue(64);
  const hsa_signal_t done = create_signal();
  const auto packet = compare::barrier_packet(done);
  compare::submit(queue, &packet);
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  idle("idle with a queue", seconds);
  hsa_signal_store_relaxed(done, 1);
  std::thread sleeper([&] {
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  });
  std::this_thread::sleep_for(kUntilAsleep);
  idle("idle with a queue and a waiting thread", seconds);
  hsa_signal_store_screlease(done, 0);
  sleeper.join();
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc == 3 && std::strcmp(argv[1], "--idle") == 0 ? std::atoi(argv[2]) : 10;
  const compare::MeasuredAgent agent;
  wake_by_a_thread();
  call_a_handler();
  for (const size_t sleepers : {1, 2, 4}) wake_by_a_device(agent, sleepers);
  idle_with_a_queue(agent, seconds);
  return 0;
}
