// The value of MODE at each instruction. Code is specialised on it, like the interpreter's on a variant
// (block.hpp). Kernels switch between flushing and keeping denormals, for divisions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plugins/vgpu/analysis/flow_graph.hpp"
#include "plugins/vgpu/exec/block.hpp"

namespace rigel::vgpu::exec::compiler {

/// The bits of MODE that code is specialised on.
constexpr uint32_t kModeOfCode = kFloatModeBits | kFiniteHalves;
/// With GPR_IDX_EN, these unused bits hold the operands that vector instructions index (M0[15:12]).
constexpr uint32_t kIndexedShift = 28;
constexpr uint8_t indexed_of(uint32_t mode) {
  return static_cast<uint8_t>(mode >> kIndexedShift);
}

/// Whether the instruction changes only GPR_IDX_EN and M0.
bool indexes_registers(isa::Op op);

/// Returns MODE by node, for waves that start with `mode`. Fails if MODE is ambiguous, or has indexing whose
/// operands are unknown.
tl::expected<std::vector<uint32_t>, std::string> modes_of(const analysis::FlowGraph& graph, uint32_t mode);

}  // namespace rigel::vgpu::exec::compiler
