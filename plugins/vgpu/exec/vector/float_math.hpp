// Floating-point functions whose treatment of NaN, zero and denormals the hardware's manuals prescribe: on
// bits, so that they do not depend on MXCSR.
#pragma once

#include "plugins/vgpu/exec/vector/values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

template <class Bits, uint64_t Infinity, uint64_t Quiet, uint64_t Sign>
struct Format {
  using Unsigned = Bits;
  using Element = std::remove_reference_t<decltype(std::declval<Bits&>()[0])>;
  static constexpr Element kInfinity = Infinity, kQuiet = Quiet, kSign = Sign, kMagnitude = Sign - 1;
  static constexpr Element kDenormals = Infinity & (~Infinity + 1);  ///< The least normal number.
};
using Format16 = Format<U32, 0x7c00, 0x200, 0x8000>;
using Format32 = Format<U32, 0x7f800000, 0x400000, 0x80000000>;
using Format64 = Format<U64, 0x7ff0000000000000, 0x8000000000000, 0x8000000000000000>;

template <class Fm, class V>
[[gnu::always_inline]] inline auto is_nan(V x) {
  return (x & Fm::kMagnitude) > Fm::kInfinity;
}
template <class Fm, class V>
[[gnu::always_inline]] inline auto is_signaling(V x) {
  return ((x & Fm::kMagnitude) > Fm::kInfinity) & ((x & Fm::kQuiet) == 0);
}
template <class Fm, class V>
[[gnu::always_inline]] inline V flush_denormals(V x) {
  return (x & Fm::kInfinity) == 0 ? x & (V{} + Fm::kSign) : x;
}
/// Unsigned numbers in the order of the values; -0 is below +0.
template <class Fm, class V>
[[gnu::always_inline]] inline V order(V x) {
  return (x & Fm::kSign) != 0 ? (V{} + Fm::kMagnitude + Fm::kSign) - x : x | (V{} + Fm::kSign);
}

/// Of two numbers that are no NaNs.
template <class Fm, bool Max, class V>
[[gnu::always_inline]] inline V smaller_or_larger(V a, V b) {
  if constexpr (Fm::kSign >> (sizeof(Fm::kSign) * 8 - 1) != 0) {
    // Signed integers in the order of the values, and the way back: the same.
    using Signed = decltype(a == b);
    const auto ordered = [](Signed x) __attribute__((always_inline)) {
      return x ^ ((x >> (sizeof(Fm::kSign) * 8 - 1)) &
                  static_cast<std::make_signed_t<typename Fm::Element>>(Fm::kMagnitude));
    };
    const Signed ka = ordered(bits_as<Signed>(a)), kb = ordered(bits_as<Signed>(b));
    return bits_as<V>(ordered(Max ? (ka > kb ? ka : kb) : (ka < kb ? ka : kb)));
  } else {
    const V ka = order<Fm>(a), kb = order<Fm>(b);
    return Max ? (ka > kb ? a : b) : (ka < kb ? a : b);
  }
}

/// v_min and v_max. With IEEE, a signaling NaN becomes the result, quieted; otherwise a NaN loses to a
/// number.
template <class Fm, bool Max, class V>
[[gnu::always_inline]] inline V extreme(V a, V b, bool ieee, bool flush) {
  if (flush) {
    a = flush_denormals<Fm>(a);
    b = flush_denormals<Fm>(b);
  }
  const auto a_nan = is_nan<Fm>(a), b_nan = is_nan<Fm>(b);
  const V numbers = smaller_or_larger<Fm, Max>(a, b);
  // Compilers differ in what a comparison of 64-bit lanes is a vector of.
  using Lanes = std::conditional_t<sizeof(a[0]) == 8, I64, I32>;
  if (__builtin_expect(mask_bits(bits_as<Lanes>(a_nan | b_nan)) == 0, 1)) return numbers;
  V result = b_nan ? a : numbers;
  result = a_nan ? b : result;
  if (ieee) {
    result = is_signaling<Fm>(b) ? b | (V{} + Fm::kQuiet) : result;
    result = is_signaling<Fm>(a) ? a | (V{} + Fm::kQuiet) : result;
  }
  return result;
}

template <class Fm, bool Max, class V>
[[gnu::always_inline]] inline V extreme3(V a, V b, V c, bool ieee, bool flush) {
  return extreme<Fm, Max>(extreme<Fm, Max>(a, b, ieee, flush), c, ieee, flush);
}

/// v_med3: the least of the three if one is a NaN; else what is left when the greatest goes, the greater one.
template <class Fm, class V>
[[gnu::always_inline]] inline V median(V a, V b, V c, bool ieee, bool flush) {
  const V least = extreme3<Fm, false>(a, b, c, ieee, flush);
  if (flush) {
    a = flush_denormals<Fm>(a);
    b = flush_denormals<Fm>(b);
    c = flush_denormals<Fm>(c);
  }
  const V ka = order<Fm>(a), kb = order<Fm>(b), kc = order<Fm>(c);
  const V low_ab = ka < kb ? a : b, high_ab = ka < kb ? b : a;
  const V high_key = ka < kb ? kb : ka, low_key = ka < kb ? ka : kb;
  V middle = kc < high_key ? c : high_ab;
  middle = kc < low_key ? low_ab : middle;
  return (is_nan<Fm>(a) | is_nan<Fm>(b) | is_nan<Fm>(c)) != 0 ? least : middle;
}

/// The classes of v_cmp_class that x is in: signaling and quiet NaN, then from -infinity to +infinity.
template <class Fm, class V, class Classes>
[[gnu::always_inline]] inline auto is_in_class(V x, Classes classes) {
  const V zero{};
  const V magnitude = x & Fm::kMagnitude;
  const auto negative = (x & Fm::kSign) != 0;
  V bit = zero + 0x100;  // a positive normal number
  bit = magnitude < Fm::kDenormals ? zero + 0x80 : bit;
  bit = magnitude == 0 ? zero + 0x40 : bit;
  bit = magnitude == Fm::kInfinity ? zero + 0x200 : bit;
  V below = zero + 0x8;
  below = magnitude < Fm::kDenormals ? zero + 0x10 : below;
  below = magnitude == 0 ? zero + 0x20 : below;
  below = magnitude == Fm::kInfinity ? zero + 0x4 : below;
  bit = negative ? below : bit;
  bit = is_nan<Fm>(x) ? zero + 2 : bit;
  bit = is_signaling<Fm>(x) ? zero + 1 : bit;
  return (bit & classes) != 0;
}

/// A number in parts: zeros, infinities and NaNs (quieted) are their own mantissa, with exponent 0. Denormals
/// are kept as far as MXCSR keeps them.
struct SingleParts {
  I32 exponent;
  F32 mantissa;  ///< At least 1/2, below 1.
};
inline SingleParts parts_of(F32 a) {
  const I32 is_denormal = (bits_as<U32>(a) & 0x7f800000) == 0;
  const F32 scaled = is_denormal ? a * 0x1p32f : a;  // A zero if denormals are not kept.
  const U32 bits = bits_as<U32>(scaled);
  const U32 magnitude = bits & 0x7fffffff;
  const I32 exponent = bits_as<I32>(magnitude >> 23) - (is_denormal ? I32{} + 158 : I32{} + 126);
  const U32 half = (bits & 0x807fffff) | 0x3f000000;
  const U32 quiet = magnitude > 0x7f800000 ? bits | 0x400000 : bits;
  const I32 special = (magnitude == 0) | (magnitude >= 0x7f800000);
  return {special ? I32{} : exponent, bits_as<F32>(special ? quiet : half)};
}

inline F64 power_of_two(I64 exponent) {
  return bits_as<F64>((exponent + 1023) << 52);
}

struct DoubleParts {
  I64 exponent;
  F64 mantissa;  ///< At least 1/2, below 1; zeros, infinities and NaNs are themselves, with exponent 0.
};
inline DoubleParts parts_of(F64 a) {
  const I64 is_denormal = (bits_as<U64>(a) & 0x7ff0000000000000) == 0;
  const F64 scaled = is_denormal ? a * 0x1p64 : a;  // A zero if denormals are not kept.
  const U64 bits = bits_as<U64>(scaled);
  const U64 magnitude = bits & 0x7fffffffffffffff;
  const I64 exponent = bits_as<I64>(magnitude >> 52) - (is_denormal ? I64{} + 1086 : I64{} + 1022);
  const U64 half = (bits & 0x800fffffffffffff) | 0x3fe0000000000000;
  const U64 quiet = magnitude > 0x7ff0000000000000 ? bits | 0x8000000000000 : bits;
  const I64 special = (magnitude == 0) | (magnitude >= 0x7ff0000000000000);
  return {special ? I64{} : exponent, bits_as<F64>(special ? quiet : half)};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
