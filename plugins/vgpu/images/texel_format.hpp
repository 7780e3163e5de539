// Formats of memory: how the components of a texel, or of an element of a typed buffer, lie in memory, and what they
// are in registers of 32 bits. Images and buffers share them; images have more (sRGB, packed 16-bit colours).
//
// Sources: the ISA manuals of AMD (GCN 3, Vega, RDNA, RDNA 2), chapters on buffer and image resources; Mesa's register
// databases for the numbers. Constant tables and pure functions; any thread. Independent of MXCSR's rounding mode, but
// denormals must be kept.
#pragma once

#include <cstdint>
#include <string_view>

namespace rigel::vgpu::images {

/// NUM_FORMAT: what the bits of a component mean.
enum class Number : uint8_t {
  kUnorm,
  kSnorm,
  kUscaled,
  kSscaled,
  kUint,
  kSint,
  kSnormOgl,  ///< Normalised as OpenGL had it: gfx8's buffers.
  kFloat,
  kSrgb = 9,
};

/// In the numbers of gfx8 and gfx9, which gfx10's unified ones stand for.
struct TexelFormat {
  uint8_t data = 0;  ///< DATA_FORMAT; 0: none
  Number number = Number::kUnorm;

  friend constexpr bool operator==(const TexelFormat&, const TexelFormat&) = default;
};

/// FORMAT of gfx10: buffers have the first 127, images all. No format if the number means none that is known here.
TexelFormat unified_format(uint32_t format);

/// Bytes of one element; 0 if there is no such format, or none that is known here (block-compressed ones, shared
/// exponents).
unsigned bytes_of(TexelFormat format);

/// How many components memory has; the others read as 0, the fourth as one().
unsigned components_of(TexelFormat format);

constexpr bool is_integer(TexelFormat format) {
  return format.number == Number::kUint || format.number == Number::kSint;
}

/// 1 as a register has it.
constexpr uint32_t one(TexelFormat format) {
  return is_integer(format) ? 1 : 0x3f800000;
}

/// Components of an element, in memory's order.
void unpack(TexelFormat format, const uint32_t (&element)[4], uint32_t (&components)[4]);

/// … and back: rounded to the nearest, kept within bounds.
void pack(TexelFormat format, const uint32_t (&components)[4], uint32_t (&element)[4]);

}  // namespace rigel::vgpu::images
