// Scalar loads that give every wave of a row the same (exec/wave_row.hpp): those of a kernel's arguments, of its dispatch packet and of
// what else waves are started with a pointer to. Compiled code does them once, before the row's first wave.
//
// What waves of one dispatch load so does not change for them: the scalar cache is made invalid before a dispatch only, and
// by s_dcache_inv (Vega ISA, "Scalar Memory Operations"). A kernel with that instruction, or one that stores by scalars, has
// none of these loads; neither has a loop, which may wait for something.
//
// Threads: functions without state; any.
#pragma once

#include <map>
#include <vector>

#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

struct Arguments {
  /// What is loaded from one of the pointers that waves start with.
  struct Region {
    uint32_t pointer = 0;        ///< The scalar that has its lower half.
    uint32_t first_load = 0;     ///< The node
    int32_t begin = 0, end = 0;  ///< In bytes from where it points to.
  };
  std::vector<Region> regions;
  std::map<uint32_t, uint32_t> loads;  ///< Nodes, and which region each loads from.
};

/// Whether a scalar load adds a register to its address.
bool adds_scalar(const isa::Instruction& load);

Arguments find_arguments(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
