// Half precision, one value per lane.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <bool Max>
HalfBits extreme16(HalfBits a, HalfBits b, Control control) {
  return {extreme<Format16, Max>(a.v, b.v, control.nan_rule(), control.flush_inputs16())};
}
template <bool Max>
HalfBits extreme3_16(HalfBits a, HalfBits b, HalfBits c, Control control) {
  return {extreme3<Format16, Max>(a.v, b.v, c.v, control.nan_rule(), control.flush_inputs16())};
}

template <bool MaxFirst>
HalfBits extremes_16(HalfBits a, HalfBits b, HalfBits c, Control control) {
  return extreme16<!MaxFirst>(extreme16<MaxFirst>(a, b, control), c, control);
}

template <bool Max>
HalfBits nan_or_extreme16(HalfBits a, HalfBits b, Control control) {
  return {extreme<Format16, Max>(a.v, b.v, NanRule::kNanWins, control.flush_inputs16())};
}
template <bool MaxFirst, bool MaxLast>
HalfBits nan_or_extremes_16(HalfBits a, HalfBits b, HalfBits c, Control control) {
  return nan_or_extreme16<MaxLast>(nan_or_extreme16<MaxFirst>(a, b, control), c, control);
}

Half add(Half a, Half b, Control control) {
  return {in_order(half_sum(a.v, b.v, control.round16()), a.v, b.v)};
}
// The sign of a NaN does not change.
Half subtract(Half a, Half b, Control control) {
  return {in_order(half_sum(a.v, -b.v, control.round16()), a.v, b.v)};
}

Half fma(Half a, Half b, Half c, Control control) {
  return {in_order(fused_half(a.v, b.v, c.v, control.round16()), a.v, b.v, c.v)};
}

// Not fused: the product is rounded to half. Denormals are flushed in every mode.
Half mad(HalfBits a, HalfBits b, HalfBits c, Control control) {
  const F32 exact = product(half_to_single(flush_half(a.v)), half_to_single(flush_half(b.v)));
  const U32 rounded = flush_half(single_to_half(exact, control.round16()));
  const Half total = add({half_to_single(rounded)}, {half_to_single(flush_half(c.v))}, control);
  return {half_to_single(flush_half(single_to_half(total.v, control.round16())))};
}

template <Rounding R>
Half rounded(Half a) {
  return {round_to_integer<R>(a.v)};
}

constexpr Entry kTable[] = {
    rare<add>(Op::v_add_f16),
    rare<subtract>(Op::v_sub_f16),
    rare<([](Half a, Half b, Control control) { return subtract(b, a, control); })>(Op::v_subrev_f16),
    rare<([](Half a, Half b) { return Half{product(a.v, b.v)}; })>(Op::v_mul_f16),
    rare<fma>(Op::v_fma_f16),
    rare<fma>(Op::v_fma_legacy_f16),
    rare<fma>(Op::v_fmac_f16),
    rare<fma>(Op::v_fmaak_f16),
    rare<fma>(Op::v_fmamk_f16),
    rare<mad>(Op::v_mad_f16),
    rare<mad>(Op::v_mad_legacy_f16),
    rare<mad>(Op::v_mac_f16),
    rare<mad>(Op::v_madak_f16),
    rare<mad>(Op::v_madmk_f16),
    return_operand(rare<extreme16<false>>(Op::v_min_f16)),
    return_operand(rare<extreme16<true>>(Op::v_max_f16)),
    return_operand(rare<extreme3_16<false>>(Op::v_min3_f16)),
    return_operand(rare<extreme3_16<true>>(Op::v_max3_f16)),
    return_operand(rare<extremes_16<false>>(Op::v_minmax_f16)),
    return_operand(rare<extremes_16<true>>(Op::v_maxmin_f16)),
    return_operand(rare<nan_or_extreme16<false>>(Op::v_minimum_f16)),
    return_operand(rare<nan_or_extreme16<true>>(Op::v_maximum_f16)),
    return_operand(rare<nan_or_extremes_16<false, false>>(Op::v_minimum3_f16)),
    return_operand(rare<nan_or_extremes_16<true, true>>(Op::v_maximum3_f16)),
    return_operand(rare<nan_or_extremes_16<true, false>>(Op::v_maximumminimum_f16)),
    return_operand(rare<nan_or_extremes_16<false, true>>(Op::v_minimummaximum_f16)),
    return_operand(rare<([](HalfBits a, HalfBits b, HalfBits c, Control control) {
      return HalfBits{median<Format16>(a.v, b.v, c.v, control.nan_rule(), control.flush_inputs16())};
    })>(Op::v_med3_f16)),
    rare<rounded<Rounding::kDown>>(Op::v_floor_f16),
    rare<rounded<Rounding::kUp>>(Op::v_ceil_f16),
    rare<rounded<Rounding::kTowardZero>>(Op::v_trunc_f16),
    rare<rounded<Rounding::kNearestEven>>(Op::v_rndne_f16),
    rare<([](Half a) {
      const F32 part = a.v - round_to_integer<Rounding::kDown>(a.v);
      return Half{part > 0x1.ffcp-1f ? F32{} + 0x1.ffcp-1f : part};
    })>(Op::v_fract_f16),
    rare<([](Half a) { return I16{parts_of(a.v).exponent}; })>(Op::v_frexp_exp_i16_f16),
    rare<([](Half a) { return Half{parts_of(a.v).mantissa}; })>(Op::v_frexp_mant_f16),
    rare<([](Half a, I16 b) {
      const I32 steps = limited(b.v, -60, 60);
      return Half{a.v * bits_as<F32>((steps + 127) << 23)};
    })>(Op::v_ldexp_f16),
};

}  // namespace

Table float16_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
