// Reciprocals, roots, exponentials, logarithms, sine and cosine. The hardware's results are not specified
// exactly. These are within one ulp; single precision is computed in double and mostly within half an ulp.
// Comments of polynomials state the relative error.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <class F>
F reciprocal(F a) {
  return quotient(F{} + 1, a);
}

// 1 / sqrt(a) has two rounding errors, which can exceed one ulp. A Newton step reduces them to half of a
// product's error.
template <class F>
F reciprocal_root(F a) {
  const F estimate = quotient(F{} + 1, square_root(a));
  // Not -(a * estimate): LLVM turns that into -a * estimate, which differs unless MODE rounds to nearest.
  const F error = fused(a * estimate, -estimate, F{} + 1);
  const F refined = fused(estimate * 0.5f, error, estimate);
  return refined == refined ? refined : estimate;  // zeros, infinities
}

template <size_t N>
[[gnu::always_inline]] inline F64 polynomial(F64 x, const double (&coefficients)[N]) {
  F64 sum = F64{} + coefficients[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// 2^x: series of e^(x ln 2) for the fraction of at most 1/2, error 2e-10.
F64 power_of(F64 x) {
  static constexpr double kSeries[] = {1.0,
                                       0.69314718055994530942,
                                       0.24022650695910071233,
                                       0.05550410866482157995,
                                       0.00961812910762847716,
                                       0.00133335581464284434,
                                       0.00015403530393381610,
                                       0.00001525273380405984,
                                       0.00000132154867901443};
  x = x > -300 ? x : F64{} - 300;
  x = x < 300 ? x : F64{} + 300;
  const F64 whole = round_to_integer<Rounding::kNearestEven>(x);
  // The low digits of 1.5 * 2^52 + n are n.
  const I64 exponent = bits_as<I64>(whole + 0x1.8p52);
  return polynomial(x - whole, kSeries) * bits_as<F64>((exponent + 1023) << 52);
}

F32 exponential(F32 a) {
  F32 result = in_double(a, power_of);
  const F32 infinity = F32{} + __builtin_inff();
  result = a == infinity ? a : result;
  result = a == -infinity ? F32{} : result;
  return a == a ? result : a;
}

// log2: the exponent, plus the series of the inverse hyperbolic tangent for a mantissa near 1, error 1e-11.
F64 logarithm_of(F64 x) {
  static constexpr double kSeries[] = {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11};
  const U64 bits = bits_as<U64>(x);
  // Mantissas above sqrt(2) are halved, with the next exponent.
  const U64 offset = bits - 0x3fe6a09e667f3bcd;
  const I64 exponent = bits_as<I64>(offset) >> 52;
  const F64 mantissa = bits_as<F64>(bits - (bits_as<U64>(exponent) << 52));
  const F64 s = (mantissa - 1) / (mantissa + 1);
  const F64 fraction = s * polynomial(s * s, kSeries) * 2.88539008177792681472;
  // Converts integers below 2^51 in magnitude to double.
  const F64 whole = bits_as<F64>(exponent + 0x4338000000000000) - 0x1.8p52;
  return whole + fraction;
}

F32 logarithm(F32 a) {
  F32 result = in_double(a, logarithm_of);
  const F32 infinity = F32{} + __builtin_inff();
  result = a == infinity ? a : result;
  result = a == 0 ? -infinity : result;
  const U32 invalid = U32{} + 0xffc00000;
  result = a < 0 ? bits_as<F32>(invalid) : result;
  return a == a ? result : a;
}

// sin(2 pi r) for r within a quarter turn: series up to the 17th power, error 7e-13.
F64 sine_of_quarter(F64 r) {
  static constexpr double kSeries[] = {1.0,
                                       -1.0 / 6,
                                       1.0 / 120,
                                       -1.0 / 5040,
                                       1.0 / 362880,
                                       -1.0 / 39916800,
                                       1.0 / 6227020800,
                                       -1.0 / 1307674368000,
                                       1.0 / 355687428096000};
  const F64 y = r * 6.28318530717958647693;
  return y * polynomial(y * y, kSeries);
}

F64 absolute(F64 x) {
  return bits_as<F64>(bits_as<U64>(x) & 0x7fffffffffffffff);
}

// Arguments count turns; subtracting whole turns is exact.
F64 sine_of(F64 x) {
  const F64 rest = x - round_to_integer<Rounding::kNearestEven>(x);
  const F64 mirrored = (rest < 0 ? F64{} - 0.5 : F64{} + 0.5) - rest;
  const F64 quarter = absolute(rest) > 0.25 ? mirrored : rest;
  // Not x: compilers would use the single-precision source instead of its zero. The CPU treats a denormal
  // source as zero in comparisons.
  const F64 zero = bits_as<F64>(bits_as<U64>(x) & 0x8000000000000000);
  return x == 0 ? zero : sine_of_quarter(quarter);
}
F64 cosine_of(F64 x) {
  const F64 rest = x - round_to_integer<Rounding::kNearestEven>(x);
  return sine_of_quarter(0.25 - absolute(rest));
}

// Before gfx10, angles outside [-256, 256] count as 0.
F32 within_turns(F32 a, F32 result, float result_of_zero, Control control) {
  const F32 magnitude = bits_as<F32>(bits_as<U32>(a) & 0x7fffffff);
  const I32 is_outside = (magnitude > 256) & (magnitude < __builtin_inff());
  return control.knows_few_turns() ? select(is_outside, F32{} + result_of_zero, result) : result;
}
F32 sine(F32 a, Control control) {
  return within_turns(a, in_double(a, sine_of), 0, control);
}
F32 cosine(F32 a, Control control) {
  return within_turns(a, in_double(a, cosine_of), 1, control);
}

template <F32 (*Fn)(F32)>
Half of_half(Half a) {
  return {Fn(a.v)};
}
template <F32 (*Fn)(F32, Control)>
Half angle_of_half(Half a, Control control) {
  return {Fn(a.v, control)};
}

// FP16_OVFL distinguishes infinity from overflow. Values that overflow as a half must therefore not
// overflow in single precision.
Half exponential_of_half(Half a) {
  const I32 overflows = (a.v > 64) & (a.v < __builtin_inff());
  return {exponential(select(overflows, F32{} + 64, a.v))};
}

F32 root(F32 a) {
  return square_root(a);
}

/// Computed in double: directed rounding would only result in wrong signs of zeros.
constexpr Entry to_nearest(Entry entry) {
  return with_unit(entry, FloatUnit::kNearest);
}

constexpr Entry kTable[] = {
    rare<reciprocal<F32>>(Op::v_rcp_f32),
    rare<reciprocal<F32>>(Op::v_rcp_iflag_f32),
    rare<reciprocal<F64>>(Op::v_rcp_f64),
    rare<of_half<reciprocal<F32>>>(Op::v_rcp_f16),
    rare<reciprocal_root<F32>>(Op::v_rsq_f32),
    rare<reciprocal_root<F64>>(Op::v_rsq_f64),
    rare<of_half<reciprocal_root<F32>>>(Op::v_rsq_f16),
    rare<root>(Op::v_sqrt_f32),
    rare<([](F64 a) { return square_root(a); })>(Op::v_sqrt_f64),
    rare<of_half<root>>(Op::v_sqrt_f16),
    to_nearest(rare<exponential>(Op::v_exp_f32)),
    to_nearest(rare<exponential>(Op::v_exp_legacy_f32)),
    rare<exponential_of_half>(Op::v_exp_f16),
    to_nearest(rare<logarithm>(Op::v_log_f32)),
    to_nearest(rare<logarithm>(Op::v_log_legacy_f32)),
    rare<of_half<logarithm>>(Op::v_log_f16),
    to_nearest(rare<sine>(Op::v_sin_f32)),
    rare<angle_of_half<sine>>(Op::v_sin_f16),
    to_nearest(rare<cosine>(Op::v_cos_f32)),
    rare<angle_of_half<cosine>>(Op::v_cos_f16),
};

}  // namespace

Table transcendental_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
