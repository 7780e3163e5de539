#include "plugins/vgpu/exec/opencl_bench/thread_scaling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "plugins/vgpu/exec/opencl_bench/cases.hpp"
#include "plugins/vgpu/exec/opencl_bench/host_scaling.hpp"
#include "plugins/vgpu/exec/opencl_bench/own_run.hpp"

namespace rigel::vgpu::bench {
namespace {

constexpr int kRounds = 5;            // some of which are undisturbed by other processes
constexpr int kHostRepetitions = 50;  // a few milliseconds each; some are undisturbed

using Times = std::map<std::string, std::array<double, 2>>;  // milliseconds, with one thread and with two

}  // namespace

bool show_scaling(int repetitions, const std::vector<std::string>& kernels) {
  const std::string options = "--wall --repetitions " + std::to_string(repetitions);
  Times times;
  for (int round = 0; round < kRounds; ++round) {  // alternately, because the load of the machine varies
    for (const size_t threads : {1, 2}) {
      const auto keep = [&](const std::string& kernel, double ms) {
        double& kept =
            times.try_emplace(kernel, std::array<double, 2>{INFINITY, INFINITY}).first->second[threads - 1];
        kept = std::min(kept, ms);
      };
      if (!run_own("VGPU_THREADS=" + std::to_string(threads), options, kernels, keep)) return false;
    }
  }
  std::vector<std::vector<std::byte>> memory;
  const auto allocate = [&](size_t bytes) { return memory.emplace_back(bytes).data(); };
  Mean means[3], all;  // by Bound
  std::printf("minimum elapsed time in ms\n%-12s %10s %10s %8s\n", "kernel", "1 thread", "2 threads",
              "speedup");
  for (const Case& work : make_cases(allocate)) {
    const auto entry = times.find(work.name);
    if (entry == times.end()) continue;
    const auto [one_thread, two_threads] = entry->second;
    means[static_cast<size_t>(work.bound)].add(one_thread / two_threads);
    all.add(one_thread / two_threads);
    std::printf("%-12s %10.3f %10.3f %8.2f\n", work.name.c_str(), one_thread, two_threads,
                one_thread / two_threads);
  }
  memory.clear();
  std::printf(
      "geometric means of speedups: computing %.2f (%d), streaming %.2f (%d), textures %.2f (%d), all %.2f\n",
      means[0].value(), means[0].count, means[1].value(), means[1].count, means[2].value(), means[2].count,
      all.value());
  std::printf("speedup of this CPU: arithmetic %.2f, triad %.2f\n", arithmetic_scaling(2, kHostRepetitions),
              triad_scaling(2, kHostRepetitions));
  return true;
}

}  // namespace rigel::vgpu::bench
