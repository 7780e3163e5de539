// Formatted accesses: which components of an element become which registers.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/vgpu/images/texel_format.hpp"
#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec {

/// A formatted load or store.
struct FormatAccess {
  images::TexelFormat format;
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

/// Puts the components of a result into registers: as halves, if the access says so. `values` has the registers as
/// they were.
void to_registers(const FormatAccess& access, const uint32_t (&components)[4], uint32_t (&values)[4]);
/// Takes the components of a store out of them.
void from_registers(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&components)[4]);

/// What a store's first `count` components are in memory. Of several that are the same component of memory, as red and
/// alpha of INTENSITY, the first is stored: OpenCL stores red.
void to_memory(const uint8_t (&select)[4], const uint32_t (&components)[4], unsigned count,
               uint32_t (&memory)[4]);

}  // namespace rigel::vgpu::exec
