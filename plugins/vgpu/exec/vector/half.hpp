// Half precision. The host only has conversions, so values are computed in single precision and rounded
// once. That is exact for one addition, multiplication, division or root, because single precision has more
// than twice the digits. Fused operations round to odd in between (fused_to_odd).
//
// The rounding mode is a parameter, because MXCSR has that of single precision. With kStayFinite added,
// finite values that overflow become the largest half, in any mode; infinities are unchanged.
#pragma once

#include "plugins/vgpu/exec/vector/lanes.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Added to a rounding mode, see above.
constexpr unsigned kStayFinite = 4;

using PackedHalves [[gnu::vector_size(kLanes * 2)]] = uint16_t;

/// Converts the low half of each lane to single precision. Exact; denormals are kept.
[[gnu::always_inline]] inline F32 half_to_single(U32 bits) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F32>(
      _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(convert<PackedHalves>(bits))));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F32>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(convert<PackedHalves>(bits))));
#else
  const U32 sign = (bits & 0x8000) << 16;
  const U32 magnitude = bits & 0x7fff;
  const U32 mantissa = magnitude & 0x3ff;
  const U32 normal = (magnitude << 13) + (112u << 23);
  const U32 special = (magnitude << 13) | 0x7f800000 | (mantissa != 0 ? U32{} + 0x400000 : U32{});
  const U32 denormal = bits_as<U32>(convert<F32>(bits_as<I32>(mantissa)) * 0x1p-24f);
  U32 result = magnitude < 0x400 ? denormal : normal;
  result = magnitude >= 0x7c00 ? special : result;
  return bits_as<F32>(result | sign);
#endif
}

/// Limits finite numbers to the range of halves.
[[gnu::always_inline]] inline F32 within_halves(F32 value) {
  const U32 bits = bits_as<U32>(value);
  const U32 magnitude = bits & 0x7fffffff;
  const I32 overflows = (magnitude > 0x477fe000) & (magnitude < 0x7f800000);
  return bits_as<F32>(select(overflows, (bits & 0x80000000) | 0x477fe000, bits));
}

/// Rounding mode of MODE: 0 nearest even, 1 up, 2 down, 3 toward zero.
inline U32 single_to_half_bitwise(F32 value, unsigned round) {
  const U32 bits = bits_as<U32>(value);
  const U32 sign = (bits >> 16) & 0x8000;
  const U32 magnitude = bits & 0x7fffffff;
  const U32 exponent = magnitude >> 23;
  const U32 mantissa = (bits & 0x7fffff) | (exponent != 0 ? U32{} + 0x800000 : U32{});
  // Shift of the mantissa; the bits that are shifted out determine rounding.
  U32 shift = exponent < 113 ? 126 - exponent : U32{} + 13;
  shift = shift > 25 ? U32{} + 25 : shift;
  const U32 kept = mantissa >> shift;
  const U32 lost = mantissa & (((U32{} + 1) << shift) - 1);
  const U32 middle = (U32{} + 1) << (shift - 1);
  const U32 base = exponent < 113 ? kept : ((exponent - 113) << 10) + kept;  // the hidden bit adds 1 << 10
  U32 up;
  if (round == 0) {
    up = bits_as<U32>(lost > middle) | (bits_as<U32>(lost == middle) & bits_as<U32>((kept & 1) != 0));
  } else if (round == 3) {
    up = U32{};
  } else {
    up = bits_as<U32>(lost != 0) & bits_as<U32>((sign != 0) == (round == 2 ? I32{} - 1 : I32{}));
  }
  U32 result = base - up;  // up is -1 if the magnitude increases
  U32 overflow = U32{} + 0x7c00;
  if (round == 3) overflow = U32{} + 0x7bff;
  if (round == 1) overflow = sign != 0 ? U32{} + 0x7bff : U32{} + 0x7c00;
  if (round == 2) overflow = sign != 0 ? U32{} + 0x7c00 : U32{} + 0x7bff;
  result = result >= 0x7c00 ? overflow : result;
  result = magnitude == 0x7f800000 ? U32{} + 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 | ((bits >> 13) & 0x3ff) : result;
  return result | sign;
}

#if RIGEL_SIMD_LEVEL > 0
#if RIGEL_SIMD_LEVEL == 2
#define RIGEL_TO_HALF(mode) \
  reinterpret_cast<PackedHalves>(_mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(value), (mode) | 8))
#else
#define RIGEL_TO_HALF(mode) \
  reinterpret_cast<PackedHalves>(_mm256_cvtps_ph(reinterpret_cast<__m256>(value), mode))
#endif
[[gnu::always_inline]] inline PackedHalves packed_halves(F32 value, unsigned round) {
  if (__builtin_expect(round == 0, 1)) return RIGEL_TO_HALF(0);
  if (round >= kStayFinite) {
    value = within_halves(value);
    round -= kStayFinite;
    if (round == 0) return RIGEL_TO_HALF(0);
  }
  if (round == 1) return RIGEL_TO_HALF(2);
  if (round == 2) return RIGEL_TO_HALF(1);
  return RIGEL_TO_HALF(3);
}
#undef RIGEL_TO_HALF
#endif

[[gnu::always_inline]] inline U32 single_to_half(F32 value, unsigned round) {
#if RIGEL_SIMD_LEVEL > 0
  return convert<U32>(packed_halves(value, round));
#else
  if (round >= kStayFinite) value = within_halves(value);
  return single_to_half_bitwise(value, round & 3);
#endif
}

[[gnu::always_inline]] inline U32 flush_half(U32 bits) {
  return (bits & 0x7c00) == 0 ? bits & 0xffff8000 : bits;
}

/// a * b + c of values that are halves, rounded to odd. Rounding the result to half by `round` then equals
/// a single rounding. MXCSR must round to nearest. The product is exact.
[[gnu::always_inline]] inline F32 fused_to_odd(F32 a, F32 b, F32 c, unsigned round) {
  const F32 product = a * b;
  const F32 sum = product + c;
  const F32 from_c = sum - product;
  const F32 error = (product - (sum - from_c)) + (c - from_c);
  const U32 bits = bits_as<U32>(sum);
  // One unit away from zero if the error has the sum's sign, otherwise one unit toward zero.
  const I32 outward = (bits_as<I32>(error) ^ bits_as<I32>(sum)) >= 0;
  const U32 odd = select(outward, bits + 1, bits - 1);
  const I32 inexact = ((bits & 1) == 0) & (error != 0) & ((bits & 0x7f800000) != 0x7f800000);
  U32 result = select(inexact, odd, bits);
  if ((round & 3) == 2) {  // when rounding down, an exact zero sum is -0
    const I32 cancels = (sum == 0) & ((bits_as<I32>(product) ^ bits_as<I32>(c)) < 0);
    result = result | (bits_as<U32>(cancels) & 0x80000000);
  }
  return bits_as<F32>(result);
}

/// Returns a + b of halves, to be rounded to half by `round`.
[[gnu::always_inline]] inline F32 half_sum(F32 a, F32 b, unsigned round) {
  if (__builtin_expect(round == 0, 1)) return a + b;
  return fused_to_odd(a, F32{} + 1, b, round);
}

/// The same for a * b + c. If the single-precision result is not near the midpoint of two halves, its
/// rounding has no influence; that is almost always so.
[[gnu::always_inline]] inline F32 fused_half(F32 a, F32 b, F32 c, unsigned round) {
#if RIGEL_SIMD_LEVEL > 0
  if (__builtin_expect(round == 0, 1)) {
    const F32 sum = fused(a, b, c);
    const U32 bits = bits_as<U32>(sum);
    const I32 middle = (bits & 0x1fff) == 0x1000;
    const I32 denormal = (bits & 0x7fffffff) - 1 < 0x387fffff;
    if (__builtin_expect(mask_bits(middle | denormal) == 0, 1)) return sum;
  }
#endif
  return fused_to_odd(a, b, c, round);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
