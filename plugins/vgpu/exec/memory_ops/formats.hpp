// Formats of buffers: how components lie in memory, and what they are in registers.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec {

/// In the numbers of gfx8 and gfx9, which gfx10's unified ones stand for.
struct BufferFormat {
  uint8_t data = 0;    ///< 0: none
  uint8_t number = 0;  ///< 0 unorm, 1 snorm, 2 uscaled, 3 sscaled, 4 uint, 5 sint, 6 snorm as OpenGL had it,
                       ///< 7 float
};

BufferFormat unified_format(uint8_t format);

/// Bytes of one element; 0 if there is no such format.
unsigned bytes_of(BufferFormat format);

/// A formatted load or store.
struct FormatAccess {
  BufferFormat format;
  uint8_t select[4] = {4, 5, 6, 7};  ///< What the components in registers are: 0, 1, or 4 … 7 of memory.
  uint8_t components = 1;            ///< In registers.
  bool store = false;
  bool half = false;   ///< Components of 16 bits
  bool packed = true;  ///< two to a register,
  bool high = false;   ///< or one, in the upper half.
};

/// Of an instruction; nothing if it has no format. MTBUF's has its own, MUBUF's the descriptor's.
std::optional<FormatAccess> format_access(const isa::Instruction& instruction, const isa::Traits& traits);

constexpr unsigned registers_of(const FormatAccess& access) {
  return access.half && access.packed ? (access.components + 1u) / 2 : access.components;
}

/// Registers from an element; `inside`: otherwise all of its components are 0. `values` has the registers as
/// they were.
void unpack(const FormatAccess& access, const uint32_t (&element)[4], bool inside, uint32_t (&values)[4]);
void pack(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&element)[4]);

}  // namespace rigel::vgpu::exec
