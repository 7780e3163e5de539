// Formatted accesses: conversion between the components of an element and registers.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/vgpu/images/texel_format.hpp"
#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec {

struct FormatAccess {
  images::TexelFormat format;
  /// Source of each register component: 0, 1, or component 4 … 7 of memory.
  uint8_t select[4] = {4, 5, 6, 7};
  uint8_t components = 1;  ///< Number of components in registers.
  bool store = false;
  bool half = false;         ///< 16-bit components.
  bool packed = true;        ///< Two 16-bit components per register.
  bool high = false;         ///< One 16-bit component, in the upper half.
  bool clears_half = false;  ///< A load of one 16-bit component clears the other half.
};

/// Returns the instruction's format, or nothing if it has none. The format is in the instruction for MTBUF,
/// in the descriptor for MUBUF.
std::optional<FormatAccess> format_access(const isa::Instruction& instruction, const isa::Traits& traits);

constexpr unsigned registers_of(const FormatAccess& access) {
  return access.half && access.packed ? (access.components + 1u) / 2 : access.components;
}

/// Converts an element to registers. If `inside` is false, its components are 0. `values` has the previous
/// register values.
void unpack(const FormatAccess& access, const uint32_t (&element)[4], bool inside, uint32_t (&values)[4]);
void pack(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&element)[4]);

/// Writes the components of a result to registers, as halves if the access requires them. `values` has the
/// previous register values.
void to_registers(const FormatAccess& access, const uint32_t (&components)[4], uint32_t (&values)[4]);
void from_registers(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&components)[4]);

/// Converts a store's first `count` components to memory order. If several have the same memory component,
/// such as red and alpha of INTENSITY, the first is stored: OpenCL stores red.
void to_memory(const uint8_t (&select)[4], const uint32_t (&components)[4], unsigned count,
               uint32_t (&memory)[4]);

}  // namespace rigel::vgpu::exec
