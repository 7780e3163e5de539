#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

// Multiplies the mantissa by two powers of two: the first product is exact, the second rounds.
F64 scaled(F64 a, I32h steps) {
  const auto parts = parts_of(a);
  I64 exponent = parts.exponent + convert<I64>(steps);
  exponent = exponent > 1100 ? I64{} + 1100 : exponent < -1200 ? I64{} - 1200 : exponent;
  const I64 first = exponent > 1000 ? I64{} + 1000 : exponent < -1021 ? I64{} - 1021 : exponent;
  return parts.mantissa * power_of_two(first) * power_of_two(exponent - first);
}

constexpr Entry kTable[] = {
    hot<([](F64 a, F64 b) { return sum(a, b); })>(Op::v_add_f64),
    hot<([](F64 a, F64 b) { return product(a, b); })>(Op::v_mul_f64),
    hot<([](F64 a, F64 b, F64 c) { return product_sum(a, b, c); })>(Op::v_fma_f64),
    rare<([](F64 a, F64 b, F64 c) { return product_sum(a, b, c); })>(Op::v_fmac_f64),
    return_operand(rare<extreme_of<false, F64>>(Op::v_min_f64)),
    return_operand(rare<extreme_of<true, F64>>(Op::v_max_f64)),
    return_operand(rare<nan_or_extreme<false, F64>>(Op::v_minimum_f64)),
    return_operand(rare<nan_or_extreme<true, F64>>(Op::v_maximum_f64)),
    rare<rounded<Rounding::kDown, F64>>(Op::v_floor_f64),
    rare<rounded<Rounding::kUp, F64>>(Op::v_ceil_f64),
    rare<rounded<Rounding::kTowardZero, F64>>(Op::v_trunc_f64),
    rare<rounded<Rounding::kNearestEven, F64>>(Op::v_rndne_f64),
    rare<fraction<F64>>(Op::v_fract_f64),
    rare<([](F64 a) { return convert<I32h>(parts_of(a).exponent); })>(Op::v_frexp_exp_i32_f64),
    rare<([](F64 a) { return parts_of(a).mantissa; })>(Op::v_frexp_mant_f64),
    rare<scaled>(Op::v_ldexp_f64),
};

}  // namespace

Table float64_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
