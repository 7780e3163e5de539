// Memory formats: how the components of a texel, or of an element of a typed buffer, are stored in memory
// and converted to 32-bit registers. Images have more formats than buffers (sRGB, packed 16-bit colours).
//
// Sources: AMD's ISA manuals (GCN 3, Vega, RDNA, RDNA 2), chapters on buffer and image resources; Mesa's
// register databases for the encodings.
//
// Threads: any; constant tables and pure functions. Results do not depend on MXCSR's rounding mode;
// denormals must be kept.
#pragma once

#include <cstdint>
#include <string_view>

namespace rigel::vgpu::images {

/// NUM_FORMAT: the meaning of a component's bits.
enum class Number : uint8_t {
  kUnorm,
  kSnorm,
  kUscaled,
  kSscaled,
  kUint,
  kSint,
  kSnormOgl,  ///< OpenGL's former normalisation: buffers of gfx8.
  kFloat,
  kSrgb = 9,
};

/// A format in the encoding of gfx8 and gfx9. gfx10's unified formats are converted to it.
struct TexelFormat {
  uint8_t data = 0;  ///< DATA_FORMAT; 0: none
  Number number = Number::kUnorm;

  friend constexpr bool operator==(const TexelFormat&, const TexelFormat&) = default;
};

/// Converts FORMAT of gfx10. Buffers have the first 127, images all. Unknown formats become DATA_FORMAT 0.
TexelFormat unified_format(uint32_t format);
/// The same for gfx11, whose buffers have the first 63.
TexelFormat compact_format(uint32_t format);

/// Returns the size of an element, or 0 for an invalid or unsupported format (block compression, shared
/// exponents).
unsigned bytes_of(TexelFormat format);

/// Returns the number of components in memory. The others read as 0, the fourth as one().
unsigned components_of(TexelFormat format);

constexpr bool is_integer(TexelFormat format) {
  return format.number == Number::kUint || format.number == Number::kSint;
}

/// Returns 1 as a register value.
constexpr uint32_t one(TexelFormat format) {
  return is_integer(format) ? 1 : 0x3f800000;
}

void unpack(TexelFormat format, const uint32_t (&element)[4], uint32_t (&components)[4]);

/// Converts components to an element: rounded to nearest, clamped to the format's range.
void pack(TexelFormat format, const uint32_t (&components)[4], uint32_t (&element)[4]);

}  // namespace rigel::vgpu::images
