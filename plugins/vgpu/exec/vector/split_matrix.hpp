// Registers of WMMA and SWMMAC on RDNA 4, which split matrices between the lanes: no element is in two lanes.
//
// Lane l has elements of row l % 16 of A, and of column l % 16 of B. Which k they have depends on the number
// of elements in a lane and their type. C and D: lane l has rows of column l % 16. Checked with AMD's matrix
// instruction calculator (ROCm/amd_matrix_instruction_calculator).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "plugins/vgpu/isa/matrix_shape.hpp"

namespace rigel::vgpu::exec {

/// Elements of A or B. Of a sparse A, `k` counts the stored elements.
struct SplitLayout {
  unsigned per_lane, lanes, bits;

  constexpr SplitLayout(isa::MatrixType type, unsigned k, unsigned wave_size)
      : per_lane(16 * k / wave_size), lanes(wave_size), bits(isa::bits_of(type)) {
    if (per_lane * bits >= 32) return;
    per_lane = 32 / bits;  // A lane has a whole dword, and the others have none.
    lanes = 16 * k / per_lane;
  }

  /// Returns the place in the row or column of an element of a lane.
  constexpr unsigned place(unsigned lane, unsigned element) const {
    const unsigned group = lane / 16, half = per_lane / 2;
    if (lanes == 32 && bits == 16) return element % half + half * group + per_lane * (element / half);
    if (lanes == 32 || bits == 16) return element + per_lane * group;
    return element + per_lane * (lane / 32) + 2 * per_lane * (group % 2);
  }
};

/// Returns the row of an element of C or D.
constexpr unsigned row_of_split_sum(unsigned lane, unsigned element, unsigned wave_size) {
  const unsigned group = lane / 16;
  return wave_size == 32 ? element + 8 * group : element + 4 * (lane / 32) + 8 * (group % 2);
}

/// Returns the value of FP8 or BF8 as gfx12 has them (vector/ocp_bytes.hpp).
template <bool kIsBf8>
inline float float_from_ocp_byte(uint32_t byte) {
  constexpr int kFraction = kIsBf8 ? 2 : 3, kBias = kIsBf8 ? 15 : 7;
  const uint32_t magnitude = byte & 0x7f, sign = (byte & 0x80) << 24;
  if (kIsBf8 ? magnitude > 0x7c : magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  if (kIsBf8 && magnitude == 0x7c) return std::bit_cast<float>(sign | 0x7f800000);
  const uint32_t exponent = magnitude >> kFraction, fraction = magnitude & ((1u << kFraction) - 1);
  const float value =
      exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - kBias - kFraction)
                    : std::bit_cast<float>((exponent + 127 - kBias) << 23 | fraction << (23 - kFraction));
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

}  // namespace rigel::vgpu::exec
