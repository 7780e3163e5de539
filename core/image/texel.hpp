// The bytes of an image's element, from the value that a kernel would store: what hsa_ext_image_clear writes.
// Pure; any thread.
//
// Conversions are those of the HSA manual. Where it leaves a choice, the one that GPUs make: normalised
// values are clamped and rounded to the nearest, integers saturate, what is too large for a half becomes
// infinite.
#pragma once

#include <hsa/hsa_ext_image.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rigel {

struct Texel {
  std::array<std::byte, 16> bytes{};
  uint32_t size = 0;
};

/// `value` has red, green, blue and alpha, 32-bit floats or integers as the channel type says; of formats of
/// depth, it has the depth alone. No such format: nothing. Of what the manual calls RX and the like, the
/// channel that nobody sees is 0.
std::optional<Texel> encode_texel(const hsa_ext_image_format_t& format, const void* value);

/// Linear light to sRGB, both from 0 to 1; what is outside is clamped.
float standard_from_linear(float linear);

/// A 32-bit float to a half, to the nearest, ties to even.
uint16_t half_from_float(float value);

}  // namespace rigel
