// Findings that the user does not want to see, from files (docs/guide/checking.md):
//
//   # comment
//   <check or problem>: <kernel> [at <place>]
//
//   races/lds: reverse(int*) at mistakes.hip:20
//   memory: third_party::*
//
// The kernel and the place are patterns with * and ?. A place is a file, "file:line" or a function, of the
// instruction or of the other access of a race. Functions that the code is inlined into count as well. A
// file's leading directories may be omitted.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/check/finding.hpp"

namespace rigel::vgpu::check {

struct Suppression {
  std::string problem;   ///< "*", a tool or a problem
  std::string kernel;    ///< Pattern
  std::string place;     ///< Pattern; empty: any place
  std::string position;  ///< "file:line" of the suppression
  std::string text;      ///< The line
  uint64_t uses = 0;
};

/// Reads suppressions from `text`, the contents of `file`. Returns what is wrong with each invalid line, a
/// line each; empty if all are valid.
std::string parse_suppressions(std::string_view text, std::string_view file, std::vector<Suppression>& list);

/// Reads suppressions from the files at `paths`, which are separated by ':'. Returns errors in the same form.
std::string read_suppressions(std::string_view paths, std::vector<Suppression>& list);

bool matches(const Suppression& suppression, const Finding& finding);

/// Returns a line for a file that suppresses this finding and its repetitions.
std::string suppression_for(const Finding& finding);

}  // namespace rigel::vgpu::check
