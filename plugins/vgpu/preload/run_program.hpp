// Runs a program and keeps what it said: for tests that look at unmodified programs from outside.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu {

struct ProgramResult {
  int status = -1;  ///< Its exit status, 128 + signal if one ended it, -1 if it took longer than it may.
  std::string out;  ///< stdout and stderr.
};

/// Runs `arguments` (the first is the program, looked for in PATH) for at most `seconds`.
ProgramResult run_program(const std::vector<std::string>& arguments, int seconds = 60);

/// Whether PATH has a program of this name.
bool has_program(const std::string& name);

}  // namespace rigel::vgpu
