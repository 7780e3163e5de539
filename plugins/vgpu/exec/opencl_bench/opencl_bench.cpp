// Benchmark of OpenCL C kernels on the virtual GPU and on the CPU with PoCL: same source, same data, one
// run. Results are compared.
//
//   vgpu-run --gpu gfx900 vgpu_opencl_bench [--repetitions N] [--wall] [--alone] [--scaling] [kernel…]
//
// Columns: minimum CPU time in milliseconds of both devices, over all threads; speedup of the virtual GPU
// over PoCL; millions of wave instructions per second (a wave has 64 or 32 lanes); time of native C++ code,
// if the case has it; speedup of the virtual GPU over native code. The last line has geometric means. To
// compare one thread each, set VGPU_THREADS=1 POCL_MAX_PTHREAD_COUNT=1.
//
//   --wall      elapsed time, to measure scaling, and the machine's own speedup with two threads
//   --alone     without PoCL, to compare GPUs
//   --scaling   implies --wall --alone: speedup of two threads of the virtual GPU over one
//   --checks    slowdown by vgpu-run --check and its peak memory
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "plugins/vgpu/exec/opencl_bench/by_hand.hpp"
#include "plugins/vgpu/exec/opencl_bench/cases.hpp"
#include "plugins/vgpu/exec/opencl_bench/check_cost.hpp"
#include "plugins/vgpu/exec/opencl_bench/cpu_time.hpp"
#include "plugins/vgpu/exec/opencl_bench/gpu.hpp"
#include "plugins/vgpu/exec/opencl_bench/host_scaling.hpp"
#include "plugins/vgpu/exec/opencl_bench/instruction_counts.hpp"
#include "plugins/vgpu/exec/opencl_bench/opencl.hpp"
#include "plugins/vgpu/exec/opencl_bench/thread_scaling.hpp"

namespace rigel::vgpu::bench {

void fail(const std::string& message) {
  std::fprintf(stderr, "vgpu_opencl_bench: error: %s\n", message.c_str());
  std::exit(1);
}

namespace {

double elapsed_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Options {
  int repetitions = 7;
  bool wall = false;
  bool alone = false;
  bool scaling = false;
  bool serve = false;               // runs kernels for show_check_cost()
  std::vector<std::string> checks;  // whose cost is measured
  std::vector<std::string> kernels;

  bool chosen(const std::string& name) const {
    return kernels.empty() || std::find(kernels.begin(), kernels.end(), name) != kernels.end();
  }
};

template <class Device>
double run_once(Device& device, bool wall) {
  const auto cost = [&] { return wall ? elapsed_seconds() : cpu_seconds(); };
  const double begin = cost();
  device.run();
  return (cost() - begin) * 1e3;
}

// Returns the case with separate memory for outputs.
Case with_outputs(const Case& work, const std::function<void*(size_t)>& allocate) {
  Case other = work;
  for (Argument& argument : other.arguments) {
    auto* buffer = std::get_if<Buffer>(&argument);
    if (buffer != nullptr && buffer->output) buffer->memory = allocate(buffer->bytes);
  }
  return other;
}

void clear_outputs(const Case& work) {
  for (const Argument& argument : work.arguments) {
    const auto* buffer = std::get_if<Buffer>(&argument);
    if (buffer != nullptr && buffer->output) std::memset(buffer->memory, 0, buffer->bytes);
  }
}

bool agree(const Case& first, const Case& second) {
  for (size_t i = 0; i < first.arguments.size(); ++i) {
    const auto* left = std::get_if<Buffer>(&first.arguments[i]);
    const auto* right = std::get_if<Buffer>(&second.arguments[i]);
    if (left == nullptr || !left->output) continue;
    if (first.agreement == Agreement::kExact) {
      if (std::memcmp(left->memory, right->memory, left->bytes) != 0) return false;
      continue;
    }
    if (first.agreement == Agreement::kBytes) {
      const auto* l = static_cast<const uint8_t*>(left->memory);
      const auto* r = static_cast<const uint8_t*>(right->memory);
      for (size_t k = 0; k < left->bytes; ++k) {
        if (std::abs(l[k] - r[k]) > 2) return false;
      }
      continue;
    }
    const size_t count = left->bytes / sizeof(float);
    size_t mismatches = 0;
    if (first.agreement == Agreement::kMostIntegers) {
      // Rounding decides in which iteration points at the edge of mandelbrot's set leave it.
      const auto* l = static_cast<const int32_t*>(left->memory);
      const auto* r = static_cast<const int32_t*>(right->memory);
      for (size_t k = 0; k < count; ++k) mismatches += l[k] != r[k] ? 1 : 0;
      if (mismatches > count / 20) return false;
      continue;
    }
    // The compilers contract and order additions differently. Wrong results are far off in most elements.
    const auto* l = static_cast<const float*>(left->memory);
    const auto* r = static_cast<const float*>(right->memory);
    for (size_t k = 0; k < count; ++k) {
      if (!(std::abs(l[k] - r[k]) <= 1e-3f * (1 + std::abs(l[k])))) ++mismatches;
    }
    if (mismatches > count / 1000) return false;
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(path + ": cannot read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string rate(const std::map<std::string, uint64_t>& instructions, const std::string& kernel, double ms) {
  const auto entry = instructions.find(kernel);
  if (entry == instructions.end()) return "-";
  return std::to_string(std::lround(static_cast<double>(entry->second) / ms / 1e3));
}

int run(const Options& options, const std::string& folder) {
  const auto instructions =
      options.alone ? std::map<std::string, uint64_t>() : instruction_counts(options.kernels);
  Gpu gpu(folder);
  std::optional<OpenCl> opencl;
  if (!options.alone) opencl.emplace(read_file(folder + "/kernels.cl"));
  const auto allocate = [&](size_t bytes) { return gpu.allocate(bytes); };
  std::printf("%s and %s: minimum %s in ms\n", gpu.target().c_str(),
              opencl ? opencl->name().c_str() : "no OpenCL", options.wall ? "elapsed time" : "CPU time");
  std::printf("%-12s %10s %10s %8s %8s %10s %8s\n", "kernel", gpu.target().c_str(), "OpenCL", "speedup",
              "M/s", "native", "speedup");
  Mean means[4];  // by Bound
  Mean to_hand;
  bool right = true;
  for (const Case& work : make_cases(allocate)) {
    if (!options.chosen(work.name)) continue;
    gpu.prepare(work);
    run_once(gpu, false);  // translation and compilation
    if (!opencl) {
      double best = INFINITY;
      for (int i = 0; i < options.repetitions; ++i) best = std::min(best, run_once(gpu, options.wall));
      std::printf("%-12s %10.3f\n", work.name.c_str(), best);
      std::fflush(stdout);
      continue;
    }
    const Case reference = with_outputs(work, allocate);
    opencl->prepare(reference);
    run_once(*opencl, false);
    double best = INFINITY, best_opencl = INFINITY;
    for (int i = 0; i < options.repetitions; ++i) {
      clear_outputs(work), clear_outputs(reference);
      best = std::min(best, run_once(gpu, options.wall));
      best_opencl = std::min(best_opencl, run_once(*opencl, options.wall));
    }
    bool same = agree(work, reference);
    means[static_cast<size_t>(work.bound)].add(best_opencl / best);
    std::printf("%-12s %10.3f %10.3f %8.2f %8s", work.name.c_str(), best, best_opencl, best_opencl / best,
                rate(instructions, work.name, best).c_str());
    if (has_by_hand(work)) {
      ByHand by_hand(work);
      double best_by_hand = INFINITY;
      for (int i = 0; i < options.repetitions; ++i) {
        clear_outputs(work);
        best_by_hand = std::min(best_by_hand, run_once(by_hand, options.wall));
      }
      same = same && agree(work, reference);
      to_hand.add(best_by_hand / best);
      std::printf(" %10.3f %8.2f", best_by_hand, best_by_hand / best);
    }
    std::printf("%s\n", same ? "" : "  error: the results differ");
    right = right && same;
    std::fflush(stdout);
  }
  if (opencl) {
    constexpr const char* kBounds[] = {"computing", "streaming", "private arrays", "textures"};
    std::printf("geometric means of speedups:");
    for (size_t i = 0; i < std::size(means); ++i)
      std::printf(" %s %.2f (%d),", kBounds[i], means[i].value(), means[i].count);
    std::printf(" native code %.2f (%d)\n", to_hand.value(), to_hand.count);
  }
  if (options.wall) {
    std::printf("speedup of this CPU with two threads: triad %.2f, arithmetic %.2f\n",
                triad_scaling(2, options.repetitions), arithmetic_scaling(2, options.repetitions));
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace rigel::vgpu::bench

constexpr const char* kHelp =
    "usage: vgpu_opencl_bench [options] [kernel]...\n"
    "Measures OpenCL C kernels on a virtual GPU, compared with an OpenCL CPU device and native code.\n"
    "\n"
    "  kernel           measure these kernels (default: all)\n"
    "  --repetitions N  number of runs of each kernel; the minimum time in ms is printed (default: 7)\n"
    "  --wall           measure elapsed time (default: CPU time)\n"
    "  --alone          without the OpenCL CPU device and native code\n"
    "  --scaling        measure one and two threads of the virtual GPU\n"
    "  --checks LISTS   measure the slowdown by these arguments of vgpu-run --check, separated by colons\n"
    "  --help           print this text (also -h)\n"
    "\n"
    "A speedup of 2 means that the virtual GPU is twice as fast.\n"
    "\n"
    "Examples:\n"
    "  VGPU_THREADS=1 vgpu-run --gpu gfx900 vgpu_opencl_bench --repetitions 9\n"
    "  vgpu-run --gpu gfx900 vgpu_opencl_bench --alone sgemm_tiled\n"
    "  VGPU_THREADS=1 vgpu-run --gpu gfx900 vgpu_opencl_bench --checks memory:sync:races:memory,init\n";

int main(int argc, char** argv) {
  rigel::vgpu::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--repetitions") == 0 && i + 1 < argc) {
      options.repetitions = std::max(1, std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--wall") == 0) {
      options.wall = true;
    } else if (std::strcmp(argv[i], "--alone") == 0) {
      options.alone = true;
    } else if (std::strcmp(argv[i], "--scaling") == 0) {
      options.scaling = true;
    } else if (std::strcmp(argv[i], "--serve") == 0) {
      options.serve = true;
    } else if (std::strcmp(argv[i], "--checks") == 0 && i + 1 < argc) {
      std::istringstream lists(argv[++i]);
      for (std::string list; std::getline(lists, list, ':');) options.checks.push_back(list);
    } else if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
      return std::fputs(kHelp, stdout) < 0 ? 1 : 0;
    } else if (argv[i][0] == '-') {
      rigel::vgpu::bench::fail("unknown option '" + std::string(argv[i]) +
                               "', or missing value; use vgpu_opencl_bench --help");
    } else {
      options.kernels.emplace_back(argv[i]);
    }
  }
  if (options.scaling) {
    return rigel::vgpu::bench::show_scaling(options.repetitions, options.kernels) ? 0 : 1;
  }
  if (options.serve) return rigel::vgpu::bench::serve_runs(RIGEL_OPENCL_BENCH_FOLDER) ? 0 : 1;
  if (!options.checks.empty()) {
    return rigel::vgpu::bench::show_check_cost(options.repetitions, options.kernels, options.checks) ? 0 : 1;
  }
  return rigel::vgpu::bench::run(options, RIGEL_OPENCL_BENCH_FOLDER);
}
