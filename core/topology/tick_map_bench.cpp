// Cost of the conversion of a tick: a new one each time, a repeated one, and an old one.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/topology/tick_map.hpp"

namespace rigel {
namespace {

constexpr uint64_t kBegin = 1'000'000'000, kSecond = 1'000'000'000;

// At 100 MHz, with clocks that drift apart at every calibration.
void calibrate(TickMap& map, int times) {
  for (int i = 1; i <= times; ++i) {
    const uint64_t second = static_cast<uint64_t>(i) + 1;
    const std::vector<ClockReading> now{{kBegin + second * 100'000'000, second * kSecond + second % 7 * 5'000,
                                         second * kSecond + second % 7 * 5'000 + 100}};
    map.calibrate(now);
  }
}

void tick(benchmark::State& state, uint64_t begin, uint64_t step) {
  const std::vector<ClockReading> now{{kBegin + 100'000'000, kSecond, kSecond + 100}};
  TickMap map({kBegin, 0, 100}, now, 100'000'000);
  calibrate(map, static_cast<int>(state.range(0)));
  uint64_t tick = begin == 0 ? kBegin + (static_cast<uint64_t>(state.range(0)) + 1) * 100'000'000 : begin;
  for ([[maybe_unused]] auto step_taken : state) {
    benchmark::DoNotOptimize(map.to_ns(tick));
    tick += step;
  }
  state.counters["segments"] = map.segments();
  state.counters["at_most_ns"] = 30;  // ROCr takes 25 if it need not read the clocks
}
void new_ticks(benchmark::State& state) {
  tick(state, 0, 1000);
}
void the_same_tick(benchmark::State& state) {
  tick(state, 0, 0);
}
void an_old_tick(benchmark::State& state) {
  tick(state, kBegin + 500, 0);
}

BENCHMARK(new_ticks)->Arg(0)->Arg(1000);
BENCHMARK(the_same_tick)->Arg(1000);
BENCHMARK(an_old_tick)->Arg(1000);

}  // namespace
}  // namespace rigel
