// Formats of typed buffers: conversion between memory and registers.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/vgpu/reference/soft_float.hpp"

namespace rigel::vgpu::exec::reference {

struct TypedFormat {
  enum class Number : uint8_t {
    kUnorm,
    kSnorm,
    kUscaled,
    kSscaled,
    kUint,
    kSint,
    kSnormOgl,
    kFloat,
    kSrgb = 9
  };
  std::array<unsigned, 4> bits{};  ///< Widths of the components, lowest first.
  Number number = Number::kUnorm;
  bool valid = false;  ///< False: invalid, or a combination that the manuals do not list.

  unsigned components() const;
  unsigned bytes() const;
};

/// BUF_DATA_FORMAT and BUF_NUM_FORMAT of gfx8 and gfx9; image formats (IMG_) include them.
TypedFormat typed_format(unsigned data_format, unsigned number_format);
/// Unified formats of gfx10.
TypedFormat typed_format(unsigned format);
/// The same for gfx11, whose formats have six bits.
TypedFormat compact_format(unsigned format);

/// Converts a component's bits to and from a register.
uint32_t component_to_register(const TypedFormat& format, unsigned component, uint32_t bits);
uint32_t component_from_register(const TypedFormat& format, unsigned component, uint32_t value);

/// Widens a float to single precision. NaNs are copied without quieting.
uint32_t widened(Format from, uint32_t bits);

}  // namespace rigel::vgpu::exec::reference
