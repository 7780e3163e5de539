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

// Elapsed time of work that is shared by threads which are there already. work(i) is thread i's part.
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
               const std::function<void(unsigned thread, unsigned of)>& work) {
  double one = INFINITY, all = INFINITY;
  for (int i = 0; i < repetitions; ++i) {  // by turns: others load the machine as well
    one = std::min(one, elapsed(1, [&](unsigned thread) { work(thread, 1); }));
    all = std::min(all, elapsed(threads, [&](unsigned thread) { work(thread, threads); }));
  }
  return one / all;
}

}  // namespace

double triad_scaling(unsigned threads, int repetitions) {
  constexpr size_t kCount = size_t{4} << 20;
  std::vector<float> a(kCount), b(kCount, 1.0f), c(kCount, 2.0f);
  return scaling(threads, repetitions, [&](unsigned thread, unsigned of) {
    float* const to = a.data();
    const float *const x = b.data(), *const y = c.data();
    const size_t end = kCount * (thread + 1) / of;
    for (size_t i = kCount * thread / of; i < end; ++i) to[i] = x[i] + 1.5f * y[i];
  });
}

double arithmetic_scaling(unsigned threads, int repetitions) {
  constexpr uint64_t kRounds = uint64_t{8} << 20;
  std::vector<float> results(threads * size_t{64});  // a line or more for each
  return scaling(threads, repetitions, [&](unsigned thread, unsigned of) {
    float chains[32];  // that do not wait for each other
    for (int i = 0; i < 32; ++i) chains[i] = static_cast<float>(i);
    for (uint64_t round = 0; round < kRounds / of; ++round) {
      for (float& chain : chains) chain = chain * 0.999f + 1.0f;
    }
    for (const float chain : chains) results[thread * size_t{64}] += chain;
  });
}

}  // namespace rigel::vgpu::bench
