// vgpu_kernel_fuzz: runs random kernels on every execution path, and reduces and saves kernels with
// different results.
//
//   vgpu_kernel_fuzz [--board gfx900] [--seed FIRST] [--count N | --seconds S] [--dispatches N] [--found
//   FOLDER]
//   vgpu_kernel_fuzz --every-instruction …   a seed's 40 to 60 kernels contain every instruction once
//   vgpu_kernel_fuzz --from FILE      runs the kernel of a file, and reduces it if results differ
//   vgpu_kernel_fuzz --print          prints the kernel of --seed without running it
//
// Kernel N of a board is always the same. Kernels with different results are written to the directory as
// <board>_<seed>.kernel, the format of tests/. The exit status is 1 if any results differed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "plugins/vgpu/exec/whole_kernels/generate.hpp"
#include "plugins/vgpu/exec/whole_kernels/reducer.hpp"
#include "plugins/vgpu/exec/whole_kernels/run.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "usage: vgpu_kernel_fuzz [options]\n"
    "Runs random kernels in all modes of the virtual GPU's executor, and compares the results.\n"
    "\n"
    "  --board CHIP             gfx name of the chip (default: gfx900)\n"
    "  --seed N                 first seed (default: 1)\n"
    "  --count N                number of seeds (default: 1000, or unlimited with --seconds)\n"
    "  --seconds S              time limit in seconds (default: none)\n"
    "  --dispatches N           number of dispatches of each kernel\n"
    "  --judged-instructions N  maximum number of instructions for the reference model\n"
    "  --found DIRECTORY        directory for reduced kernels that differ (default: .)\n"
    "  --from FILE              run the kernel of this file\n"
    "  --every-instruction      kernels that contain every instruction of the chip\n"
    "  --print                  print the kernels, and do not run them\n"
    "  --help                   print this text (also -h)\n"
    "\n"
    "Examples:\n"
    "  vgpu_kernel_fuzz --board gfx1030 --seconds 60\n"
    "  vgpu_kernel_fuzz --from gfx900_7.kernel\n";

struct Options {
  std::string board = "gfx900", from, found = ".";
  uint64_t seed = 1, count = 0;
  double seconds = 0;
  bool print = false, every_instruction = false;
  RunOptions run;
};

// Reduces a kernel on the first path and the path that differs. If compiled code differs, the interpreter
// of its level must not.
void report(Runner& runner, const Options& options, const Kernel& kernel, const Verdict& verdict,
            const std::string& title) {
  std::printf("%s: %s\n", title.c_str(), verdict.what.c_str());
  RunOptions run = options.run;
  run.paths = {options.run.paths.front()};
  if (verdict.path.compiled) run.paths.push_back({verdict.path.level, false});
  run.paths.push_back(verdict.path);
  run.alternate_paths = false;
  // Kernels that store to wild addresses differ for other reasons, so faults are distinguished.
  const auto faults = [](const Verdict& candidate_verdict) {
    return candidate_verdict.what.find("a fault") != std::string::npos;
  };
  const auto differs = [&](const Kernel& candidate) {
    const Verdict result = runner.run(candidate, run);
    return result.kind == Verdict::Kind::kDiffers && result.path == verdict.path &&
           faults(result) == faults(verdict);
  };
  const bool is_reproducible = differs(kernel);
  const Kernel small = is_reproducible ? reduce(kernel, differs) : kernel;
  const std::string difference = is_reproducible ? runner.run(small, run).what : verdict.what;
  const std::string text = "# " + difference + "\n" + to_text(small);
  const std::filesystem::path path = std::filesystem::path(options.found) / (title + ".kernel");
  std::ofstream(path) << text;
  std::printf("%s\n%s: %s\n\n", path.c_str(), is_reproducible ? "reduced" : "not reproduced", text.c_str());
  std::fflush(stdout);
}

int run_file(const Options& options) {
  std::ifstream file(options.from);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Kernel kernel;
  std::string error;
  if (!file || !from_text(text, kernel, error)) {
    std::fprintf(stderr, "vgpu_kernel_fuzz: error: %s: %s\n", options.from.c_str(),
                 file ? error.c_str() : "cannot read");
    return 2;
  }
  Runner runner;
  RunOptions all_paths = options.run;
  all_paths.alternate_paths = false;
  const Verdict verdict = runner.run(kernel, all_paths);
  if (verdict.kind == Verdict::Kind::kSame) {
    std::printf("no difference%s%s%s\n", verdict.judged ? "" : ", not judged by the reference model",
                verdict.not_compiled.empty() ? "" : ", not compiled: ", verdict.not_compiled.c_str());
    return 0;
  }
  if (verdict.kind == Verdict::Kind::kInvalid) {
    std::printf("%s\n", verdict.what.c_str());
    return 2;
  }
  report(runner, options, kernel, verdict, std::filesystem::path(options.from).stem().string() + "_reduced");
  return 1;
}

std::vector<Kernel> kernels_of(const Options& options, const isa::Target& chip, uint64_t seed) {
  if (options.every_instruction) return generate_every_instruction(chip, seed);
  return {generate(chip, seed)};
}

int run_many(const Options& options) {
  const auto chip = isa::target_of(options.board);
  if (!chip) {
    std::fprintf(stderr, "vgpu_kernel_fuzz: error: --board: unknown chip '%s'\n", options.board.c_str());
    return 2;
  }
  if (options.print) {
    for (const Kernel& kernel : kernels_of(options, *chip, options.seed))
      std::fputs(to_text(kernel).c_str(), stdout);
    return 0;
  }
  Runner runner;
  uint64_t same_count = 0, different_count = 0, invalid_count = 0, judged = 0, compiled = 0, instructions = 0;
  std::map<std::string, unsigned> why_invalid, why_not_judged, why_not_compiled;
  const auto start = Clock::now();
  const auto elapsed_seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (uint64_t n = 0; options.count != 0 ? n < options.count : elapsed_seconds() < options.seconds; ++n) {
    const uint64_t seed = options.seed + n;
    std::string title = options.board + "_" + std::to_string(seed);
    for (const Kernel& kernel : kernels_of(options, *chip, seed)) {
      const Verdict verdict = runner.run(kernel, options.run);
      judged += verdict.judged ? 1 : 0;
      compiled += verdict.was_compiled ? 1 : 0;
      if (!verdict.not_compiled.empty()) {
        // The instruction without its address.
        const size_t address_start = verdict.not_compiled.find(" at 0x");
        ++why_not_compiled[verdict.not_compiled.substr(0, address_start) +
                           (address_start == std::string::npos
                                ? ""
                                : verdict.not_compiled.substr(
                                      verdict.not_compiled.find(':', address_start)))];
      }
      if (!verdict.not_judged.empty() && why_not_judged.size() < 20) ++why_not_judged[verdict.not_judged];
      instructions += verdict.instructions;
      switch (verdict.kind) {
        case Verdict::Kind::kSame:
          ++same_count;
          break;
        case Verdict::Kind::kInvalid:
          ++invalid_count;
          if (why_invalid.size() < 20) ++why_invalid[verdict.what];
          break;
        case Verdict::Kind::kDiffers:
          ++different_count;
          report(runner, options, kernel, verdict, title);
          title += "_";
          break;
      }
    }
  }
  for (const auto& [why, count] : why_not_judged)
    std::printf("not judged by the reference model, %u times: %s\n", count, why.c_str());
  for (const auto& [why, count] : why_not_compiled)
    std::printf("not compiled, %u times: %s\n", count, why.c_str());
  for (const auto& [why, count] : why_invalid)
    std::printf("not completed, %u times: %s\n", count, why.c_str());
  std::printf(
      "%s, seeds from %llu: %llu kernels with the same result in all modes, %llu differ, %llu not compared; "
      "%llu judged by the reference model; %llu compiled; %.1f million wave instructions per mode, %.1f s\n",
      options.board.c_str(), static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(same_count), static_cast<unsigned long long>(different_count),
      static_cast<unsigned long long>(invalid_count), static_cast<unsigned long long>(judged),
      static_cast<unsigned long long>(compiled), static_cast<double>(instructions) * 1e-6, elapsed_seconds());
  return different_count == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rigel::vgpu::exec::whole

int main(int argc, char** argv) {
  using namespace rigel::vgpu::exec::whole;
  Options options;
  bool is_invalid = false, help = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_argument = i + 1 < argc;
    if (option == "--help" || option == "-h") {
      help = is_invalid = true;
      break;
    } else if (option == "--print") {
      options.print = true;
    } else if (option == "--every-instruction") {
      options.every_instruction = true;
    } else if (!has_argument) {
      is_invalid = true;
    } else if (option == "--board") {
      options.board = argv[++i];
    } else if (option == "--from") {
      options.from = argv[++i];
    } else if (option == "--found") {
      options.found = argv[++i];
    } else if (option == "--seed") {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--count") {
      options.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--seconds") {
      options.seconds = std::atof(argv[++i]);
    } else if (option == "--judged-instructions") {
      options.run.judged_instructions = std::strtoull(argv[++i], nullptr, 10);
    } else if (option == "--dispatches") {
      options.run.dispatches = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    } else {
      is_invalid = true;
    }
  }
  if (is_invalid) {
    std::fputs(kHelp, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  if (options.count == 0 && options.seconds == 0) options.count = 1000;
  return options.from.empty() ? run_many(options) : run_file(options);
}
