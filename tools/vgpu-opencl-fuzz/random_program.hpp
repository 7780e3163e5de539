// OpenCL C programs at random: the same for the same seed, without undefined behaviour, and such that the same
// text is a C program, so that the host's compiler says what the results are.
//
// A work-item has a structure of variables of all types, filled from the input, and goes through phases, with
// barriers in between: arithmetic of all types, vectors and their elements, an array that is indexed, branches,
// loops, calls, loads of all widths from the input, loads and stores of all widths in what is its own of the
// output, local memory (its own part in one phase, anybody's in the next), and sums of all work-items. In the
// end the structure is stored. What a NaN looks like is nowhere to be seen: each result that is one is replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rigel::vgpu::opencl_fuzz {

struct Statement {
  std::string text;  ///< All of it, or what stands before the braces.
  bool is_compound = false;
  std::vector<Statement> body, otherwise;
};

constexpr uint32_t kInputWords = 4096, kSumWords = 64;
constexpr uint32_t kRecordWords = 64;  ///< Of the output, for each work-item.

struct Program {
  uint64_t seed = 0;
  uint32_t group[3] = {64, 1, 1};
  uint32_t groups[3] = {1, 1, 1};
  uint32_t absent = 0;         ///< Work-items of the last work-group along x that are not there.
  uint32_t limit = 0;          ///< Work-items from here on do nothing in phases.
  uint32_t rounds = 1;         ///< How often all phases are gone through.
  bool calls_phases = false;   ///< Phases are functions that are called.
  bool crosses_lanes = false;  ///< Lanes of a wave read each other's registers: the host cannot.
  std::vector<std::string> functions;
  std::vector<std::vector<Statement>> phases;

  uint32_t items() const { return group[0] * group[1] * group[2]; }
  uint32_t all_groups() const { return groups[0] * groups[1] * groups[2]; }
  uint32_t total() const { return items() * all_groups(); }
  uint32_t out_words() const { return total() * kRecordWords; }
  uint32_t grid(int axis) const { return groups[axis] * group[axis] - (axis == 0 ? absent : 0); }
};

Program generate(uint64_t seed);

/// What stands before all programs of a file.
std::string prelude();
/// The kernel `name`; with HOST defined a function `name` of the same arguments for the whole grid.
std::string source(const Program& program, const std::string& name);

}  // namespace rigel::vgpu::opencl_fuzz
