// Scalar loads that return the same value to every wave of a batch (exec/wave_row.hpp): from the kernel's
// arguments, its dispatch packet and other memory to which waves start with a pointer. Compiled code does
// them once, before the batch's first wave.
//
// The values do not change during a dispatch: the scalar cache is invalidated only before a dispatch and by
// s_dcache_inv (Vega ISA, "Scalar Memory Operations"). Kernels with that instruction or with scalar stores
// are excluded. So are loads in loops, which may poll memory.
//
// *Threads:* any; functions without state.
#pragma once

#include <map>
#include <vector>

#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::compiler {

struct Arguments {
  /// The range that is loaded through one of the initial pointers.
  struct Region {
    uint32_t pointer = 0;        ///< The scalar with the pointer's lower half.
    uint32_t first_load = 0;     ///< The node of the first load.
    int32_t begin = 0, end = 0;  ///< In bytes, relative to the pointer.
    bool is_certain = false;     ///< Each wave loads from it.
  };
  std::vector<Region> regions;
  std::map<uint32_t, uint32_t> loads;  ///< The region of each load, by node.
};

/// Whether a scalar load adds a register to its address.
bool adds_scalar(const isa::Instruction& load);

Arguments find_arguments(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
