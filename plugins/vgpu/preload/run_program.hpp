// Runs a program and captures its output, for tests of unmodified programs.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu {

struct ProgramResult {
  int status = -1;  ///< Exit status, 128 + signal, or -1 after the time limit.
  std::string out;  ///< stdout and stderr.
};

/// Runs `arguments` (the first is the program, searched in PATH) for at most `seconds`.
ProgramResult run_program(const std::vector<std::string>& arguments, int seconds = 60);

bool has_program(const std::string& name);

}  // namespace rigel::vgpu
