// The steps of a division that shaders put together themselves: div_scale, div_fmas, div_fixup. And
// trig_preop.
#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <class F>
struct Traits;
template <>
struct Traits<F32> {
  using TestType = Test;
  static constexpr int kTooFar = 96;  ///< a quotient near the largest number
  static constexpr int kTiny = 23;    ///< biased exponent of a numerator that loses digits
  static constexpr int kUnderflow = -150;
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f, kLeast = 0x1p-126f;
  static constexpr float kLeastDenormal = 0x1p-149f, kHalfOfLeast = 0x1p-86f;  ///< the half: scaled up
};
template <>
struct Traits<F64> {
  using TestType = Test64;
  static constexpr int kTooFar = 768;
  static constexpr int kTiny = 53;
  static constexpr int kUnderflow = -1075;
  static constexpr double kUp = 0x1p128, kDown = 0x1p-128, kLeast = 0x1p-1022;
  static constexpr double kLeastDenormal = 0x1p-1074, kHalfOfLeast = 0x1p-947;
};

template <class F>
auto magnitude_bits(F x) {
  return bits_as<BitsOf<F>>(x) & FormatOf<F>::kMagnitude;
}
template <class F>
auto biased_exponent(F x) {
  using Signed = decltype(x == x);
  return bits_as<Signed>(magnitude_bits(x) >> FormatOf<F>::kDigits);
}

template <class Lanes>
bool any_of(const Lanes& lanes) {
  uint64_t parts[sizeof(Lanes) / 8], all = 0;
  std::memcpy(parts, &lanes, sizeof parts);
  for (const uint64_t part : parts) all |= part;
  return all != 0;
}

// Whether no number is 0, or so far from 1 that a step of a division has to care.
template <class F>
bool are_ordinary(F x, F y) {
  using T = Traits<F>;
  constexpr int kOne = FormatOf<F>::kBias + 1, kNear = T::kTooFar / 2 - 1;
  const auto from_one = [](F value) { return biased_exponent(value) - kOne; };
  const auto is_far = [&](F value) { return (from_one(value) > kNear) | (from_one(value) < -kNear); };
  return !any_of(is_far(x) | is_far(y));
}

// S0 is the denominator S1 or the numerator S2, whichever is to be scaled. The test tells div_fmas to scale
// back.
//
// The manuals' descriptions of these steps do not add up to a division in three places. Here is what does,
// and what the hardware has been seen to do:
//   * Where both 1/d and n/d are denormal the denominator is scaled down; up, as they say, it would be
//   infinite.
//   * div_fmas scales by 2^64 (double: 2^128) up if its addend is at least 2, else down: n/d near the largest
//     number was made small by scaling the denominator, a denormal one large by scaling the numerator.
//   * A quotient that overflowed to infinity on the way is a NaN when it comes to div_fixup.
template <class F>
WithTest<F, typename Traits<F>::TestType> scale(F value, F denominator, F numerator, Control control) {
  using T = Traits<F>;
  using Fm = FormatOf<F>;
  if (flushes_inputs<F>(control)) {
    for (F* x : {&value, &denominator, &numerator}) *x = without_denormals(*x);
  }
  if (are_ordinary(numerator, denominator)) return {value, {F{} != F{}}};
  const auto n = parts_of(numerator), d = parts_of(denominator);
  const auto n_magnitude = magnitude_bits(numerator), d_magnitude = magnitude_bits(denominator);
  const auto none = (numerator == 0) | (denominator == 0);
  const auto finite = (n_magnitude < Fm::kInfinity) & (d_magnitude < Fm::kInfinity);
  const auto far = biased_exponent(numerator) - biased_exponent(denominator) >= T::kTooFar;
  const auto d_denormal = (d_magnitude < Fm::kDenormals) & (d_magnitude != 0);
  // 1 / d and n / d are denormal. The quotient's exponent is the difference, less one if its mantissa is
  // below 1.
  const F d_absolute = bits_as<F>(d_magnitude);
  const auto inverse_denormal = (d_absolute > 1 / (F{} + T::kLeast)) & (d_magnitude < Fm::kInfinity);
  const auto smaller =
      (bits_as<BitsOf<F>>(n.mantissa) & Fm::kMagnitude) < (bits_as<BitsOf<F>>(d.mantissa) & Fm::kMagnitude);
  const auto quotient_exponent = n.exponent - d.exponent + smaller;
  const auto quotient_denormal = finite & ~none & (quotient_exponent < -Fm::kBias);
  const auto numerator_tiny = biased_exponent(numerator) <= T::kTiny;
  const auto is_denominator = value == denominator, is_numerator = value == numerator;

  // The first condition that holds decides.
  const auto test = far | (~d_denormal & quotient_denormal);
  const auto both = inverse_denormal & quotient_denormal;
  const auto up = (far & is_denominator) | (~far & d_denormal) |
                  (~far & ~d_denormal & ~inverse_denormal & quotient_denormal & is_numerator) |
                  (~far & ~d_denormal & ~inverse_denormal & ~quotient_denormal & numerator_tiny);
  const auto down = ~far & ~d_denormal & ((inverse_denormal & ~quotient_denormal) | (both & is_denominator));
  F result = select(up, value * T::kUp, select(down, value * T::kDown, value));
  const BitsOf<F> nan = BitsOf<F>{} + (Fm::kInfinity | Fm::kQuiet);
  result = select(none, bits_as<F>(nan), result);
  return {result, {test & ~none}};
}

template <class F>
F scaled_fma(F a, F b, F c, decltype(F{} == F{}) scales) {
  const F whole = product_sum(a, b, c);
  // Comparing fields: NaNs and infinities stay what they are.
  using T = Traits<F>;
  const auto large = biased_exponent(c) > FormatOf<F>::kBias + 1;
  F down = whole * T::kDown;
  if ((get_mxcsr() >> 13 & 3) == 0) {
    // A denormal quotient is rounded to nearest a second time. Where that was a tie, what the first rounding
    // left out decides which way it goes.
    const F lost = whole - down * T::kUp, left = fused(a, b, c - whole);
    const auto upward = (lost == T::kHalfOfLeast) & (left > 0),
               downward = (lost == -T::kHalfOfLeast) & (left < 0);
    down = select(upward, down + T::kLeastDenormal, select(downward, down - T::kLeastDenormal, down));
  }
  return select(scales, select(large, whole * T::kUp, down), whole);
}

/// The quotient, or what it is where that is no matter of arithmetic.
template <class F>
F fixed_up(F quotient, F denominator, F numerator, bool can_underflow) {
  using T = Traits<F>;
  using Fm = FormatOf<F>;
  using B = BitsOf<F>;
  const B q = bits_as<B>(quotient), d = bits_as<B>(denominator), n = bits_as<B>(numerator);
  const B zero{}, sign = (d ^ n) & Fm::kSign;
  const auto d_zero = denominator == 0, n_zero = numerator == 0;
  const auto d_infinite = (d & Fm::kMagnitude) == Fm::kInfinity,
             n_infinite = (n & Fm::kMagnitude) == Fm::kInfinity;
  B result = (q & Fm::kMagnitude) | sign;
  if (can_underflow) {  // Half of the least number: MXCSR says which way it goes.
    const auto underflow = biased_exponent(numerator) - biased_exponent(denominator) < T::kUnderflow;
    const F signed_least = bits_as<F>((zero + Fm::kDenormals) | sign);
    result = bits_as<B>(select(underflow, signed_least * T::kLeast, bits_as<F>(result)));
    const auto overflow = biased_exponent(numerator) - biased_exponent(denominator) > Fm::kBias;
    const auto lost = overflow & (quotient != quotient);
    result = bits_as<B>(select(lost, bits_as<F>(sign | Fm::kInfinity), bits_as<F>(result)));
  }
  result = bits_as<B>(select(d_infinite | n_zero, bits_as<F>(sign), bits_as<F>(result)));
  result = bits_as<B>(select(d_zero | n_infinite, bits_as<F>(sign | Fm::kInfinity), bits_as<F>(result)));
  const B invalid = zero + (Fm::kSign | Fm::kInfinity | Fm::kQuiet);
  const auto is_invalid = (d_zero & n_zero) | (d_infinite & n_infinite);
  result = bits_as<B>(select(is_invalid, bits_as<F>(invalid), bits_as<F>(result)));
  result = bits_as<B>(select(denominator != denominator, bits_as<F>(d | Fm::kQuiet), bits_as<F>(result)));
  result = bits_as<B>(select(numerator != numerator, bits_as<F>(n | Fm::kQuiet), bits_as<F>(result)));
  return bits_as<F>(result);
}

// As single precision, in which no half is denormal; no quotient of two of them underflows there.
Half fixed_up_half(Half quotient, Half denominator, Half numerator) {
  return {fixed_up(quotient.v, denominator.v, numerator.v, false)};
}

/// 2/pi: 1280 binary digits after the point, the 1201 of the hardware and zeros.
constexpr uint64_t kTwoOverPi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0x0000000000000000};

// x * 2^scale with one rounding, for 53 digits before the point. Not by the library's function, which compiled kernels cannot call.
double scaled_by(double x, int scale) {
  scale = std::max(scale, -1200);  // below that all is lost anyway
  const auto power = [](int of) { return std::bit_cast<double>(static_cast<uint64_t>(of + 1023) << 52); };
  return x * power(scale / 2) * power(scale - scale / 2);
}

// 53 digits of 2/pi, from where the argument's exponent and the segment say.
F64 trig_preop(F64 a, U32h segment) {
  F64 result;
  const U64 bits = bits_as<U64>(a);
  for (int lane = 0; lane < kLanes / 2; ++lane) {
    const int exponent = static_cast<int>(bits[lane] >> 52 & 0x7ff);
    int shift = static_cast<int>(segment[lane] & 31) * 53;
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t digits = 0;
    if (const auto word = static_cast<unsigned>(shift) / 64, at = static_cast<unsigned>(shift) % 64;
        word < 19) {
      const uint64_t next = at == 0 ? 0 : kTwoOverPi[word + 1] >> (64 - at);
      digits = (kTwoOverPi[word] << at | next) >> 11;
    }
    int scale = -53 - shift;
    if (exponent >= 1968) scale += 128;
    result[lane] = scaled_by(static_cast<double>(digits), scale);
  }
  return result;
}

constexpr Entry kTable[] = {
    rare<scale<F32>>(Op::v_div_scale_f32, Raises::kNothing),
    rare<scale<F64>>(Op::v_div_scale_f64, Raises::kNothing),
    rare<([](F32 a, F32 b, F32 c, Mask mask) { return scaled_fma(a, b, c, mask.lanes()); })>(
        Op::v_div_fmas_f32, Raises::kDivFmas),
    rare<([](F64 a, F64 b, F64 c, Mask64 mask) { return scaled_fma(a, b, c, mask.lanes()); })>(
        Op::v_div_fmas_f64, Raises::kDivFmas),
    rare<([](F32 a, F32 b, F32 c) { return fixed_up(a, b, c, true); })>(Op::v_div_fixup_f32,
                                                                        Raises::kDivFixup),
    rare<([](F64 a, F64 b, F64 c) { return fixed_up(a, b, c, true); })>(Op::v_div_fixup_f64,
                                                                        Raises::kDivFixup),
    rare<fixed_up_half>(Op::v_div_fixup_f16, Raises::kDivFixup),
    rare<fixed_up_half>(Op::v_div_fixup_legacy_f16, Raises::kDivFixup),
    rare<trig_preop>(Op::v_trig_preop_f64, Raises::kNothing),
};

}  // namespace

Table division_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
