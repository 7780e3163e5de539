// vgpu_kernel_fuzz: whole kernels at random, run in every way that there is; what differs is made small and
// written down.
//
//   vgpu_kernel_fuzz [--board gfx900] [--seed FIRST] [--count N | --seconds S] [--dispatches N] [--found FOLDER]
//   vgpu_kernel_fuzz --every-instruction …   the kernels of a seed have every instruction once: they are 40 to 60
//   vgpu_kernel_fuzz --from FILE      runs a kernel of a file, and makes it smaller if it differs
//   vgpu_kernel_fuzz --print          the kernel of --seed, without running it
//
// Kernel number n of a board is always the same. A kernel that differs is written to the folder as
// <board>_<seed>.kernel, which is also the form of the tests' (tests/). Ends with 1 if any differed.
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

struct Options {
  std::string board = "gfx900", from, found = ".";
  uint64_t seed = 1, count = 0;
  double seconds = 0;
  bool print = false, every_instruction = false;
  RunOptions run;
};

// Makes it smaller, in the way that it differs and the first one; where compiled code differs, handlers of its level must not.
void report(Runner& runner, const Options& options, const Kernel& kernel, const Verdict& verdict,
            const std::string& title) {
  std::printf("%s: %s\n", title.c_str(), verdict.what.c_str());
  RunOptions run = options.run;
  run.ways = {options.run.ways.front()};
  if (verdict.way.compiled) run.ways.push_back({verdict.way.level, false});
  run.ways.push_back(verdict.way);
  run.by_turns = false;
  // Of what stores anywhere, ways differ for other reasons.
  const auto faults = [](const Verdict& of) { return of.what.find("a fault") != std::string::npos; };
  const auto differs = [&](const Kernel& candidate) {
    const Verdict found = runner.run(candidate, run);
    return found.kind == Verdict::Kind::kDiffers && found.way == verdict.way &&
           faults(found) == faults(verdict);
  };
  const bool again = differs(kernel);
  const Kernel small = again ? reduce(kernel, differs) : kernel;
  const std::string what = again ? runner.run(small, run).what : verdict.what;
  const std::string text = "# " + what + "\n" + to_text(small);
  const std::filesystem::path path = std::filesystem::path(options.found) / (title + ".kernel");
  std::ofstream(path) << text;
  std::printf("%s\n%s: %s\n\n", path.c_str(), again ? "reduced" : "not seen again", text.c_str());
  std::fflush(stdout);
}

int run_file(const Options& options) {
  std::ifstream file(options.from);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Kernel kernel;
  std::string error;
  if (!file || !from_text(text, kernel, error)) {
    std::fprintf(stderr, "vgpu_kernel_fuzz: %s: %s\n", options.from.c_str(),
                 file ? error.c_str() : "cannot be read");
    return 2;
  }
  Runner runner;
  RunOptions in_all_ways = options.run;
  in_all_ways.by_turns = false;
  const Verdict verdict = runner.run(kernel, in_all_ways);
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
    std::fprintf(stderr, "vgpu_kernel_fuzz: \"%s\" is no chip\n", options.board.c_str());
    return 2;
  }
  if (options.print) {
    for (const Kernel& kernel : kernels_of(options, *chip, options.seed))
      std::fputs(to_text(kernel).c_str(), stdout);
    return 0;
  }
  Runner runner;
  uint64_t same = 0, differ = 0, invalid = 0, judged = 0, compiled = 0, instructions = 0;
  std::map<std::string, unsigned> why_invalid, why_not_judged, why_not_compiled;
  const auto begin = Clock::now();
  const auto took = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (uint64_t n = 0; options.count != 0 ? n < options.count : took() < options.seconds; ++n) {
    const uint64_t seed = options.seed + n;
    std::string title = options.board + "_" + std::to_string(seed);
    for (const Kernel& kernel : kernels_of(options, *chip, seed)) {
      const Verdict verdict = runner.run(kernel, options.run);
      judged += verdict.judged ? 1 : 0;
      compiled += verdict.was_compiled ? 1 : 0;
      if (!verdict.not_compiled.empty()) {
        // The instruction, without where it stands.
        const size_t place = verdict.not_compiled.find(" at 0x");
        ++why_not_compiled[verdict.not_compiled.substr(0, place) +
                           (place == std::string::npos
                                ? ""
                                : verdict.not_compiled.substr(verdict.not_compiled.find(':', place)))];
      }
      if (!verdict.not_judged.empty() && why_not_judged.size() < 20) ++why_not_judged[verdict.not_judged];
      instructions += verdict.instructions;
      switch (verdict.kind) {
        case Verdict::Kind::kSame:
          ++same;
          break;
        case Verdict::Kind::kInvalid:
          ++invalid;
          if (why_invalid.size() < 20) ++why_invalid[verdict.what];
          break;
        case Verdict::Kind::kDiffers:
          ++differ;
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
    std::printf("not run to the end, %u times: %s\n", count, why.c_str());
  std::printf(
      "%s, seeds from %llu on: %llu kernels the same in every way, %llu differ, %llu could not be compared; "
      "%llu were judged by the reference model; %llu were compiled; %.1f million instructions of waves "
      "in a way, %.1f s\n",
      options.board.c_str(), static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(same), static_cast<unsigned long long>(differ),
      static_cast<unsigned long long>(invalid), static_cast<unsigned long long>(judged),
      static_cast<unsigned long long>(compiled), static_cast<double>(instructions) * 1e-6, took());
  return differ == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rigel::vgpu::exec::whole

int main(int argc, char** argv) {
  using namespace rigel::vgpu::exec::whole;
  Options options;
  bool bad = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool more = i + 1 < argc;
    if (option == "--print") {
      options.print = true;
    } else if (option == "--every-instruction") {
      options.every_instruction = true;
    } else if (!more) {
      bad = true;
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
      bad = true;
    }
  }
  if (bad) {
    std::fputs(
        "usage: vgpu_kernel_fuzz [--board CHIP] [--seed FIRST] [--count N | --seconds S] [--dispatches N]\n"
        "                        [--judged-instructions N]\n"
        "                        [--found FOLDER] [--from FILE] [--print] [--every-instruction]\n",
        stderr);
    return 2;
  }
  if (options.count == 0 && options.seconds == 0) options.count = 1000;
  return options.from.empty() ? run_many(options) : run_file(options);
}
