#include "plugins/vgpu/exec/opencl_bench/thread_scaling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "plugins/vgpu/exec/opencl_bench/cases.hpp"
#include "plugins/vgpu/exec/opencl_bench/host_scaling.hpp"

namespace rigel::vgpu::bench {
namespace {

constexpr int kRounds = 5;            // of which some have the machine to themselves
constexpr int kHostRepetitions = 50;  // of some milliseconds: among them are some with nobody else about

using Times = std::map<std::string, std::array<double, 2>>;  // milliseconds, with one thread and with two

// A run's lines are a kernel and its time each, or something else.
bool run(const std::string& arguments, unsigned threads, Times& best) {
  const std::string command = "VGPU_THREADS=" + std::to_string(threads) + " exec '" +
                              std::filesystem::read_symlink("/proc/self/exe").string() + "' --wall --alone" +
                              arguments;
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return false;
  char line[256], name[64], more = 0;
  double time = 0;
  while (std::fgets(line, sizeof line, output) != nullptr) {
    if (std::sscanf(line, "%63s %lf %c", name, &time, &more) != 2) continue;
    auto& kept = best.try_emplace(name, std::array<double, 2>{INFINITY, INFINITY}).first->second[threads - 1];
    kept = std::min(kept, time);
  }
  return pclose(output) == 0;
}

}  // namespace

bool show_scaling(int repetitions, const std::vector<std::string>& kernels) {
  std::string arguments = " --repetitions " + std::to_string(repetitions);
  for (const std::string& kernel : kernels) arguments += " '" + kernel + "'";
  Times times;
  for (int round = 0; round < kRounds; ++round) {  // by turns: others load the machine as well
    for (const unsigned threads : {1u, 2u}) {
      if (!run(arguments, threads, times)) return false;
    }
  }
  std::vector<std::vector<std::byte>> memory;
  const auto allocate = [&](size_t bytes) { return memory.emplace_back(bytes).data(); };
  Mean computing, streaming, all;
  std::printf("elapsed time in milliseconds\n%-12s %10s %10s %8s\n", "kernel", "1 thread", "2 threads",
              "times");
  for (const Case& work : make_cases(allocate)) {
    const auto found = times.find(work.name);
    if (found == times.end()) continue;
    const auto [one, two] = found->second;
    (work.streaming ? streaming : computing).add(one / two);
    all.add(one / two);
    std::printf("%-12s %10.3f %10.3f %8.2f\n", work.name.c_str(), one, two, one / two);
  }
  memory.clear();
  std::printf("geometric means: computing %.2f (%d), streaming %.2f (%d), all %.2f\n", computing.value(),
              computing.count, streaming.value(), streaming.count, all.value());
  std::printf("the machine itself: arithmetic %.2f, a triad %.2f\n", arithmetic_scaling(2, kHostRepetitions),
              triad_scaling(2, kHostRepetitions));
  return true;
}

}  // namespace rigel::vgpu::bench
