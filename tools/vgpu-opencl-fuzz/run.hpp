// Runs compiled programs on all execution paths of the shader cores, and compares the resulting memory with
// that of the other paths and of the host's compiler. Like vgpu-exec, it uses only the interfaces that load,
// plan and start kernels.
#pragma once

#include <string>
#include <vector>

#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "tools/vgpu-opencl-fuzz/compile.hpp"

namespace rigel::vgpu::opencl_fuzz {

struct Comparison {
  std::string mismatch;   ///< "compiled for AVX2: word 5 of the output …"; empty if nothing differs.
  bool by_model = false;  ///< The reference model has run it too, with the same result.
};

/// Compares one program. Expected results are those of `host`, or, without it, of the handlers of the first
/// SIMD level. The reference model runs small programs only.
Comparison compare(const Board& board, const std::vector<char>& object, const std::string& name,
                   const Program& program, ProgramCompiler::HostKernel host);

/// Removes statements, work-groups and rounds as long as the program mismatches. Recompiles for each attempt.
Program reduce(ProgramCompiler& compiler, const Board& board, const Program& program, const Build& build);

}  // namespace rigel::vgpu::opencl_fuzz
