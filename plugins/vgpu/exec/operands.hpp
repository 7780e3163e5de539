// Resolves an instruction's operands for a micro-operation: constants by type, offsets of registers, and
// other sources (SCC, VCCZ, EXECZ, apertures).
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec {

/// Computes the bits of an inline constant (codes 128 to 208 and 240 to 248) or of a literal in the operand's
/// type and width. In packed types an inline constant is in the lower half, as on hardware; a literal has
/// both halves. Returns false if the operand is not a constant.
bool constant_of(const isa::Operand& operand, const isa::Instruction& instruction, uint64_t& bits);

struct Place {
  bool is_constant = false;
  Source source;  ///< The constant, or the byte offset of the first scalar slot or row
};

/// `ok` is false if the target does not have the source.
struct PlaceOf {
  bool ok = true;
  Place place;
};
/// Returns the place of a source operand. For a source that is neither constant nor register it emits a copy
/// to the two scalar temporaries `temporary` (0 to 14) and `temporary` + 1. VGPR numbers are not checked:
/// bound_registers() has replaced those past the allocated VGPRs, except bases of run-time indices.
PlaceOf source_place(const isa::Operand& operand, const isa::Instruction& instruction,
                     const LoweringContext& context, Emitter& out, uint32_t temporary);

/// Sets the offset of the first row of a VGPR or AGPR operand. Returns false for other operands, and if the
/// wave does not have all of its registers.
bool row_offset(const isa::Operand& operand, const RegisterLayout& layout, uint32_t& offset);

/// Computes the byte offset of a destination; gfx10's NULL is kSinkSlot. Returns false for a VGPR past the
/// allocated ones, and for a code that is not a register.
bool destination_offset(const isa::Operand& operand, const LoweringContext& context, uint32_t& offset);

}  // namespace rigel::vgpu::exec
