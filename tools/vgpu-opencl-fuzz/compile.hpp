// Compiles programs with clang for a GPU and for this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/vgpu-opencl-fuzz/random_program.hpp"

namespace rigel::vgpu::opencl_fuzz {

struct Build {
  std::string gpu = "gfx900";
  int level = 2;            ///< The -O level.
  bool wide_waves = false;  ///< Waves of 64 lanes on chips that have both.
};

/// A temporary directory with sources and compiled programs, removed with the object.
class ProgramCompiler {
 public:
  /// Throws std::system_error.
  ProgramCompiler();
  ~ProgramCompiler();
  ProgramCompiler(const ProgramCompiler&) = delete;
  ProgramCompiler& operator=(const ProgramCompiler&) = delete;

  /// Returns the -O level for file number `index`. It cycles through the levels that this compiler translates
  /// correctly.
  static int level(uint64_t index);

  /// Returns the code object of programs named k0, k1, …. Throws std::runtime_error with the compiler's
  /// output.
  std::vector<char> compile_for(const Build& build, const std::vector<Program>& programs);

  using HostKernel = void (*)(const uint32_t* in, uint32_t* out, uint32_t* sums, uint32_t n);
  /// Compiles the programs as functions of this process, which are never unloaded. Null for a program that
  /// crosses lanes.
  std::vector<HostKernel> compile_for_host(const std::vector<Program>& programs);

 private:
  std::string write(const std::vector<Program>& programs, bool with_cross_lane);
  std::string run(const std::string& command);

  std::string folder_;
  unsigned next_file_ = 0;
};

}  // namespace rigel::vgpu::opencl_fuzz
