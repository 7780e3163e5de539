// Vectors that native code needs as a whole.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec::native {

struct alignas(64) Vectors {
  uint32_t lanes[17][16];         ///< Lane numbers, shifted left by 0 to 16.
  uint32_t deinterleaved[2][16];  ///< Of pairs of dwords in two vectors: the first ones, the second ones.
  uint32_t interleaved[2][16];    ///< Pairs of dwords out of two vectors: those of lanes 0 to 7, of 8 to 15.
};

inline constexpr Vectors kVectors = [] {
  Vectors made{};
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t power = 0; power < 17; ++power) made.lanes[power][i] = i << power;
    for (uint32_t half = 0; half < 2; ++half) {
      made.deinterleaved[half][i] = i * 2 + half;
      made.interleaved[half][i] = (half * 16 + i) / 2 + i % 2 * 16;
    }
  }
  return made;
}();

}  // namespace rigel::vgpu::exec::native
