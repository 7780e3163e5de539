// FP8 (1 + 4 + 3 bits) and BF8 (1 + 5 + 2 bits) of gfx12, which are those of the Open Compute Project. FP8
// has one NaN of each sign and no infinities. BF8 is the upper byte of a half.
#pragma once

#include "plugins/vgpu/exec/vector/lanes.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

template <bool kIsBf8>
struct Ocp {
  static constexpr int kFraction = kIsBf8 ? 2 : 3, kBias = kIsBf8 ? 15 : 7;
  static constexpr uint32_t kLargest = kIsBf8 ? 0x7b : 0x7e;
  static constexpr uint32_t kOverflow = kIsBf8 ? 0x7c : 0x7f;  ///< Infinity, or FP8's NaN
  static constexpr uint32_t kNaN = 0x7f;
  static constexpr uint32_t kRebias = 127 - kBias;
};

/// Returns the value of the low byte.
template <bool kIsBf8>
[[gnu::always_inline]] inline F32 from_ocp(U32 byte) {
  using Format = Ocp<kIsBf8>;
  constexpr int kDropped = 23 - Format::kFraction;
  constexpr float kUnit = kIsBf8 ? 0x1p-16f : 0x1p-9f;
  const U32 magnitude = byte & 0x7f;
  const U32 normal = (magnitude << kDropped) + (Format::kRebias << 23);
  const U32 denormal = bits_as<U32>(convert<F32>(bits_as<I32>(magnitude)) * kUnit);
  U32 value = magnitude < (1u << Format::kFraction) ? denormal : normal;
  if constexpr (kIsBf8) {
    value = magnitude == 0x7c ? U32{} + 0x7f800000 : value;
    value = magnitude > 0x7c ? U32{} + 0x7fc00000 : value;
  } else {
    value = magnitude == 0x7f ? U32{} + 0x7fc00000 : value;
  }
  return bits_as<F32>(value | ((byte & 0x80) << 24));
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
