// Instructions that name registers past those that the wave has allocated. The manuals of GCN 3, Vega, RDNA
// and RDNA 2 (section 3.6.1) define:
//
//   source:           v0 or s0 is read instead
//   VGPR destination: the instruction does nothing; memory and LDS instructions are issued for no lanes
//   SGPR destination: it is not written; other results are
//
// bound_registers() rewrites the decoded instruction, so handlers access only registers that exist. A missing
// SGPR has a slot in the scalar file: handlers may write it, because no instruction reads it. The data of
// stores is undefined by the manuals; here it is v0, as in LDS. An operand of several registers is missing if
// one of them is. Of a block, the handler checks the registers that M0 selects.
#pragma once

#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::exec {

enum class Bounds : uint8_t {
  kWithin,
  kBeyond,   ///< It names missing registers. Missing sources have been replaced by v0 or s0.
  kIgnored,  ///< It does nothing.
};

/// `gpr_index`: as in LoweringContext. Sources with a run-time index (`gpr_index`, v_movrels*) are not
/// replaced: they are missing with every index, which the handler detects.
Bounds bound_registers(isa::Instruction& instruction, const RegisterLayout& layout, uint8_t gpr_index);

}  // namespace rigel::vgpu::exec
