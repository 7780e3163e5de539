// Which registers hold something that is still wanted, and in which lanes.
//
// A register is live where some path leads to an instruction that reads it before it has been replaced. Vector registers
// are written in active lanes only, so a write under a narrowed EXEC leaves the other lanes as they were. These are
// wanted only if the register is read after EXEC has become wider again: that is worked out besides, since most
// registers of a branch or a loop that lanes leave one by one are not.
//
// EXEC narrows by s_and_saveexec, s_andn1_saveexec, s_and and s_andn2 of itself, and v_cmpx; whatever else writes it is
// taken to widen it.
//
// Threads: constant once it is made; any.
#pragma once

#include <bitset>
#include <vector>

#include "plugins/vgpu/analysis/flow_graph.hpp"

namespace rigel::vgpu::analysis {

struct Liveness {
  /// For each node: the registers that are wanted when it begins. Of vector registers, in lanes that are active there …
  std::vector<isa::Registers> before;
  /// … and the VGPRs that are wanted in lanes that are not, …
  std::vector<std::bitset<256>> inactive_before;
  /// … also when it has ended: what it writes of these must leave inactive lanes alone.
  std::vector<std::bitset<256>> inactive_behind;
};

/// `elsewhere`: what may be wanted where control goes that the graph does not have.
Liveness liveness_of(const FlowGraph& graph, const isa::Registers& elsewhere = isa::Registers::all());

/// Whether lanes that were not active may be active behind the node.
bool widens_exec(const Node& node);

}  // namespace rigel::vgpu::analysis
