// Prepares the operands of an instruction that accesses memory: a world, and addresses in its registers. Most
// are valid, some are at the ends of memory, some outside.
#pragma once

#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::reference {

/// Sets `state.world`, changes registers of `state`, and sometimes reduces the instruction's offsets. Returns
/// false if the instruction with these operands cannot be compared, because its behaviour is not defined.
bool aim(Draw& draw, isa::Instruction& instruction, State& state);

/// Parts of aim(), by encoding:
bool aim_data_share(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_scalar_memory(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_flat(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_buffer(Draw& draw, isa::Instruction& instruction, State& state);
bool aim_image(Draw& draw, isa::Instruction& instruction, State& state);

/// Draws a chip and the image's tiling, `mode`. Returns the size in memory; 0: the image is linear.
uint32_t draw_tiling(Draw& draw, TiledImage& image, Tiling& chip);

/// Fills with values of all kinds.
void fill(Draw& draw, std::vector<uint8_t>& bytes);

/// Default size in map_memory().
constexpr uint32_t kMemoryBytes = 16384;
constexpr uint32_t kLargeMemoryUnit = 128 * 1024;

/// Adds two adjacent regions of memory, sometimes across 4 GiB, and rarely read-only. Returns the address,
/// which is a multiple of 4096, or of 64 KiB if the size is a multiple of 128 KiB.
uint64_t map_memory(Draw& draw, World& world, uint32_t bytes = kMemoryBytes);

/// Draws offsets of the lanes' elements within `size` bytes: contiguous, equal, random, at the end, outside.
/// Mostly multiples of `unit`.
void draw_offsets(Draw& draw, uint32_t size, uint32_t unit, uint32_t (&offsets)[64]);

}  // namespace rigel::vgpu::exec::reference
