// vgpu_opencl_fuzz: OpenCL C programs at random, compiled by clang for a GPU and for this machine, run in every way
// that the virtual GPU has; what differs is made small and written down.
//
//   vgpu_opencl_fuzz [--board gfx900] [--seed FIRST] [--count N | --seconds S] [--found FOLDER] [--print]
//
// Program number n is always the same. One that differs is written to the folder as <board>_<seed>.cl, with how it was
// compiled and what differs. Ends with 1 if any did.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/core.h>

#include "plugins/vgpu/devices/board.hpp"
#include "tools/vgpu-opencl-fuzz/many.hpp"

namespace rigel::vgpu::opencl_fuzz {
namespace {

struct Options {
  std::string board = "gfx900", found = ".";
  uint64_t seed = 1, count = 0;
  double seconds = 0;
  bool print = false;
};

void report(Workshop& workshop, const Options& options, const Found& found) {
  fmt::print("{} seed {} -O{}{}: {}\n", options.board, found.program.seed, found.build.level,
             found.build.wide_waves ? " -mwavefrontsize64" : "", found.what);
  const Program small = reduce(workshop, *find_board(options.board), found.program, found.build);
  const auto path =
      std::filesystem::path(options.found) / fmt::format("{}_{}.cl", options.board, found.program.seed);
  std::ofstream(path) << fmt::format("/* -O{}{}: {} */\n", found.build.level,
                                     found.build.wide_waves ? " -mwavefrontsize64" : "", found.what)
                      << prelude() << source(small, "k0");
  fmt::print("{}\n{}\n", path.string(), source(small, "k0"));
  std::fflush(stdout);
}

int run(const Options& options) {
  if (options.print) {
    fmt::print("{}{}", prelude(), source(generate(options.seed), "k0"));
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto took = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Workshop workshop;
  const uint64_t count = options.count != 0 ? options.count : ~uint64_t{0};
  const Count result = compare_many(
      workshop, options.board, options.seed, count,
      [&](const Found& found) { report(workshop, options, found); },
      [&] { return options.count != 0 || took() < options.seconds; });
  fmt::print(
      "{}, seeds from {} on: {} programs compared, {} of them with the host's, {} with the reference model, "
      "{} differ; {:.1f} s\n",
      options.board, options.seed, result.compared, result.by_host, result.by_model, result.differ, took());
  return result.differ == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rigel::vgpu::opencl_fuzz

int main(int argc, char** argv) {
  rigel::vgpu::opencl_fuzz::Options options;
  bool bad = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--print") {
      options.print = true;
    } else if (i + 1 == argc) {
      bad = true;
    } else if (option == "--board") {
      options.board = argv[++i];
    } else if (option == "--found") {
      options.found = argv[++i];
    } else if (option == "--seed") {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--count") {
      options.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--seconds") {
      options.seconds = std::atof(argv[++i]);
    } else {
      bad = true;
    }
  }
  if (bad) {
    std::fputs(
        "usage: vgpu_opencl_fuzz [--board CHIP] [--seed FIRST] [--count N | --seconds S] [--found FOLDER] "
        "[--print]\n",
        stderr);
    return 2;
  }
  if (options.count == 0 && options.seconds == 0) options.count = 160;
  try {
    return rigel::vgpu::opencl_fuzz::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vgpu_opencl_fuzz: %s\n", error.what());
    return 2;
  }
}
