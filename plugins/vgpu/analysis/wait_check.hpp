// Finds missing waits: instructions that use a register before the load that writes it has completed.
//
// Memory instructions complete later. Each increments a counter, and s_waitcnt waits until few enough are
// outstanding. A *pending* register is the destination of a load that has not been waited for. The analysis
// follows pending registers through the flow graph. If paths meet, it assumes the youngest load.
//
// Order: vector memory operations complete in order, as do LDS operations. Scalar loads complete in any
// order, so they need a wait for 0, and so do LDS operations while a scalar load is outstanding (ISA manuals,
// S_WAITCNT). The check assumes that FLAT instructions complete in order; on gfx8 and gfx9 they may not.
//
// Functions start and return without pending registers (AMDGPU calling convention).
//
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/vgpu/analysis/flow_graph.hpp"

namespace rigel::vgpu::analysis {

struct MissingWait {
  uint32_t node = 0;  ///< The instruction that uses the register
  uint32_t load = 0;  ///< The node of the load
  std::string register_name;
  bool is_read = true;  ///< Otherwise it writes the register, and the load may overwrite that.
  std::string wait;     ///< The wait before `node` that would be sufficient: "vmcnt(0)"
};

/// Returns one entry for each pair of a load and an instruction that uses its result too early.
std::vector<MissingWait> missing_waits(const FlowGraph& graph);

}  // namespace rigel::vgpu::analysis
