// Gives an instruction that accesses memory something to access: a world, and addresses in the registers that
// it reads them from, most of them where there is memory, at its ends, some beyond.
#pragma once

#include "plugins/vgpu/exec/reference/draw.hpp"

namespace rigel::vgpu::exec::reference {

/// Fills in `state.world` and changes registers of `state`, and makes
/// offsets of the instruction small now and then. False: this instruction is not to be compared
/// (with these operands), as nothing says what it does.
bool aim(Draw& draw, isa::Instruction& instruction, State& state);

/// Parts of aim(), by encoding.
bool aim_data_share(Draw& draw, isa::Instruction& instruction, State& state);

/// Offsets of lanes' elements within `size` bytes: in a row, all the same, anywhere, at the end, beyond.
/// Mostly multiples of `unit`.
void draw_offsets(Draw& draw, uint32_t size, uint32_t unit, uint32_t (&offsets)[64]);

}  // namespace rigel::vgpu::exec::reference
