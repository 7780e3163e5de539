#include "plugins/vgpu/exec/register_bounds.hpp"

#include <algorithm>

#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {
namespace {

bool is_beyond_vgprs(const isa::Operand& operand, const RegisterLayout& layout) {
  const uint32_t dwords = std::max<uint32_t>(operand.dwords, 1);
  return operand.is_agpr() ? operand.agpr() + dwords > layout.agprs
                           : operand.is_vgpr() && operand.vgpr() + dwords > layout.vgprs;
}

// Every wave has the registers past the ordinary SGPRs.
bool is_beyond_sgprs(const isa::Operand& operand, const RegisterLayout& layout) {
  return layout.sgprs < kFlatScratchSgpr && operand.exists() && operand.code < kFlatScratchSgpr &&
         operand.code + std::max<uint32_t>(operand.dwords, 1) > layout.sgprs;
}

bool is_indexed_by_m0(isa::Op op) {
  using isa::Op;
  return op == Op::v_movrels_b32 || op == Op::v_movrelsd_b32 || op == Op::v_movrelsd_2_b32 ||
         op == Op::s_movrels_b32 || op == Op::s_movrels_b64;
}

// Returns the operand from which M0 selects registers, or null.
const isa::Operand* block_of_registers(const isa::Instruction& instruction) {
  if (!isa::accesses_block(instruction.op)) return nullptr;
  return instruction.vdst.exists() ? &instruction.vdst : &instruction.vdata;
}

}  // namespace

Bounds bound_registers(isa::Instruction& instruction, const RegisterLayout& layout, uint8_t gpr_index) {
  Bounds bounds = Bounds::kWithin;
  const isa::Operand* const block = block_of_registers(instruction);
  for (const isa::Operand* const result :
       {&instruction.dst[0], &instruction.dst[1], &instruction.second_dst, &instruction.vdst}) {
    if (result == block) continue;
    if (is_beyond_vgprs(*result, layout)) return Bounds::kIgnored;
    if (is_beyond_sgprs(*result, layout)) bounds = Bounds::kBeyond;
  }
  // The handler checks these when it adds the index.
  const bool has_m0_index = is_indexed_by_m0(instruction.op);
  const auto bound = [&](isa::Operand& source, bool is_indexed) {
    const bool vgpr = is_beyond_vgprs(source, layout);
    if (!vgpr && !is_beyond_sgprs(source, layout)) return;
    bounds = Bounds::kBeyond;
    if (!has_m0_index && !(vgpr && is_indexed)) source.code = vgpr ? isa::code::kVgpr : 0;
  };
  for (unsigned i = 0; i < 3; ++i) bound(instruction.src[i], (gpr_index >> i & 1) != 0);
  for (isa::Operand& source : instruction.second_src) bound(source, false);
  for (isa::Operand* const source : {&instruction.vaddr, &instruction.vdata, &instruction.vdata2,
                                     &instruction.saddr, &instruction.soffset}) {
    if (source != block) bound(*source, false);
  }
  return bounds;
}

}  // namespace rigel::vgpu::exec
