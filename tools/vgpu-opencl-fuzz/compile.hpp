// Compiles programs with clang: for a GPU, and for this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/vgpu-opencl-fuzz/random_program.hpp"

namespace rigel::vgpu::opencl_fuzz {

struct Build {
  std::string gpu = "gfx900";
  int level = 2;            ///< Of -O.
  bool wide_waves = false;  ///< Waves of 64 lanes on chips that have both.
};

/// A folder of its own for sources and what is made of them, gone with the object.
class Workshop {
 public:
  /// Throws std::system_error.
  Workshop();
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  /// The level of -O for this turn: of those that this compiler translates as written, one after the other.
  static int level(uint64_t turn);

  /// The code object of programs named k0, k1, …. Throws std::runtime_error with what the compiler says.
  std::vector<char> compile_for(const Build& build, const std::vector<Program>& programs);

  using HostKernel = void (*)(const uint32_t* in, uint32_t* out, uint32_t* sums, uint32_t n);
  /// The same programs as functions of this process, which stay. Null for one that crosses lanes.
  std::vector<HostKernel> compile_for_host(const std::vector<Program>& programs);

 private:
  std::string write(const std::vector<Program>& programs, bool all);
  std::string run(const std::string& command);

  std::string folder_;
  unsigned made_ = 0;
};

}  // namespace rigel::vgpu::opencl_fuzz
