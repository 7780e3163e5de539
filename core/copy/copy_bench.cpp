// Copies and fills, compared with memcpy and memset of the same sizes.
#include <benchmark/benchmark.h>

#include <cstring>

#include "core/copy/block_copy.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/memory/memory_fixture.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

struct Fixture {
  explicit Fixture(size_t size) {
    testing::add_agents(memory);
    testing::add_hosts(memory);
    for (void** ptr : {&to, &from}) {
      memory.heaps.memory_pool_allocate(testing::fine_pool(memory), size, 0, ptr);
      std::memset(*ptr, 1, size);
    }
  }
  testing::TestMemory memory;
  CopyEngine engine{memory.agents, memory.pointers};
  void* to = nullptr;
  void* from = nullptr;
};

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(64)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20)->Arg(16 << 20)->Arg(128 << 20)->UseRealTime();
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void memcpy_of_the_c_library(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Fixture fixture(size);
  for (auto step : state) {
    std::memcpy(fixture.to, fixture.from, size);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(memcpy_of_the_c_library)->Apply(sizes);

void copy_with_one_thread(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Fixture fixture(size);
  for (auto step : state) {
    copy_bytes(fixture.to, fixture.from, size);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(copy_with_one_thread)->Apply(sizes);

void memory_copy(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Fixture fixture(size);
  for (auto step : state) fixture.engine.memory_copy(fixture.to, fixture.from, size);
  count_bytes(state);
}
BENCHMARK(memory_copy)->Apply(sizes);

void memory_async_copy_and_wait(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Fixture fixture(size);
  Signal* done = signal_pool::create(0);
  for (auto step : state) {
    done->store(1);
    fixture.engine.memory_async_copy(fixture.to, testing::kCpu0, fixture.from, testing::kCpu0, size, 0,
                                     nullptr, done->handle());
    wait(*done, HSA_SIGNAL_CONDITION_LT, 1);
  }
  signal_pool::destroy(*done);
  count_bytes(state);
}
BENCHMARK(memory_async_copy_and_wait)->Apply(sizes);

// A copy with a dependency, from the store to its signal to the end of the copy.
void dependent_copy(benchmark::State& state) {
  Fixture fixture(4096);
  Signal* before = signal_pool::create(0);
  Signal* done = signal_pool::create(0);
  const hsa_signal_t after = before->handle();
  for (auto step : state) {
    before->store(1);
    done->store(1);
    fixture.engine.memory_async_copy(fixture.to, testing::kCpu0, fixture.from, testing::kCpu0, 4096, 1,
                                     &after, done->handle());
    before->store<std::memory_order_release>(0);
    wait(*done, HSA_SIGNAL_CONDITION_LT, 1);
  }
  signal_pool::destroy(*before);
  signal_pool::destroy(*done);
}
BENCHMARK(dependent_copy)->UseRealTime();

void memset_of_the_c_library(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Fixture fixture(size);
  for (auto step : state) {
    std::memset(fixture.to, 1, size);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(memset_of_the_c_library)->Apply(sizes);

void memory_fill(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Fixture fixture(size);
  for (auto step : state) fixture.engine.memory_fill(fixture.to, 0x01020304, size / 4);
  count_bytes(state);
}
BENCHMARK(memory_fill)->Apply(sizes);

}  // namespace
}  // namespace rigel
