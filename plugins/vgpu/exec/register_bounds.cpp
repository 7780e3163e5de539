#include "plugins/vgpu/exec/register_bounds.hpp"

#include <algorithm>

namespace rigel::vgpu::exec {
namespace {

bool is_beyond(const isa::Operand& operand, const RegisterLayout& layout) {
  return operand.is_vgpr() && operand.vgpr() + std::max<uint32_t>(operand.dwords, 1) > layout.vgprs;
}

bool counts_from_m0(isa::Op op) {
  return op == isa::Op::v_movrels_b32 || op == isa::Op::v_movrelsd_b32 || op == isa::Op::v_movrelsd_2_b32;
}

}  // namespace

Bounds bound_registers(isa::Instruction& instruction, const RegisterLayout& layout, uint8_t gpr_index) {
  if (is_beyond(instruction.dst[0], layout) || is_beyond(instruction.dst[1], layout) ||
      is_beyond(instruction.vdst, layout)) {
    return Bounds::kIgnored;
  }
  Bounds bounds = Bounds::kWithin;
  const auto bound = [&](isa::Operand& source, bool is_counted_on) {
    if (!is_beyond(source, layout)) return;
    bounds = Bounds::kReadsFirst;
    if (!is_counted_on) source.code = isa::code::kVgpr;
  };
  for (unsigned i = 0; i < 3; ++i) {
    bound(instruction.src[i], (gpr_index >> i & 1) != 0 || counts_from_m0(instruction.op));
  }
  for (isa::Operand* const source : {&instruction.vaddr, &instruction.vdata, &instruction.vdata2}) {
    bound(*source, false);
  }
  return bounds;
}

}  // namespace rigel::vgpu::exec
