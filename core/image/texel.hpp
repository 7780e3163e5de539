// Encodes the bytes of an image's element from the value that a kernel would store, for hsa_ext_image_clear.
// Pure; any thread.
//
// Conversions are those of the HSA manual. If it leaves a choice, they match GPUs: normalised values are
// clamped and rounded to nearest, integers saturate, and values that are too large for a half become
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

/// Encodes `value`: red, green, blue and alpha, 32-bit floats or integers according to the channel type; for
/// depth formats, the depth only. Returns nothing for an invalid format. The unused channel of formats such
/// as RX is 0.
std::optional<Texel> encode_texel(const hsa_ext_image_format_t& format, const void* value);

/// Converts linear light to sRGB, both from 0 to 1; other values are clamped.
float standard_from_linear(float linear);

/// Converts a 32-bit float to a half, to nearest, ties to even.
uint16_t half_from_float(float value);

}  // namespace rigel
