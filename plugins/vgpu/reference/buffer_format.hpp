// Typed buffers: numbers in memory and what they are in registers.
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
  std::array<unsigned, 4> bits{};  ///< Of the components, the lowest first.
  Number number = Number::kUnorm;
  bool valid = false;  ///< False: invalid, or a combination that no manual lists.

  unsigned components() const;
  unsigned bytes() const;
};

/// BUF_DATA_FORMAT and BUF_NUM_FORMAT of gfx8 and gfx9, and the same of images (IMG_), which have more.
TypedFormat typed_format(unsigned data_format, unsigned number_format);
/// The unified formats of gfx10.
TypedFormat typed_format(unsigned format);

/// A component's bits as 32 bits of a register, and back.
uint32_t component_to_register(const TypedFormat& format, unsigned component, uint32_t bits);
uint32_t component_from_register(const TypedFormat& format, unsigned component, uint32_t value);

/// A narrower float as a single. NaNs are moved as they are: nothing computes with them.
uint32_t widened(Format from, uint32_t bits);

}  // namespace rigel::vgpu::exec::reference
