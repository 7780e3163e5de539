// Half precision in scalar code, for packed atomics and memory formats, where speed does not matter.
// Independent of MXCSR's rounding mode; denormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace rigel::vgpu::images {

constexpr float float_from_half(uint32_t half) {
  const uint32_t sign = (half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  uint32_t mantissa = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(mantissa) - 21;  // brings the highest bit to bit 10
  mantissa = mantissa << shift & 0x3ff;
  return std::bit_cast<float>(sign | static_cast<uint32_t>(113 - shift) << 23 | mantissa << 13);
}

/// Rounds to nearest even.
constexpr uint32_t half_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more
  if (magnitude >= 0x38800000) {                      // normal
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | (rounded - (112u << 23)) >> 13;
  }
  if (magnitude < 0x33000000) return sign;  // below half of the smallest denormal
  const uint32_t shift = 126 - (magnitude >> 23);
  const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  const uint32_t kept = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t middle = 1u << (shift - 1);
  return sign | (kept + (rest > middle || (rest == middle && (kept & 1) != 0) ? 1 : 0));
}

}  // namespace rigel::vgpu::images
