// Steps of a division that compilers emit: div_scale, div_fmas, div_fixup. Also trig_preop.
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
  static constexpr int kTooFar = 96;  ///< minimum exponent difference of a quotient near overflow
  static constexpr int kTiny = 23;    ///< maximum biased exponent of a numerator that loses bits
  static constexpr int kUnderflow = -150;
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f, kLeast = 0x1p-126f;
  static constexpr float kLeastDenormal = 0x1p-149f, kHalfOfLeast = 0x1p-86f;  ///< half of it, times kUp
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

// Whether both numbers, in all lanes, are so close to 1 that no step of a division scales.
template <class F>
bool are_ordinary(F x, F y) {
  using T = Traits<F>;
  constexpr int kOne = FormatOf<F>::kBias + 1, kNear = T::kTooFar / 2 - 1;
  const auto distance_from_one = [](F value) { return biased_exponent(value) - kOne; };
  const auto is_far = [&](F value) {
    return (distance_from_one(value) > kNear) | (distance_from_one(value) < -kNear);
  };
  return !any_of(is_far(x) | is_far(y));
}

// v_div_scale: S0 (`value`) is a copy of the denominator S1 or of the numerator S2 and selects which of them
// is scaled. If a lane's test is true, v_div_fmas reverses the scaling.
//
// If these steps are executed as the manuals describe them, the quotient is wrong in three cases. This code
// computes the correct quotient, as observed hardware does:
//   * If both 1/d and n/d are denormal, the denominator is scaled down. Scaled up, as the manuals specify,
//     it would be infinite.
//   * v_div_fmas scales up by 2^64 (double: 2^128) if its addend is at least 2, otherwise down. If
//     v_div_scale has scaled the denominator up, a quotient near overflow is too small. If it has scaled the
//     numerator up or the denominator down, a denormal quotient is too large.
//   * If an intermediate step overflows, v_div_fixup receives a NaN as the quotient and returns infinity.
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
  const auto is_zero = (numerator == 0) | (denominator == 0);
  const auto finite = (n_magnitude < Fm::kInfinity) & (d_magnitude < Fm::kInfinity);
  const auto is_far = biased_exponent(numerator) - biased_exponent(denominator) >= T::kTooFar;
  const auto d_denormal = (d_magnitude < Fm::kDenormals) & (d_magnitude != 0);
  // Whether 1 / d and n / d are denormal. The quotient's exponent is the difference, minus one if its
  // mantissa is below 1.
  const F d_absolute = bits_as<F>(d_magnitude);
  const auto inverse_denormal = (d_absolute > 1 / (F{} + T::kLeast)) & (d_magnitude < Fm::kInfinity);
  const auto smaller =
      (bits_as<BitsOf<F>>(n.mantissa) & Fm::kMagnitude) < (bits_as<BitsOf<F>>(d.mantissa) & Fm::kMagnitude);
  const auto quotient_exponent = n.exponent - d.exponent + smaller;
  const auto quotient_denormal = finite & ~is_zero & (quotient_exponent < -Fm::kBias);
  const auto numerator_tiny = biased_exponent(numerator) <= T::kTiny;
  const auto is_denominator = value == denominator, is_numerator = value == numerator;

  // The first condition that applies decides.
  const auto test = is_far | (~d_denormal & quotient_denormal);
  const auto both = inverse_denormal & quotient_denormal;
  const auto up = (is_far & is_denominator) | (~is_far & d_denormal) |
                  (~is_far & ~d_denormal & ~inverse_denormal & quotient_denormal & is_numerator) |
                  (~is_far & ~d_denormal & ~inverse_denormal & ~quotient_denormal & numerator_tiny);
  const auto down =
      ~is_far & ~d_denormal & ((inverse_denormal & ~quotient_denormal) | (both & is_denominator));
  F result = select(up, value * T::kUp, select(down, value * T::kDown, value));
  const BitsOf<F> nan = BitsOf<F>{} + (Fm::kInfinity | Fm::kQuiet);
  result = select(is_zero, bits_as<F>(nan), result);
  return {result, {test & ~is_zero}};
}

template <class F>
F scaled_fma(F a, F b, F c, decltype(F{} == F{}) scales) {
  const F whole = product_sum(a, b, c);
  // The exponent fields are compared: an infinity or NaN counts as large, and scaling up does not change it.
  using T = Traits<F>;
  const auto large = biased_exponent(c) > FormatOf<F>::kBias + 1;
  F down = whole * T::kDown;
  if ((get_mxcsr() >> 13 & 3) == 0) {
    // Rounding to nearest: the FMA and the scaling both round a denormal quotient. If the second rounding is
    // a tie, the error of the first one decides the direction.
    const F rounding_error = whole - down * T::kUp, fma_error = fused(a, b, c - whole);
    const auto upward = (rounding_error == T::kHalfOfLeast) & (fma_error > 0),
               downward = (rounding_error == -T::kHalfOfLeast) & (fma_error < 0);
    down = select(upward, down + T::kLeastDenormal, select(downward, down - T::kLeastDenormal, down));
  }
  return select(scales, select(large, whole * T::kUp, down), whole);
}

/// Returns the quotient, or the result of special operands.
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
  if (can_underflow) {  // The product is tiny: MXCSR's rounding mode selects 0 or a denormal.
    const auto underflow = biased_exponent(numerator) - biased_exponent(denominator) < T::kUnderflow;
    const F signed_smallest_normal = bits_as<F>((zero + Fm::kDenormals) | sign);
    result = bits_as<B>(select(underflow, signed_smallest_normal * T::kLeast, bits_as<F>(result)));
    const auto overflow = biased_exponent(numerator) - biased_exponent(denominator) > Fm::kBias;
    const auto overflowed_to_nan = overflow & (quotient != quotient);
    result = bits_as<B>(select(overflowed_to_nan, bits_as<F>(sign | Fm::kInfinity), bits_as<F>(result)));
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

// Halves are computed in single precision, in which they are normal numbers and quotients do not underflow.
Half fixed_up_half(Half quotient, Half denominator, Half numerator) {
  return {fixed_up(quotient.v, denominator.v, numerator.v, false)};
}

/// 2/pi: 1280 binary digits after the point. The hardware has 1201 of them; the rest are zeros.
constexpr uint64_t kTwoOverPi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0x0000000000000000};

// Returns x * 2^scale with one rounding. `x` is an integer below 2^53. Compiled kernels cannot call ldexp()
// of the C library.
double scaled_by(double x, int scale) {
  scale = std::max(scale, -1200);  // smaller results are 0 in any case
  const auto power = [](int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  };
  return x * power(scale / 2) * power(scale - scale / 2);
}

// Returns 53 digits of 2/pi, from a position that depends on the argument's exponent and the segment.
F64 trig_preop(F64 a, U32h segment) {
  F64 result;
  const U64 bits = bits_as<U64>(a);
  for (int lane = 0; lane < kLanes / 2; ++lane) {
    const int exponent = static_cast<int>(bits[lane] >> 52 & 0x7ff);
    int shift = static_cast<int>(segment[lane] & 31) * 53;
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t digits = 0;
    if (const auto word = static_cast<unsigned>(shift) / 64, bit = static_cast<unsigned>(shift) % 64;
        word < 19) {
      const uint64_t next = bit == 0 ? 0 : kTwoOverPi[word + 1] >> (64 - bit);
      digits = (kTwoOverPi[word] << bit | next) >> 11;
    }
    int scale = -53 - shift;
    if (exponent >= 1968) scale += 128;
    result[lane] = scaled_by(static_cast<double>(digits), scale);
  }
  return result;
}

constexpr Entry kTable[] = {
    rare<scale<F32>>(Op::v_div_scale_f32),
    rare<scale<F64>>(Op::v_div_scale_f64),
    rare<([](F32 a, F32 b, F32 c, Mask mask) { return scaled_fma(a, b, c, mask.lanes()); })>(
        Op::v_div_fmas_f32),
    rare<([](F64 a, F64 b, F64 c, Mask64 mask) { return scaled_fma(a, b, c, mask.lanes()); })>(
        Op::v_div_fmas_f64),
    rare<([](F32 a, F32 b, F32 c) { return fixed_up(a, b, c, true); })>(Op::v_div_fixup_f32),
    rare<([](F64 a, F64 b, F64 c) { return fixed_up(a, b, c, true); })>(Op::v_div_fixup_f64),
    rare<fixed_up_half>(Op::v_div_fixup_f16),
    rare<fixed_up_half>(Op::v_div_fixup_legacy_f16),
    rare<trig_preop>(Op::v_trig_preop_f64),
};

}  // namespace

Table division_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
