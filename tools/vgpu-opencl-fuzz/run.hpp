// Runs compiled programs on the shader cores in every way that there is, and compares what they leave in memory with
// each other and with what the host's compiler makes of the same programs.
//
// Nothing here knows how shader cores execute code: kernels are loaded, planned and started as vgpu-exec does it.
#pragma once

#include <string>
#include <vector>

#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "tools/vgpu-opencl-fuzz/compile.hpp"

namespace rigel::vgpu::opencl_fuzz {

struct Comparison {
  std::string wrong;      ///< "compiled for AVX2: word 5 of the output …"; empty: nothing differs.
  bool by_model = false;  ///< The reference model has run it as well, and leaves the same.
};

/// Compares one program. `host`, if any, is the judge; else the handlers of the first level are. The reference model runs
/// what is small.
Comparison compare(const Board& board, const std::vector<char>& object, const std::string& name,
                   const Program& program, Workshop::HostKernel host);

/// The program with as few statements, work-groups and rounds as still differ, compiled anew for each attempt.
Program reduce(Workshop& workshop, const Board& board, const Program& program, const Build& build);

}  // namespace rigel::vgpu::opencl_fuzz
