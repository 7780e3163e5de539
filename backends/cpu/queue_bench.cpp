// Cost of a packet and of a work-group.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/testing/kernels.hpp"
#include "backends/cpu/testing/rig.hpp"
#include "backends/cpu/threads.hpp"

namespace rigel::cpu {
namespace {

using namespace testing;

// From the reservation of a slot until a spinning waiter has seen the completion.
void EmptyDispatchRoundTrip(benchmark::State& state) {
  Rig rig;
  rig.load(TEST_KERNELS);
  TestQueue queue(rig);
  const uint64_t done = rig.host.create_signal(0);
  const Packet packet = kernel_packet(rig.kernel("empty"), nullptr, {1}, {1}, done);
  std::vector<double> times;
  for (auto _ : state) {
    const uint64_t begin = ticks();
    rig.host.store(done, 1);
    queue.submit(packet);
    while (FakeHost::load(done) != 0) relax();
    times.push_back(static_cast<double>(ticks() - begin) / ticks_per_ns());
  }
  // The mean is not meaningful on a machine with other load.
  std::sort(times.begin(), times.end());
  state.counters["p10_ns"] = times[times.size() / 10];
  state.counters["p50_ns"] = times[times.size() / 2];
  rig.host.destroy_signal(done);
}
BENCHMARK(EmptyDispatchRoundTrip)->UseRealTime();

// Packets per second with a ring that is never empty.
void EmptyDispatchThroughput(benchmark::State& state) {
  Rig rig;
  rig.load(TEST_KERNELS);
  TestQueue queue(rig, 4096);
  constexpr int kBatch = 1024;
  const uint64_t done = rig.host.create_signal(0);
  const Packet packet = kernel_packet(rig.kernel("empty"), nullptr, {1}, {1}, done);
  for (auto _ : state) {
    rig.host.store(done, kBatch);
    for (int i = 0; i < kBatch; ++i) queue.submit(packet);
    while (FakeHost::load(done) != 0) relax();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
  rig.host.destroy_signal(done);
}
BENCHMARK(EmptyDispatchThroughput)->UseRealTime();

// Argument: number of threads.
void EmptyWorkgroups(benchmark::State& state) {
  Rig rig{{"threads", state.range(0)}};
  rig.load(TEST_KERNELS);
  TestQueue queue(rig);
  constexpr uint32_t kGroups = 1'000'000;
  for (auto _ : state) queue.run(rig.kernel("nearly_empty"), nullptr, {kGroups * 64}, {64});
  state.SetItemsProcessed(state.iterations() * kGroups);
}
BENCHMARK(EmptyWorkgroups)->UseRealTime()->Arg(1)->Arg(2);

}  // namespace
}  // namespace rigel::cpu
