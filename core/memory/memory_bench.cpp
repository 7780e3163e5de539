// Allocation and pointer queries, compared with the C library and the kernel.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

struct Fixture {
  Fixture() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
    pool = testing::fine_pool(memory);
  }
  void* allocate(size_t size) {
    void* ptr = nullptr;
    memory.heaps.memory_pool_allocate(pool, size, 0, &ptr);
    return ptr;
  }
  testing::TestMemory memory;
  hsa_amd_memory_pool_t pool{};
};

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(4 << 10)->Arg(64 << 10)->Arg(2 << 20)->Arg(64 << 20);
}

void pool_allocate_and_free(benchmark::State& state) {
  Fixture fixture;
  const auto size = static_cast<size_t>(state.range(0));
  for (auto step : state) {
    void* ptr = fixture.allocate(size);
    benchmark::DoNotOptimize(ptr);
    fixture.memory.pointers.memory_free(ptr);
  }
  if (size == 4096) state.counters["at_most_ns"] = 500;
}
BENCHMARK(pool_allocate_and_free)->Apply(sizes);

void malloc_and_free(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  for (auto step : state) {
    void* ptr = std::malloc(size);
    benchmark::DoNotOptimize(ptr);
    std::free(ptr);
  }
}
BENCHMARK(malloc_and_free)->Apply(sizes);

void aligned_alloc_and_free(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  for (auto step : state) {
    void* ptr = std::aligned_alloc(4096, size);
    benchmark::DoNotOptimize(ptr);
    std::free(ptr);
  }
}
BENCHMARK(aligned_alloc_and_free)->Apply(sizes);

void mmap_and_munmap(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  for (auto step : state) {
    void* ptr = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    benchmark::DoNotOptimize(ptr);
    munmap(ptr, size);
  }
}
BENCHMARK(mmap_and_munmap)->Apply(sizes);

// Many allocations, freed in a different order, each touched once.
template <class Allocate, class Free>
void in_bulk(benchmark::State& state, Allocate allocate, Free release) {
  const auto size = static_cast<size_t>(state.range(0));
  std::vector<void*> all(size_t{128 << 20} / size);
  std::mt19937 random(1);
  for (auto step : state) {
    for (void*& ptr : all) {
      ptr = allocate(size);
      *static_cast<volatile char*>(ptr) = 1;
    }
    for (size_t i = all.size(); i-- > 1;) std::swap(all[i], all[random() % (i + 1)]);
    for (void* ptr : all) release(ptr);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * all.size()));
}

void pool_in_bulk(benchmark::State& state) {
  Fixture fixture;
  in_bulk(
      state, [&](size_t size) { return fixture.allocate(size); },
      [&](void* ptr) { fixture.memory.pointers.memory_free(ptr); });
}
BENCHMARK(pool_in_bulk)->Arg(4 << 10)->Arg(64 << 10)->Arg(2 << 20);

void aligned_alloc_in_bulk(benchmark::State& state) {
  in_bulk(
      state, [](size_t size) { return std::aligned_alloc(4096, size); }, std::free);
}
BENCHMARK(aligned_alloc_in_bulk)->Arg(4 << 10)->Arg(64 << 10)->Arg(2 << 20);

Fixture* shared_fixture = nullptr;

void pool_allocate_and_free_by_threads(benchmark::State& state) {
  if (state.thread_index() == 0) shared_fixture = new Fixture;
  for (auto step : state) {
    void* ptr = shared_fixture->allocate(4096);
    benchmark::DoNotOptimize(ptr);
    shared_fixture->memory.pointers.memory_free(ptr);
  }
  if (state.thread_index() == 0) delete shared_fixture;
}
BENCHMARK(pool_allocate_and_free_by_threads)->Threads(2)->UseRealTime();

std::vector<unsigned char*>* shared_pointers = nullptr;

void pointer_info(benchmark::State& state) {
  if (state.thread_index() == 0) {
    shared_fixture = new Fixture;
    shared_pointers = new std::vector<unsigned char*>(static_cast<size_t>(state.range(0)));
    for (auto& ptr : *shared_pointers) ptr = static_cast<unsigned char*>(shared_fixture->allocate(4096));
  }
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto step : state) {
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    const unsigned char* ptr = (*shared_pointers)[random() % shared_pointers->size()] + 100;
    benchmark::DoNotOptimize(
        shared_fixture->memory.pointers.pointer_info(ptr, &info, nullptr, nullptr, nullptr));
    benchmark::DoNotOptimize(info);
  }
  if (state.thread_index() == 0) {
    delete shared_fixture;
    delete shared_pointers;
  }
}
BENCHMARK(pointer_info)->Arg(100)->Arg(1'000'000)->ThreadRange(1, 2)->UseRealTime();

void pointer_info_of_unknown_memory(benchmark::State& state) {
  Fixture fixture;
  int own = 0;
  for (auto step : state) {
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    benchmark::DoNotOptimize(fixture.memory.pointers.pointer_info(&own, &info, nullptr, nullptr, nullptr));
  }
}
BENCHMARK(pointer_info_of_unknown_memory);

void lock_and_unlock(benchmark::State& state) {
  Fixture fixture;
  std::vector<char> own(1 << 20);
  for (auto step : state) {
    void* address = nullptr;
    fixture.memory.locked.memory_lock(own.data(), own.size(), nullptr, 0, &address);
    fixture.memory.locked.memory_unlock(own.data());
  }
}
BENCHMARK(lock_and_unlock);

}  // namespace
}  // namespace rigel
