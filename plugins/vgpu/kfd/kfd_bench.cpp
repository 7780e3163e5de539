// Costs of the virtual GPU's system calls: ioctls, round trips of a barrier packet with doorbell stores and
// calls, copies compared with memcpy, wake-ups, and idling.
//
// For Idle, the counter cpu_percent is the share of one CPU that the process uses while a queue waits for its
// doorbell. Copies are compared by CPU time: on a busy host, wall time favours memcpy with one thread over
// SDMA with two.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

using Clock = std::chrono::steady_clock;

double cpu_seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double thread_cpu_seconds() {
  return cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}

Client& client() {
  static auto* const client = new Client("gfx900:vram=1G", Settings::from_environment().options);
  return *client;
}

void IoctlGetVersion(benchmark::State& state) {
  kfd_get_version a{};
  for (auto _ : state) client().must(KFD_NR_GET_VERSION, a, "GET_VERSION");
}
BENCHMARK(IoctlGetVersion);

// Arguments outside of the caller's stack are copied by system calls, which report bad addresses.
void IoctlGetVersionOnTheHeap(benchmark::State& state) {
  const auto a = std::make_unique<kfd_get_version>();
  for (auto _ : state) client().must(KFD_NR_GET_VERSION, *a, "GET_VERSION");
}
BENCHMARK(IoctlGetVersionOnTheHeap);

void IoctlSetEvent(benchmark::State& state) {
  kfd_event_ref ref{client().make_event().id, 0};
  for (auto _ : state) client().must(KFD_NR_SET_EVENT, ref, "SET_EVENT");
  client().must(KFD_NR_DESTROY_EVENT, ref, "DESTROY_EVENT");
}
BENCHMARK(IoctlSetEvent);

void AllocateMapFree(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    client().free(client().allocate(0, KFD_MEM_VRAM | KFD_MEM_WRITABLE, bytes, 0x100000000000));
  }
}
BENCHMARK(AllocateMapFree)->Arg(4096)->Arg(2 << 20);

void QueueCreateDestroy(benchmark::State& state) {
  for (auto _ : state) ClientQueue(client(), 0, false, false);
}
BENCHMARK(QueueCreateDestroy)->Unit(benchmark::kMicrosecond);

enum Ring { kStoreWithSignal, kCall, kPolledStore };

Client& client_of(int64_t ring) {
  if (ring != kPolledStore) return client();
  static auto* const other = [] {
    ProcessOptions options;
    options.stop_stores = false;
    return new Client("gfx900:vram=1G", options);
  }();
  return *other;
}

void BarrierRoundTrip(benchmark::State& state) {
  ClientQueue queue(client(), 0, false, state.range(0) == kCall);
  const Client::Memory memory = client().share(4096);
  const ClientSignal signal(memory, 0);
  for (auto _ : state) {
    signal.value().store(1, std::memory_order_relaxed);
    queue.barrier({}, signal.handle());
    while (signal.value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }
  client().release(memory);
}
BENCHMARK(BarrierRoundTrip)->ArgName("ring")->Arg(kStoreWithSignal)->Arg(kCall)->UseRealTime();

// The engine is asleep when the doorbell is rung. Measures the time from just before that until the device
// reads the packet, by the device's time stamp. back_us is the median of the round trip, in which a client
// that waits for an event must be woken as well.
void WakeUp(benchmark::State& state) {
  const bool blocks = state.range(1) != 0;
  Client& ring_client = client_of(state.range(0));
  ClientQueue queue(ring_client, 0, false, state.range(0) == kCall);
  queue.record_times();
  const Client::Memory memory = ring_client.share(4096);
  const ClientSignal signal(memory, 0);
  const Client::Event event = blocks ? ring_client.make_event() : Client::Event{};
  signal.interrupts(event);
  kfd_get_clock_counters ticks{};
  ticks.gpu_id = ring_client.gpu_id(0);
  const double tick = 1e-3 / ring_client.system().process().gpu(0).gpu().board.clocks.reference_khz;
  std::vector<double> seconds, back;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    signal.value().store(1, std::memory_order_relaxed);
    ring_client.must(KFD_NR_GET_CLOCK_COUNTERS, ticks, "GET_CLOCK_COUNTERS");
    const auto start = Clock::now();
    queue.barrier({}, signal.handle());
    while (signal.value().load(std::memory_order_acquire) != 0) {
      if (blocks) {
        ring_client.wait(event);
      } else {
        __builtin_ia32_pause();
      }
    }
    back.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    seconds.push_back(static_cast<double>(signal.start_ticks() - ticks.gpu_clock_counter) * tick);
    state.SetIterationTime(seconds.back());
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(back.begin(), back.end());
  state.counters["least_us"] = seconds.front() * 1e6;
  state.counters["p90_us"] = seconds[seconds.size() * 9 / 10] * 1e6;
  state.counters["back_us"] = back[back.size() / 2] * 1e6;
  if (state.range(0) != kPolledStore) {
    state.counters["p50_ns"] = seconds[seconds.size() / 2] * 1e9;
    state.counters["at_most_ns"] = 100e3;
  } else {
    state.counters["p50_us"] = seconds[seconds.size() / 2] * 1e6;
  }
  if (blocks) {
    kfd_event_ref ref{event.id, 0};
    ring_client.must(KFD_NR_DESTROY_EVENT, ref, "DESTROY_EVENT");
  }
  ring_client.release(memory);
}
BENCHMARK(WakeUp)
    ->ArgNames({"ring", "blocks"})
    ->ArgsProduct({{kStoreWithSignal, kCall, kPolledStore}, {0, 1}})
    ->UseManualTime()
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);

void Idle(benchmark::State& state) {
  ClientQueue queue(client_of(state.range(0)), 0, false, state.range(0) == kCall);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto start = Clock::now();
  for (auto _ : state) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double percent = 100 * (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before) / seconds;
  state.counters["cpu_percent"] = percent;
  state.counters["ratio"] = percent / 100;
  state.counters["at_most"] = 0.01;
}
BENCHMARK(Idle)
    ->ArgName("ring")
    ->DenseRange(kStoreWithSignal, kPolledStore)
    ->Iterations(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Copies the same memory alternately by SDMA and by memcpy. times_memcpy is the speedup against memcpy in
// wall time. `ratio` is the quotient of the CPU times. It is measured only for large copies, which take many
// timer ticks.
void SdmaCopy(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  ClientQueue queue(client(), 0, true, true);
  const Client::Memory from = client().share(bytes), to = client().share(bytes),
                       memory = client().share(4096);
  const ClientSignal signal(memory, 0);
  std::memset(from.host, 1, bytes);
  std::memset(to.host, 2, bytes);
  double best_sdma = 1e9, best_memcpy = 1e9, least_sdma = 1e9, least_memcpy = 1e9;
  for (auto _ : state) {
    signal.value().store(1, std::memory_order_relaxed);
    const double other_threads_before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - thread_cpu_seconds();
    const auto start = Clock::now();
    queue.copy(to.va(), from.va(), bytes, signal);
    while (signal.value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
    const auto middle = Clock::now();
    const double thread_before = thread_cpu_seconds();
    std::memcpy(to.host, from.host, bytes);
    benchmark::ClobberMemory();
    const auto end = Clock::now();
    const double thread_after = thread_cpu_seconds();
    least_memcpy = std::min(least_memcpy, thread_after - thread_before);
    // Read while the engine sleeps, because the CPU time of a running thread is updated at timer ticks only.
    least_sdma =
        std::min(least_sdma, cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - thread_after - other_threads_before);
    const double sdma = std::chrono::duration<double>(middle - start).count();
    best_sdma = std::min(best_sdma, sdma);
    best_memcpy = std::min(best_memcpy, std::chrono::duration<double>(end - middle).count());
    state.SetIterationTime(sdma);
  }
  state.counters["best_us"] = best_sdma * 1e6;
  state.counters["memcpy_us"] = best_memcpy * 1e6;
  state.counters["times_memcpy"] = best_memcpy / best_sdma;
  if (bytes >= 256 << 20) {
    state.counters["ratio"] = least_sdma / least_memcpy;
    state.counters["at_most"] = 1 / 0.9;
  }
  for (const Client::Memory& m : {from, to, memory}) client().release(m);
}
BENCHMARK(SdmaCopy)->Arg(4096)->Arg(1 << 20)->Arg(256 << 20)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rigel::vgpu
