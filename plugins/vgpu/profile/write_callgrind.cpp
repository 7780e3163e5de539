// Callgrind's format, which kcachegrind shows. A function that was inlined is shown as a call. The function
// "(launches)" calls a kernel once for each launch. Other functions that are called have no callers here,
// because the stack of waves is not recorded. Format: Valgrind's manual, "Callgrind Format Specification".
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {
namespace {

struct Cost {
  uint64_t instructions = 0, lanes = 0;

  void add(const Count& count) {
    instructions += count.times;
    lanes += count.lanes;
  }
};

struct Call {
  Cost inclusive;
  uint64_t times = 0;
};

struct FunctionName {
  std::string file, name;
  auto operator<=>(const FunctionName&) const = default;
};

struct FunctionCosts {
  std::map<int, Cost> lines;                                 // without the calls
  std::map<std::tuple<int, FunctionName, int>, Call> calls;  // by line, called function and its first line
};

FunctionName function_of(const Kernel& kernel, const std::vector<Position>& positions, size_t i) {
  const Position& position = positions[i];
  return {position.file.empty() ? "???" : position.file,
          position.function.empty() ? kernel.name : position.function};
}

// Positions of the kernel's own code, if the compiler left none.
std::vector<Position> positions_of(const Kernel& kernel, const CountedInstruction& counted) {
  if (!counted.instruction.positions.empty()) return counted.instruction.positions;
  return {{kernel.name, {}, 0}};
}

FunctionName outermost(const Kernel& kernel, const CountedInstruction& counted) {
  const std::vector<Position> positions = positions_of(kernel, counted);
  return function_of(kernel, positions, positions.size() - 1);
}

// The calls of a kernel's own function by its launches. An instruction belongs to the function of this name,
// whatever file its line is in. Instructions without a position belong to it too.
std::string calls_of(const Kernel& kernel) {
  const auto has_position = [](const auto& entry) { return !entry.second.instruction.positions.empty(); };
  const auto first = kernel.instructions.lower_bound(0), end = kernel.instructions.end();
  if (first == end) return {};
  const auto named = std::find_if(first, end, has_position);
  const FunctionName called = outermost(kernel, named == end ? first->second : named->second);
  Cost inclusive;
  for (const auto& entry : kernel.instructions) {
    if (!has_position(entry) || outermost(kernel, entry.second).name == called.name)
      inclusive.add(entry.second.count);
  }
  return fmt::format("cob={}\ncfi={}\ncfn={}\ncalls={} 0\n0 {} {}\n", kernel.name, called.file, called.name,
                     kernel.totals.launches, inclusive.instructions, inclusive.lanes);
}

}  // namespace

std::string callgrind_of(const std::vector<Kernel>& kernels, std::string_view program) {
  std::map<std::pair<std::string, FunctionName>, FunctionCosts> functions;  // by kernel and function
  Cost total;
  for (const Kernel& kernel : kernels) {
    for (const auto& [offset, counted] : kernel.instructions) {
      if (counted.count.times == 0) continue;
      total.add(counted.count);
      const std::vector<Position> positions = positions_of(kernel, counted);
      const FunctionName innermost = function_of(kernel, positions, 0);
      functions[{kernel.name, innermost}].lines[positions[0].line].add(counted.count);
      for (size_t i = 1; i < positions.size(); ++i) {
        const FunctionName called = function_of(kernel, positions, i - 1);
        FunctionCosts& caller = functions[{kernel.name, function_of(kernel, positions, i)}];
        Call& call = caller.calls[{positions[i].line, called, 0}];
        call.inclusive.add(counted.count);
        call.times = std::max(call.times, counted.count.times);
      }
    }
  }
  std::string text = fmt::format(
      "# callgrind format\nversion: 1\ncreator: vgpu-run --profile\ncmd: {}\npositions: line\n"
      "event: Ir : Instructions of waves\nevent: Lanes : Active lanes of instructions\nevents: Ir Lanes\n"
      "summary: {} {}\n",
      program, total.instructions, total.lanes);
  text += fmt::format("\nob={}\nfl=???\nfn=(launches)\n", program);
  for (const Kernel& kernel : kernels) text += calls_of(kernel);
  for (const auto& [key, costs] : functions) {
    const auto& [kernel, function] = key;
    text += fmt::format("\nob={}\nfl={}\nfn={}\n", kernel, function.file, function.name);
    for (const auto& [line, cost] : costs.lines)
      text += fmt::format("{} {} {}\n", line, cost.instructions, cost.lanes);
    for (const auto& [place, call] : costs.calls) {
      const auto& [line, called, first_line] = place;
      text += fmt::format("cob={}\ncfi={}\ncfn={}\ncalls={} {}\n{} {} {}\n", kernel, called.file, called.name,
                          call.times, first_line, line, call.inclusive.instructions, call.inclusive.lanes);
    }
  }
  return text;
}

}  // namespace rigel::vgpu::profile
