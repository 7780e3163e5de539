// A finding as its reports need it: text for people, and the same as fields for programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/check/problem.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::check {

/// Identifies findings of one kind. Use kind_of().
struct Kind {
  Tool tool{};
  Problem problem{};
  uint64_t kernel = 0;    ///< Address of the kernel, because kernels share functions
  uint64_t pc = 0;        ///< Address of the instruction
  uint64_t other_pc = 0;  ///< Address of the second instruction of a race; 0: none

  friend bool operator==(const Kind&, const Kind&) = default;
};

/// Returns the kind of a finding. A race is one finding, whichever of its accesses comes first.
constexpr Kind kind_of(Tool tool, Problem problem, uint64_t kernel, uint64_t pc, uint64_t other_pc) {
  const bool is_swapped = other_pc != 0 && other_pc < pc;
  return {tool, problem, kernel, is_swapped ? other_pc : pc, is_swapped ? pc : other_pc};
}

/// A function with a position in its source.
struct Frame {
  std::string function;  ///< Demangled; empty: unknown
  std::string file;      ///< Empty: unknown
  int line = 0;          ///< 0: unknown
  int column = 0;        ///< 0: unknown
};

/// An instruction, or a call in the host's code.
struct Place {
  std::string role;           ///< "write by work-item (128, 0, 0)", "allocated by"
  std::string code;           ///< "scale(int*, int)+0x6c"
  uint64_t address = 0;       ///< 0: unknown
  std::vector<Frame> frames;  ///< The innermost function first, then those it was inlined into; may be empty
};

struct Finding {
  Kind kind;
  Severity severity = Severity::kError;
  std::string summary;  ///< One line: the problem with sizes and addresses
  std::string details;  ///< Further lines, each after a newline (exec/report/place.hpp)
  std::string kernel;   ///< Demangled name
  uint64_t launch = 0;  ///< Number of the launch in the process, from 1; 0: found without a launch
  Place place;
  std::vector<Place> others;  ///< The other access of a race, or the other barrier; at most one
  std::vector<Place> host;    ///< Calls that allocated and freed the memory
};

/// "error" or "warning".
std::string_view name(Severity severity);

/// "src/scale.hip:14"; empty if it is unknown.
std::string source_of(const Place& place);

}  // namespace rigel::vgpu::check
