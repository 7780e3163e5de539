// From an operand of an instruction to what a micro-operation reads or writes: constants by type, places of
// registers, and the sources that are neither (SCC, VCCZ, EXECZ, apertures).
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec {

/// The bits of an inline constant (codes 128 … 208 and 240 … 248) or of a literal, as an operand of `type`
/// sees them, in its own width: a half for 16-bit types, both halves of a packed type filled in as the
/// hardware does (packed integers and halves: the low one only, literals whole), 64 bits for 64-bit types.
/// False if the code is no constant.
bool constant_of(const isa::Operand& operand, const isa::Instruction& instruction, uint64_t& bits);

struct Place {
  bool is_constant = false;
  Source source;  ///< Its constant, or the byte offset of its first scalar slot or vector row.
};

/// Where to read an operand. Emits an operation if the value has to be brought to a place first: the two
/// scalar temporaries from `temporary` on (0 … 14) are its own then. Sources that do not exist on the target
/// give `ok` = false. VGPRs are taken as they are: beyond those allocated are none but those that a handler
/// counts on from (register_bounds.hpp).
struct PlaceOf {
  bool ok = true;
  Place place;
};
PlaceOf source_place(const isa::Operand& operand, const isa::Instruction& instruction,
                     const LoweringContext& context, Emitter& out, uint32_t temporary);

/// Byte offset of a destination; gfx10's NULL is the sink. A VGPR beyond those allocated, or a code that is
/// no register, gives false.
bool destination_offset(const isa::Operand& operand, const LoweringContext& context, uint32_t& offset);

}  // namespace rigel::vgpu::exec
