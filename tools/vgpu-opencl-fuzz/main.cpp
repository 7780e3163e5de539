// vgpu_opencl_fuzz: random OpenCL C programs, compiled by clang for a GPU and for the CPU, run in all modes
// of the virtual GPU's executor. kHelp describes options and output.
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

constexpr const char* kHelp =
    "usage: vgpu_opencl_fuzz [options]\n"
    "Runs random OpenCL C programs on the CPU and in all modes of the virtual GPU's executor, and compares "
    "the\n"
    "results.\n"
    "\n"
    "  --board CHIP       gfx name of the chip (default: gfx900)\n"
    "  --seed N           first seed; a seed always gives the same program (default: 1)\n"
    "  --count N          number of programs (default: 160, or unlimited with --seconds)\n"
    "  --seconds S        time limit in seconds (default: none)\n"
    "  --found DIRECTORY  directory for reduced programs that differ, BOARD_SEED.cl (default: .)\n"
    "  --print            print the program of the seed, and do not run it\n"
    "  --help             print this text (also -h)\n"
    "\n"
    "The exit status is 1 if a program differs.\n"
    "\n"
    "Examples:\n"
    "  vgpu_opencl_fuzz --board gfx1030 --seconds 60\n"
    "  vgpu_opencl_fuzz --seed 7 --print\n";

struct Options {
  std::string board = "gfx900", found = ".";
  uint64_t seed = 1, count = 0;
  double seconds = 0;
  bool print = false;
};

void report(ProgramCompiler& compiler, const Options& options, const Finding& found) {
  fmt::print("{} seed {} -O{}{}: {}\n", options.board, found.program.seed, found.build.level,
             found.build.wide_waves ? " -mwavefrontsize64" : "", found.mismatch);
  const Program small = reduce(compiler, *find_board(options.board), found.program, found.build);
  const auto path =
      std::filesystem::path(options.found) / fmt::format("{}_{}.cl", options.board, found.program.seed);
  std::ofstream(path) << fmt::format("/* -O{}{}: {} */\n", found.build.level,
                                     found.build.wide_waves ? " -mwavefrontsize64" : "", found.mismatch)
                      << prelude() << source(small, "k0");
  fmt::print("{}\n{}\n", path.string(), source(small, "k0"));
  std::fflush(stdout);
}

int run(const Options& options) {
  if (options.print) {
    fmt::print("{}{}", prelude(), source(generate(options.seed), "k0"));
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  ProgramCompiler compiler;
  const uint64_t count = options.count != 0 ? options.count : ~uint64_t{0};
  const Count result = compare_many(
      compiler, options.board, options.seed, count,
      [&](const Finding& found) { report(compiler, options, found); },
      [&] { return options.count != 0 || elapsed() < options.seconds; });
  fmt::print(
      "{}, seeds from {}: {} programs compared, {} of them with the CPU, {} with the reference model, "
      "{} differ; {:.1f} s\n",
      options.board, options.seed, result.compared, result.by_host, result.by_model, result.differ,
      elapsed());
  return result.differ == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rigel::vgpu::opencl_fuzz

int main(int argc, char** argv) {
  rigel::vgpu::opencl_fuzz::Options options;
  bool bad = false, help = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--help" || option == "-h") {
      help = bad = true;
      break;
    } else if (option == "--print") {
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
    std::fputs(rigel::vgpu::opencl_fuzz::kHelp, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  if (options.count == 0 && options.seconds == 0) options.count = 160;
  try {
    return rigel::vgpu::opencl_fuzz::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vgpu_opencl_fuzz: error: %s\n", error.what());
    return 2;
  }
}
