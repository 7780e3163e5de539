// Single precision: addition, multiplication, min, max, rounding to integers, parts of numbers.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <bool Max>
F32 extreme3_32(F32 a, F32 b, F32 c, Control control) {
  return bits_as<F32>(extreme3<Format32, Max>(bits_as<U32>(a), bits_as<U32>(b), bits_as<U32>(c),
                                              control.nan_rule(), control.flush_inputs32()));
}

// The first extreme of a and b, the other of that and c.
template <bool MaxFirst>
F32 extremes_32(F32 a, F32 b, F32 c, Control control) {
  return extreme_of<!MaxFirst, F32>(extreme_of<MaxFirst, F32>(a, b, control), c, control);
}

// v_minimum3 and v_maximum3, and v_maximumminimum and v_minimummaximum.
template <bool MaxFirst, bool MaxLast>
F32 nan_or_extremes_32(F32 a, F32 b, F32 c, Control control) {
  return nan_or_extreme<MaxLast, F32>(nan_or_extreme<MaxFirst, F32>(a, b, control), c, control);
}

// DX9 rule: zero times any value is +0.
F32 legacy_product(F32 a, F32 b) {
  const I32 zero = (a == 0) | (b == 0);
  return zero ? F32{} : product(a, b);
}
F32 legacy_product_sum(F32 a, F32 b, F32 c) {
  const I32 zero = (a == 0) | (b == 0);
  return zero ? sum(F32{}, c) : product_sum(a, b, c);
}

F32 magnitude_of(F32 a) {
  return bits_as<F32>(bits_as<U32>(a) & 0x7fffffff);
}
F32 by_major_axis(F32 x, F32 y, F32 z, F32 if_x, F32 if_y, F32 if_z) {
  const F32 ax = magnitude_of(x), ay = magnitude_of(y), az = magnitude_of(z);
  const F32 other = ay >= ax ? if_y : if_x;
  return ((az >= ax) & (az >= ay)) ? if_z : other;
}

// Not fused. Denormals are flushed in every mode; if MXCSR keeps them, this function flushes them.
template <bool Legacy>
F32 mad(F32 a, F32 b, F32 c, Control control) {
  const auto times = [](F32 x, F32 y) { return Legacy ? legacy_product(x, y) : product(x, y); };
  if (control.flushes32()) return sum(times(a, b), c);
  const F32 x = without_denormals(a), y = without_denormals(b);
  F32 part = without_denormals(times(x, y));
  // A product that is the smallest normal number only because of rounding as a denormal is flushed, too.
  const I32 is_smallest_normal = (bits_as<U32>(part) & 0x7fffffff) == 0x800000;
  if (__builtin_expect(mask_bits(is_smallest_normal) != 0, 0)) {
    const I32 is_rounded_up = magnitude_of(x * 0x1p64f * y) < 0x1p-62f;
    part = bits_as<F32>(
        select(is_smallest_normal & is_rounded_up, bits_as<U32>(part) & 0x80000000, bits_as<U32>(part)));
  }
  return without_denormals(sum(part, without_denormals(c)));
}

constexpr Entry kTable[] = {
    hot<([](F32 a, F32 b) { return sum(a, b); })>(Op::v_add_f32),
    hot<([](F32 a, F32 b) { return difference(a, b); })>(Op::v_sub_f32),
    hot<([](F32 a, F32 b) { return difference(b, a); })>(Op::v_subrev_f32),
    hot<([](F32 a, F32 b) { return product(a, b); })>(Op::v_mul_f32),
    rare<legacy_product>(Op::v_mul_legacy_f32),
    hot<([](F32 a, F32 b, F32 c) { return product_sum(a, b, c); })>(Op::v_fma_f32),
    hot<([](F32 a, F32 b, F32 c) { return product_sum(a, b, c); })>(Op::v_fmac_f32),
    rare<([](F32 a, F32 b, F32 c) { return product_sum(a, b, c); })>(Op::v_fmaak_f32),
    rare<([](F32 a, F32 b, F32 c) { return product_sum(a, b, c); })>(Op::v_fmamk_f32),
    rare<legacy_product_sum>(Op::v_fma_legacy_f32),
    rare<legacy_product_sum>(Op::v_fmac_legacy_f32),
    hot<mad<false>>(Op::v_mad_f32),
    hot<mad<false>>(Op::v_mac_f32),
    rare<mad<false>>(Op::v_madak_f32),
    rare<mad<false>>(Op::v_madmk_f32),
    rare<mad<true>>(Op::v_mad_legacy_f32),
    rare<mad<true>>(Op::v_mac_legacy_f32),

    rare<([](F32 a, F32 b, F32 c) {
      constexpr float kLargest = 0x1.fffffep127f;
      const I32 is_unlit =
          (b == -kLargest) | (b == -__builtin_inff()) | (b != b) | (bits_as<I32>(c) <= 0) | (c != c);
      return is_unlit ? F32{} - kLargest : legacy_product(a, b);
    })>(Op::v_mullit_f32),
    return_operand(hot<extreme_of<false, F32>>(Op::v_min_f32)),
    return_operand(hot<extreme_of<true, F32>>(Op::v_max_f32)),
    return_operand(rare<extreme3_32<false>>(Op::v_min3_f32)),
    return_operand(rare<extreme3_32<true>>(Op::v_max3_f32)),
    return_operand(rare<extremes_32<false>>(Op::v_minmax_f32)),
    return_operand(rare<extremes_32<true>>(Op::v_maxmin_f32)),
    return_operand(rare<nan_or_extreme<false, F32>>(Op::v_minimum_f32)),
    return_operand(rare<nan_or_extreme<true, F32>>(Op::v_maximum_f32)),
    return_operand(rare<nan_or_extremes_32<false, false>>(Op::v_minimum3_f32)),
    return_operand(rare<nan_or_extremes_32<true, true>>(Op::v_maximum3_f32)),
    return_operand(rare<nan_or_extremes_32<true, false>>(Op::v_maximumminimum_f32)),
    return_operand(rare<nan_or_extremes_32<false, true>>(Op::v_minimummaximum_f32)),
    return_operand(rare<([](F32 a, F32 b, F32 c, Control control) {
      return bits_as<F32>(median<Format32>(bits_as<U32>(a), bits_as<U32>(b), bits_as<U32>(c),
                                           control.nan_rule(), control.flush_inputs32()));
    })>(Op::v_med3_f32)),

    rare<rounded<Rounding::kDown, F32>>(Op::v_floor_f32),
    rare<rounded<Rounding::kUp, F32>>(Op::v_ceil_f32),
    rare<rounded<Rounding::kTowardZero, F32>>(Op::v_trunc_f32),
    rare<rounded<Rounding::kNearestEven, F32>>(Op::v_rndne_f32),
    rare<fraction<F32>>(Op::v_fract_f32),
    rare<([](F32 a) { return parts_of(a).exponent; })>(Op::v_frexp_exp_i32_f32),
    rare<([](F32 a) { return parts_of(a).mantissa; })>(Op::v_frexp_mant_f32),
    // The product is exact in double precision.
    rare<([](F32 a, I32 b) {
      const I32 steps = limited(b, -300, 300);
      const auto scaled = [](F32h x, I32h exponent) {
        return convert<F32h>(convert<F64>(x) * bits_as<F64>((convert<I64>(exponent) + 1023) << 52));
      };
      return joined<F32>(scaled(low_half<F32h>(a), low_half<I32h>(steps)),
                         scaled(high_half<F32h>(a), high_half<I32h>(steps)));
    })>(Op::v_ldexp_f32),

    // Cube maps: the face, twice the major axis, and the coordinates on the face.
    rare<([](F32 x, F32 y, F32 z) {
      const F32 negative_z = z < 0 ? F32{} + 5 : F32{} + 4;
      const F32 negative_y = y < 0 ? F32{} + 3 : F32{} + 2;
      const F32 negative_x = x < 0 ? F32{} + 1 : F32{};
      return by_major_axis(x, y, z, negative_x, negative_y, negative_z);
    })>(Op::v_cubeid_f32),
    rare<([](F32 x, F32 y, F32 z) { return 2 * by_major_axis(x, y, z, x, y, z); })>(Op::v_cubema_f32),
    rare<([](F32 x, F32 y, F32 z) {
      const F32 on_x = x < 0 ? z : -z;
      const F32 on_z = z < 0 ? -x : x;
      return by_major_axis(x, y, z, on_x, x, on_z);
    })>(Op::v_cubesc_f32),
    rare<([](F32 x, F32 y, F32 z) {
      const F32 on_y = y < 0 ? -z : z;
      return by_major_axis(x, y, z, -y, on_y, -y);
    })>(Op::v_cubetc_f32),
};

}  // namespace

Table float32_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
