#include "plugins/vgpu/exec/opencl_bench/host_scaling.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

namespace rigel::vgpu::bench {
namespace {

// Returns the elapsed time of work that running threads share. work(i) is the part of thread i.
double elapsed(unsigned threads, const std::function<void(unsigned)>& work) {
  std::atomic<unsigned> waiting{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) {
    others.emplace_back([&, i] {
      ++waiting;
      while (!go) std::this_thread::yield();
      work(i);
    });
  }
  while (waiting + 1 < threads) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  go = true;
  work(0);
  for (std::thread& thread : others) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double scaling(unsigned threads, int repetitions,
               const std::function<void(unsigned thread, unsigned count)>& work) {
  double one = INFINITY, all = INFINITY;
  for (int i = 0; i < repetitions; ++i) {  // alternately, because the load of the machine varies
    one = std::min(one, elapsed(1, [&](unsigned thread) { work(thread, 1); }));
    all = std::min(all, elapsed(threads, [&](unsigned thread) { work(thread, threads); }));
  }
  return one / all;
}

}  // namespace

double triad_scaling(unsigned threads, int repetitions) {
  constexpr size_t kCount = size_t{4} << 20;
  std::vector<float> a(kCount), b(kCount, 1.0f), c(kCount, 2.0f);
  return scaling(threads, repetitions, [&](unsigned thread, unsigned count) {
    float* const destination = a.data();
    const float *const x = b.data(), *const y = c.data();
    const size_t end = kCount * (thread + 1) / count;
    for (size_t i = kCount * thread / count; i < end; ++i) destination[i] = x[i] + 1.5f * y[i];
  });
}

double arithmetic_scaling(unsigned threads, int repetitions) {
  constexpr uint64_t kRounds = uint64_t{8} << 20;
  std::vector<float> results(threads * size_t{64});  // at least one cache line per thread
  return scaling(threads, repetitions, [&](unsigned thread, unsigned count) {
    float chains[32];  // independent of each other
    for (int i = 0; i < 32; ++i) chains[i] = static_cast<float>(i);
    for (uint64_t round = 0; round < kRounds / count; ++round) {
      for (float& chain : chains) chain = chain * 0.999f + 1.0f;
    }
    for (const float chain : chains) results[thread * size_t{64}] += chain;
  });
}

}  // namespace rigel::vgpu::bench
