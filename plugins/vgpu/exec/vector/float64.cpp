// Double precision.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <bool Max>
F64 extreme64(F64 a, F64 b, Control control) {
  return bits_as<F64>(
      extreme<Format64, Max>(bits_as<U64>(a), bits_as<U64>(b), control.ieee(), control.flush_inputs16()));
}

F64 flushed(F64 a, Control control) {
  return control.flush_inputs16() ? bits_as<F64>(flush_denormals<Format64>(bits_as<U64>(a))) : a;
}

template <Rounding R>
F64 rounded(F64 a, Control control) {
  return round_to_integer<R>(flushed(a, control));
}

// The mantissa times two powers: the first product is exact, the second rounds.
F64 scaled(F64 a, I32h steps) {
  const DoubleParts parts = parts_of(a);
  I64 exponent = parts.exponent + convert<I64>(steps);
  exponent = exponent > 1100 ? I64{} + 1100 : exponent < -1200 ? I64{} - 1200 : exponent;
  const I64 first = exponent > 1000 ? I64{} + 1000 : exponent < -1021 ? I64{} - 1021 : exponent;
  return parts.mantissa * power_of_two(first) * power_of_two(exponent - first);
}

constexpr Entry kTable[] = {
    hot<([](F64 a, F64 b) { return sum(a, b); })>(Op::v_add_f64, Raises::kSum),
    hot<([](F64 a, F64 b) { return product(a, b); })>(Op::v_mul_f64, Raises::kProduct),
    hot<([](F64 a, F64 b, F64 c) { return product_sum(a, b, c); })>(Op::v_fma_f64, Raises::kFused),
    rare<([](F64 a, F64 b, F64 c) { return product_sum(a, b, c); })>(Op::v_fmac_f64, Raises::kFused),
    rare<extreme64<false>>(Op::v_min_f64, Raises::kExtreme),
    rare<extreme64<true>>(Op::v_max_f64, Raises::kExtreme),
    rare<rounded<Rounding::kDown>>(Op::v_floor_f64),
    rare<rounded<Rounding::kUp>>(Op::v_ceil_f64),
    rare<rounded<Rounding::kTowardZero>>(Op::v_trunc_f64),
    rare<rounded<Rounding::kNearestEven>>(Op::v_rndne_f64),
    rare<([](F64 a, Control control) {
      a = flushed(a, control);
      const F64 part = a - round_to_integer<Rounding::kDown>(a);
      return part >= 1 ? F64{} + 0x1.fffffffffffffp-1 : part;
    })>(Op::v_fract_f64),
    rare<([](F64 a) { return convert<I32h>(parts_of(a).exponent); })>(Op::v_frexp_exp_i32_f64),
    rare<([](F64 a) { return parts_of(a).mantissa; })>(Op::v_frexp_mant_f64, Raises::kNothing),
    rare<scaled>(Op::v_ldexp_f64, Raises::kScaled),
};

}  // namespace

Table float64_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
