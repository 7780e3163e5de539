// What the virtual GPU costs a program that uses it by system calls alone: ioctls, round trips of a barrier
// packet rung by a store and by the hook, copies beside memcpy, waking up, and doing nothing.
//
// The last is not timed but measured: the counter cpu_percent of Idle is the share of one processor that the
// whole process takes while a queue waits for its doorbell.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

using Clock = std::chrono::steady_clock;

Client& client() {
  static auto* const client = new Client("gfx900:vram=1G", SystemSettings::from_environment().options);
  return *client;
}

void IoctlGetVersion(benchmark::State& state) {
  kfd_get_version a{};
  for (auto _ : state) client().must(KFD_NR_GET_VERSION, a, "GET_VERSION");
}
BENCHMARK(IoctlGetVersion);

// Arguments that are not on the caller's stack are read and written by system calls, so that a bad address is
// an error.
void IoctlGetVersionOnTheHeap(benchmark::State& state) {
  const auto a = std::make_unique<kfd_get_version>();
  for (auto _ : state) client().must(KFD_NR_GET_VERSION, *a, "GET_VERSION");
}
BENCHMARK(IoctlGetVersionOnTheHeap);

void IoctlSetEvent(benchmark::State& state) {
  kfd_create_event e{};
  client().must(KFD_NR_CREATE_EVENT, e, "CREATE_EVENT");
  kfd_event_ref ref{e.event_id, 0};
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

void BarrierRoundTrip(benchmark::State& state) {
  ClientQueue queue(client(), 0, false, state.range(0) != 0);
  const Client::Memory memory = client().share(4096);
  const ClientSignal signal(memory, 0);
  for (auto _ : state) {
    signal.value().store(1, std::memory_order_relaxed);
    queue.barrier({}, signal.handle());
    while (signal.value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }
  client().release(memory);
}
BENCHMARK(BarrierRoundTrip)->ArgName("hook")->Arg(0)->Arg(1)->UseRealTime();

// The device has fallen asleep when the doorbell rings.
void WakeUp(benchmark::State& state) {
  ClientQueue queue(client(), 0, false, state.range(0) != 0);
  const Client::Memory memory = client().share(4096);
  const ClientSignal signal(memory, 0);
  std::vector<double> seconds;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    signal.value().store(1, std::memory_order_relaxed);
    const auto begin = Clock::now();
    queue.barrier({}, signal.handle());
    while (signal.value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    state.SetIterationTime(seconds.back());
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["least_us"] = seconds.front() * 1e6;
  state.counters["median_us"] = seconds[seconds.size() / 2] * 1e6;
  state.counters["p99_us"] = seconds[seconds.size() * 99 / 100] * 1e6;
  client().release(memory);
}
BENCHMARK(WakeUp)->ArgName("hook")->Arg(0)->Arg(1)->UseManualTime()->Iterations(200)->Unit(
    benchmark::kMicrosecond);

void Idle(benchmark::State& state) {
  ClientQueue queue(client(), 0, false, state.range(0) != 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double before = used();
  const auto begin = Clock::now();
  for (auto _ : state) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  state.counters["cpu_percent"] = 100 * (used() - before) / seconds;
}
BENCHMARK(Idle)->ArgName("hook")->Arg(0)->Arg(1)->Iterations(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// By SDMA and by memcpy in turns, the same memory; the counter is how many times as fast as memcpy it is.
void SdmaCopy(benchmark::State& state) {
  const auto bytes = static_cast<uint64_t>(state.range(0));
  ClientQueue queue(client(), 0, true, true);
  const Client::Memory from = client().share(bytes), to = client().share(bytes),
                       memory = client().share(4096);
  const ClientSignal signal(memory, 0);
  std::memset(from.host, 1, bytes);
  std::memset(to.host, 2, bytes);
  double best_sdma = 1e9, best_memcpy = 1e9;
  for (auto _ : state) {
    signal.value().store(1, std::memory_order_relaxed);
    const auto begin = Clock::now();
    queue.copy(to.va(), from.va(), bytes, signal);
    while (signal.value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
    const auto middle = Clock::now();
    std::memcpy(to.host, from.host, bytes);
    benchmark::ClobberMemory();
    const auto end = Clock::now();
    const double sdma = std::chrono::duration<double>(middle - begin).count();
    best_sdma = std::min(best_sdma, sdma);
    best_memcpy = std::min(best_memcpy, std::chrono::duration<double>(end - middle).count());
    state.SetIterationTime(sdma);
  }
  state.counters["best_us"] = best_sdma * 1e6;
  state.counters["memcpy_us"] = best_memcpy * 1e6;
  state.counters["times_memcpy"] = best_memcpy / best_sdma;
  for (const Client::Memory& m : {from, to, memory}) client().release(m);
}
BENCHMARK(SdmaCopy)->Arg(4096)->Arg(1 << 20)->Arg(256 << 20)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rigel::vgpu
