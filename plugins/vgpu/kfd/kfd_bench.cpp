// What the virtual GPU costs a program that uses it by system calls alone: ioctls, round trips of a barrier
// packet rung by a store and by a call, copies beside memcpy, waking up, and doing nothing.
//
// The last is not timed but measured: the counter cpu_percent of Idle is the share of one processor that the
// whole process takes while a queue waits for its doorbell. Copies are compared by processor time: by the
// clock, on a machine that has other work, one thread that copies is held up less than one that rings and one
// that copies.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

using Clock = std::chrono::steady_clock;

double processor_seconds(clockid_t whose) {
  timespec t{};
  clock_gettime(whose, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double own_seconds() {
  return processor_seconds(CLOCK_THREAD_CPUTIME_ID);
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

// Arguments that are not on the caller's stack are read and written by system calls, so that a bad address is
// an error.
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

// How doorbells are rung, and noticed while the device sleeps.
enum Ring { kStoreThatSignals, kCall, kStoreThatIsLookedAt };

Client& client_of(int64_t ring) {
  if (ring != kStoreThatIsLookedAt) return client();
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
BENCHMARK(BarrierRoundTrip)->ArgName("ring")->Arg(kStoreThatSignals)->Arg(kCall)->UseRealTime();

// The device has fallen asleep when the doorbell rings. The time is that from before the ring until the
// packet is read, by the device's own time stamp; back_us is the median of the round trip, in which a client
// that does not spin but waits for an event has to be woken as well.
void WakeUp(benchmark::State& state) {
  const bool blocks = state.range(1) != 0;
  Client& user = client_of(state.range(0));
  ClientQueue queue(user, 0, false, state.range(0) == kCall);
  queue.take_times();
  const Client::Memory memory = user.share(4096);
  const ClientSignal signal(memory, 0);
  const Client::Event event = blocks ? user.make_event() : Client::Event{};
  signal.interrupts(event);
  kfd_get_clock_counters ticks{};
  ticks.gpu_id = user.gpu_id(0);
  const double tick = 1e-3 / user.system().process().gpu(0).gpu().board.clocks.reference_khz;
  std::vector<double> seconds, back;
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    signal.value().store(1, std::memory_order_relaxed);
    user.must(KFD_NR_GET_CLOCK_COUNTERS, ticks, "GET_CLOCK_COUNTERS");
    const auto begin = Clock::now();
    queue.barrier({}, signal.handle());
    while (signal.value().load(std::memory_order_acquire) != 0) {
      if (blocks) {
        user.wait(event);
      } else {
        __builtin_ia32_pause();
      }
    }
    back.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    seconds.push_back(static_cast<double>(signal.start_ticks() - ticks.gpu_clock_counter) * tick);
    state.SetIterationTime(seconds.back());
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(back.begin(), back.end());
  state.counters["least_us"] = seconds.front() * 1e6;
  state.counters["p90_us"] = seconds[seconds.size() * 9 / 10] * 1e6;
  state.counters["back_us"] = back[back.size() / 2] * 1e6;
  if (state.range(0) != kStoreThatIsLookedAt) {
    state.counters["p50_ns"] = seconds[seconds.size() / 2] * 1e9;
    state.counters["at_most_ns"] = 100e3;
  } else {
    state.counters["p50_us"] = seconds[seconds.size() / 2] * 1e6;
  }
  if (blocks) {
    kfd_event_ref ref{event.id, 0};
    user.must(KFD_NR_DESTROY_EVENT, ref, "DESTROY_EVENT");
  }
  user.release(memory);
}
BENCHMARK(WakeUp)
    ->ArgNames({"ring", "blocks"})
    ->ArgsProduct({{kStoreThatSignals, kCall, kStoreThatIsLookedAt}, {0, 1}})
    ->UseManualTime()
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);

void Idle(benchmark::State& state) {
  ClientQueue queue(client_of(state.range(0)), 0, false, state.range(0) == kCall);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double before = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto begin = Clock::now();
  for (auto _ : state) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double percent = 100 * (processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - before) / seconds;
  state.counters["cpu_percent"] = percent;
  state.counters["ratio"] = percent / 100;
  state.counters["at_most"] = 0.01;
}
BENCHMARK(Idle)
    ->ArgName("ring")
    ->DenseRange(kStoreThatSignals, kStoreThatIsLookedAt)
    ->Iterations(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// By SDMA and by memcpy in turns, the same memory. times_memcpy is how many times as fast as memcpy it is, by
// the clock; ratio what it takes of processor time, by what memcpy takes: of large copies, which take many
// ticks.
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
    const double others = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - own_seconds();
    const auto begin = Clock::now();
    queue.copy(to.va(), from.va(), bytes, signal);
    while (signal.value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
    const auto middle = Clock::now();
    const double own = own_seconds();
    std::memcpy(to.host, from.host, bytes);
    benchmark::ClobberMemory();
    const auto end = Clock::now();
    const double own_now = own_seconds();
    least_memcpy = std::min(least_memcpy, own_now - own);
    // Now that the engine sleeps: what a thread that runs has used is known as of the last tick only.
    least_sdma = std::min(least_sdma, processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - own_now - others);
    const double sdma = std::chrono::duration<double>(middle - begin).count();
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
