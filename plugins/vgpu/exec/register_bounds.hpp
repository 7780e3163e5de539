// What becomes of instructions that name registers which the wave does not have. Section 3.6.1 of the manuals of
// GCN 3, Vega, RDNA and RDNA 2 has it:
//
//   a source:            v0 or s0 is read in its place
//   a VGPR as a result:  the instruction does nothing, whatever else it would write; one that accesses memory or
//                        LDS is issued for no lanes
//   an SGPR as a result: it is not written; the rest of the instruction is done
//
// The rules are applied to the decoded instruction, so that whoever executes it meets registers that exist. An
// SGPR that the wave does not have has its place in the scalar file and may be written: nothing reads it.
// Of what is stored or sent by instructions that access memory the manuals say that it is undefined; v0 it is,
// as in LDS. An operand of several registers of which one is beyond is beyond as a whole.
#pragma once

#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::exec {

enum class Bounds : uint8_t {
  kWithin,
  kBeyond,   ///< It names some. Sources of the instruction are v0 or s0 now.
  kIgnored,  ///< It does nothing.
};

/// Sources whose number is counted on at run time (`gpr_index`, LoweringContext's, and v_movrels*) stay as they
/// are: with any index they are beyond, too.
Bounds bound_registers(isa::Instruction& instruction, const RegisterLayout& layout, uint8_t gpr_index);

}  // namespace rigel::vgpu::exec
