// Liveness of registers, separately for active and inactive lanes.
//
// Instructions write VGPRs in active lanes only, so a write under a narrowed EXEC keeps the other lanes.
// Those lanes are live only if the register is read after EXEC has been widened. In branches and in loops
// that lanes leave at different times, most registers are dead in inactive lanes.
//
// EXEC is narrowed by s_and_saveexec, s_andn1_saveexec, s_and and s_andn2 of EXEC itself, and v_cmpx. Every
// other write to EXEC counts as widening it.
//
// Threads: a Liveness is immutable.
#pragma once

#include <bitset>
#include <vector>

#include "plugins/vgpu/analysis/flow_graph.hpp"

namespace rigel::vgpu::analysis {

struct Liveness {
  /// By node: registers that are live before it; VGPRs in the lanes that are active there
  std::vector<isa::Registers> before;
  /// By node: VGPRs that are live before it in inactive lanes
  std::vector<std::bitset<256>> inactive_before;
  /// By node: VGPRs that are live after it in inactive lanes, which the node must not overwrite
  std::vector<std::bitset<256>> inactive_behind;
};

/// `elsewhere`: registers that code outside of the graph may read.
Liveness liveness_of(const FlowGraph& graph, const isa::Registers& elsewhere = isa::Registers::all());

bool writes_exec(const Node& node);

/// Whether lanes that are inactive before the node may be active after it.
bool widens_exec(const Node& node);

}  // namespace rigel::vgpu::analysis
