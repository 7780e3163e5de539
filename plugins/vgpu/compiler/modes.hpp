// What MODE is where an instruction of a kernel stands. Code is compiled for that, as the interpreter's is for a variant
// (block.hpp): kernels flush denormals and keep them by turns, for divisions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plugins/vgpu/analysis/flow_graph.hpp"
#include "plugins/vgpu/exec/block.hpp"

namespace rigel::vgpu::exec::compiler {

/// Of MODE, the bits that code is made for.
constexpr uint32_t kModeOfCode = kFloatModeBits | kFiniteHalves;
/// Where GPR_IDX_EN is set as well, what of vector instructions is indexed (M0[15:12]) stands here, where MODE has nothing.
constexpr uint32_t kIndexedShift = 28;
constexpr uint8_t indexed_of(uint32_t mode) {
  return static_cast<uint8_t>(mode >> kIndexedShift);
}

/// Whether it changes nothing of MODE but GPR_IDX_EN, and M0.
bool indexes_registers(isa::Op op);

/// By node, of waves that begin with `mode`. An error says where it is not the same for all waves, or is more than code is made
/// for: exceptions, indices that nobody knows the use of.
tl::expected<std::vector<uint32_t>, std::string> modes_of(const analysis::FlowGraph& graph, uint32_t mode);

}  // namespace rigel::vgpu::exec::compiler
