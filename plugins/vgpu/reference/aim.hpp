// Gives an instruction that accesses memory something to access: a world, and addresses in the registers that
// it reads them from, most of them where there is memory, at its ends, some beyond.
#pragma once

#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::reference {

/// Fills in `state.world` and changes registers of `state`, and makes
/// offsets of the instruction small now and then. False: this instruction is not to be compared
/// (with these operands), as nothing says what it does.
bool aim(Draw& draw, isa::Instruction& instruction, State& state);

/// Parts of aim(), by encoding.
bool aim_data_share(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_scalar_memory(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_flat(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_buffer(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_image(Draw& draw, isa::Instruction& instruction, State& state);

/// A chip, and how the image is tiled on it: `mode`. What it takes of memory; 0: it lies in rows.
uint32_t draw_tiling(Draw& draw, TiledImage& image, Tiling& chip);

/// Values of all kinds.
void fill(Draw& draw, std::vector<uint8_t>& bytes);

/// What map_memory() makes unless told otherwise, in one piece as far as a wave can tell.
constexpr uint32_t kMemoryBytes = 16384;
constexpr uint32_t kLargeMemoryUnit = 128 * 1024;

/// Two pieces of memory, one behind the other, perhaps across 4 GiB; seldom one that is read-only. Where they
/// begin: what is of a multiple of 128 KiB, at a multiple of 64.
uint64_t map_memory(Draw& draw, World& world, uint32_t bytes = kMemoryBytes);

/// Offsets of lanes' elements within `size` bytes: in a row, all the same, anywhere, at the end, beyond.
/// Mostly multiples of `unit`.
void draw_offsets(Draw& draw, uint32_t size, uint32_t unit, uint32_t (&offsets)[64]);

}  // namespace rigel::vgpu::exec::reference
