// Floating-point functions for which the manuals specify NaNs, zeros and denormals. They operate on bits,
// so that results do not depend on MXCSR.
#pragma once

#include <bit>
#include <limits>

#include "plugins/vgpu/exec/vector/values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

template <class V>
using ElementOf = std::remove_reference_t<decltype(std::declval<V&>()[0])>;

template <class Bits, uint64_t Infinity, uint64_t Quiet, uint64_t Sign>
struct Format {
  using Unsigned = Bits;
  using Element = ElementOf<Bits>;
  static constexpr Element kInfinity = Infinity, kQuiet = Quiet, kSign = Sign, kMagnitude = Sign - 1;
  static constexpr Element kDenormals = Infinity & (~Infinity + 1);  ///< Smallest normal number.
  static constexpr int kDigits = std::countr_zero(kDenormals);       ///< Bits of the fraction.
  static constexpr int kBias = (Infinity >> kDigits) / 2 - 1;        ///< Bias of the exponents of parts_of().
};
using Format16 = Format<U32, 0x7c00, 0x200, 0x8000>;
using Format32 = Format<U32, 0x7f800000, 0x400000, 0x80000000>;
using Format64 = Format<U64, 0x7ff0000000000000, 0x8000000000000, 0x8000000000000000>;
template <class F>
using FormatOf = std::conditional_t<std::is_same_v<F, F64>, Format64, Format32>;
template <class F>
using BitsOf = typename FormatOf<F>::Unsigned;

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
template <class F>
[[gnu::always_inline]] inline F without_denormals(F a) {
  return bits_as<F>(flush_denormals<FormatOf<F>>(bits_as<BitsOf<F>>(a)));
}
/// Whether MODE flushes denormal sources. Doubles share the setting of halves.
template <class F>
[[gnu::always_inline]] inline bool flushes_inputs(Control control) {
  return std::is_same_v<F, F64> ? control.flush_inputs16() : control.flush_inputs32();
}
template <class F>
[[gnu::always_inline]] inline F flushed(F a, Control control) {
  return flushes_inputs<F>(control) ? without_denormals(a) : a;
}

template <Rounding R, class F>
[[gnu::always_inline]] inline F rounded(F a, Control control) {
  return round_to_integer<R>(flushed(a, control));
}
template <class F>
[[gnu::always_inline]] inline F fraction(F a, Control control) {
  a = flushed(a, control);
  const F part = a - round_to_integer<Rounding::kDown>(a);
  constexpr ElementOf<F> kBelowOne = 1 - std::numeric_limits<ElementOf<F>>::epsilon() / 2;
  return part >= 1 ? F{} + kBelowOne : part;  // Tiny negative numbers would round to 1.
}

/// Maps numbers to unsigned integers with the same order; -0 is below +0.
template <class Fm, class V>
[[gnu::always_inline]] inline V order(V x) {
  return (x & Fm::kSign) != 0 ? (V{} + Fm::kMagnitude + Fm::kSign) - x : x | (V{} + Fm::kSign);
}

/// Returns min or max of two numbers that are not NaNs.
template <class Fm, bool Max, class V>
[[gnu::always_inline]] inline V smaller_or_larger(V a, V b) {
  if constexpr (Fm::kSign >> (sizeof(Fm::kSign) * 8 - 1) != 0) {
    // Maps numbers to signed integers with the same order. The mapping is its own inverse.
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

/// v_min and v_max, by the rule for NaNs. Without the rule kNanWins, a quiet NaN loses to a number.
template <class Fm, bool Max, class V>
[[gnu::always_inline]] inline V extreme(V a, V b, NanRule rule, bool flush) {
  if (flush) {
    a = flush_denormals<Fm>(a);
    b = flush_denormals<Fm>(b);
  }
  const auto a_nan = is_nan<Fm>(a), b_nan = is_nan<Fm>(b);
  const V numbers = smaller_or_larger<Fm, Max>(a, b);
  // Compilers differ in the type of a comparison of 64-bit lanes.
  using Lanes = std::conditional_t<sizeof(a[0]) == 8, I64, I32>;
  if (__builtin_expect(mask_bits(bits_as<Lanes>(a_nan | b_nan)) == 0, 1)) return numbers;
  V result = b_nan ? a : numbers;
  result = a_nan ? b : result;
  if (rule == NanRule::kNanWins) {
    result = b_nan ? b : numbers;
    result = a_nan ? a : result;
  } else if (rule == NanRule::kQuietNumberWins) {
    result = a_nan & b_nan ? a | (V{} + Fm::kQuiet) : result;
  }
  if (rule == NanRule::kNanWins || rule == NanRule::kSignalingWins) {
    result = is_signaling<Fm>(b) ? b | (V{} + Fm::kQuiet) : result;
    result = is_signaling<Fm>(a) ? a | (V{} + Fm::kQuiet) : result;
  }
  return result;
}

template <bool Max, class F>
[[gnu::always_inline]] inline F extreme_of(F a, F b, Control control) {
  return bits_as<F>(extreme<FormatOf<F>, Max>(bits_as<BitsOf<F>>(a), bits_as<BitsOf<F>>(b),
                                              control.nan_rule(), flushes_inputs<F>(control)));
}

/// v_minimum and v_maximum.
template <bool Max, class F>
[[gnu::always_inline]] inline F nan_or_extreme(F a, F b, Control control) {
  return bits_as<F>(extreme<FormatOf<F>, Max>(bits_as<BitsOf<F>>(a), bits_as<BitsOf<F>>(b), NanRule::kNanWins,
                                              flushes_inputs<F>(control)));
}

template <class Fm, bool Max, class V>
[[gnu::always_inline]] inline V extreme3(V a, V b, V c, NanRule rule, bool flush) {
  return extreme<Fm, Max>(extreme<Fm, Max>(a, b, rule, flush), c, rule, flush);
}

/// v_med3: the minimum if one of the three is a NaN, otherwise the median.
template <class Fm, class V>
[[gnu::always_inline]] inline V median(V a, V b, V c, NanRule rule, bool flush) {
  const V minimum = extreme3<Fm, false>(a, b, c, rule, flush);
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
  return (is_nan<Fm>(a) | is_nan<Fm>(b) | is_nan<Fm>(c)) != 0 ? minimum : middle;
}

/// Whether x is in one of the classes of v_cmp_class: signaling and quiet NaN, then from -infinity to
/// +infinity.
template <class Fm, class V, class Classes>
[[gnu::always_inline]] inline auto is_in_class(V x, Classes classes) {
  const V zero{};
  const V magnitude = x & Fm::kMagnitude;
  const auto negative = (x & Fm::kSign) != 0;
  V bit = zero + 0x100;  // a positive normal number
  bit = magnitude < Fm::kDenormals ? zero + 0x80 : bit;
  bit = magnitude == 0 ? zero + 0x40 : bit;
  bit = magnitude == Fm::kInfinity ? zero + 0x200 : bit;
  V negative_bit = zero + 0x8;
  negative_bit = magnitude < Fm::kDenormals ? zero + 0x10 : negative_bit;
  negative_bit = magnitude == 0 ? zero + 0x20 : negative_bit;
  negative_bit = magnitude == Fm::kInfinity ? zero + 0x4 : negative_bit;
  bit = negative ? negative_bit : bit;
  bit = is_nan<Fm>(x) ? zero + 2 : bit;
  bit = is_signaling<Fm>(x) ? zero + 1 : bit;
  return (bit & classes) != 0;
}

/// Exponent and mantissa of a number. Zeros, infinities and NaNs (quieted) are their own mantissa, with
/// exponent 0. Denormals are kept if MXCSR keeps them.
template <class F>
struct Parts {
  LaneMask<F> exponent;
  F mantissa;  ///< At least 1/2, less than 1.
};
template <class F>
Parts<F> parts_of(F a) {
  using Fm = FormatOf<F>;
  using Bits = BitsOf<F>;
  using Exponent = LaneMask<F>;
  constexpr int kUp = sizeof(ElementOf<F>) * 8;
  constexpr ElementOf<F> kUpward = kUp == 32 ? 0x1p32 : 0x1p64;
  const Exponent is_denormal = (bits_as<Bits>(a) & Fm::kInfinity) == 0;
  const F scaled = is_denormal ? a * kUpward : a;  // zero if denormals are flushed
  const Bits bits = bits_as<Bits>(scaled);
  const Bits magnitude = bits & Fm::kMagnitude;
  const Exponent exponent = bits_as<Exponent>(magnitude >> Fm::kDigits) -
                            (is_denormal ? Exponent{} + (Fm::kBias + kUp) : Exponent{} + Fm::kBias);
  const Bits half = (bits & ~Fm::kInfinity) | (ElementOf<Bits>{Fm::kBias} << Fm::kDigits);
  const Bits quiet = magnitude > Fm::kInfinity ? bits | Fm::kQuiet : bits;
  const Exponent special = (magnitude == 0) | (magnitude >= Fm::kInfinity);
  return {special ? Exponent{} : exponent, bits_as<F>(special ? quiet : half)};
}

inline F64 power_of_two(I64 exponent) {
  return bits_as<F64>((exponent + 1023) << 52);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
