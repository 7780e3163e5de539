// Random OpenCL C programs. They depend only on the seed, have no undefined behaviour, and are also valid C,
// so that the host's compiler computes the expected results.
//
// Each work-item has a structure with variables of all types, filled from the input. It executes phases with
// barriers between them: arithmetic of all types, vectors and their elements, an indexed array, branches,
// loops, calls, loads of all widths from the input, loads and stores of all widths in its part of the output,
// local memory (its own part in one phase, any part in the next), and sums over all work-items. At the end
// the structure is stored. NaNs are replaced, because their bits are not defined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rigel::vgpu::opencl_fuzz {

struct Statement {
  std::string text;  ///< The whole statement, or the part before the braces.
  bool is_compound = false;
  std::vector<Statement> body, otherwise;
};

constexpr uint32_t kInputWords = 4096, kSumWords = 64;
constexpr uint32_t kRecordWords = 64;  ///< Words of output per work-item.

struct Program {
  uint64_t seed = 0;
  uint32_t group[3] = {64, 1, 1};
  uint32_t groups[3] = {1, 1, 1};
  uint32_t absent = 0;         ///< Missing work-items of the last work-group along x.
  uint32_t limit = 0;          ///< Work-items from this one on do nothing in phases.
  uint32_t rounds = 1;         ///< Number of passes over all phases.
  bool calls_phases = false;   ///< Phases are functions.
  bool crosses_lanes = false;  ///< Lanes read registers of others; not possible on the host.
  std::vector<std::string> functions;
  std::vector<std::vector<Statement>> phases;

  uint32_t items() const { return group[0] * group[1] * group[2]; }
  uint32_t all_groups() const { return groups[0] * groups[1] * groups[2]; }
  uint32_t total() const { return items() * all_groups(); }
  uint32_t out_words() const { return total() * kRecordWords; }
  uint32_t grid(int axis) const { return groups[axis] * group[axis] - (axis == 0 ? absent : 0); }
};

Program generate(uint64_t seed);

/// The start of every file.
std::string prelude();
/// The kernel `name`. With HOST defined, a function `name` with the same arguments for the whole grid.
std::string source(const Program& program, const std::string& name);

}  // namespace rigel::vgpu::opencl_fuzz
