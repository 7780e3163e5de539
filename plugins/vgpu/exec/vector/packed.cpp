// VOP3P: two halves or two 16-bit integers per lane, and mixed-precision operations.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <auto Fn>
constexpr Entry halves(Op op) {
  Entry entry = packed_floats<Fn>(op);
  entry.fast[kInOrder] = packed_rows<Fn, false>;
  entry.fast[kSelected] = packed_rows<Fn, true>;
  return with_unit(entry, FloatUnit::kNearest);
}
template <auto Fn>
constexpr Entry mix(Op op, FloatUnit unit = FloatUnit::kNone) {
  Entry entry = packed_floats<Fn>(op);
  entry.form = Form::kMix;
  entry.fast[kSelected] = packed_rows<Fn, true>;
  return with_unit(entry, unit);
}
// The result replaces one half; the other is kept.
constexpr Entry write_half(uint32_t half, Entry entry) {
  entry.fixed_aux = half;
  return entry;
}

template <auto Fn>
Singles each(Singles a, Singles b, Control control) {
  return {Fn(a.a, b.a, control), Fn(a.b, b.b, control)};
}
template <auto Fn>
Singles each3(Singles a, Singles b, Singles c, Control control) {
  return {Fn(a.a, b.a, c.a, control), Fn(a.b, b.b, c.b, control)};
}

F32 add(F32 a, F32 b, Control control) {
  return in_order(half_sum(a, b, control.round16()), a, b);
}
F32 mul(F32 a, F32 b, Control) {
  return product(a, b);
}
F32 fma(F32 a, F32 b, F32 c, Control control) {
  return in_order(fused_half(a, b, c, control.round16()), a, b, c);
}

template <bool Max, bool NanWins = false>
Packed extreme16(Packed a, Packed b, Control control) {
  const NanRule rule = NanWins ? NanRule::kNanWins : control.nan_rule();
  const auto extreme_half = [&](U32 x, U32 y) __attribute__((always_inline)) {
    return extreme<Format16, Max>(x, y, rule, control.flush_inputs16());
  };
  U32 result =
      extreme_half(a.bits & 0xffff, b.bits & 0xffff) | (extreme_half(a.bits >> 16, b.bits >> 16) << 16);
  if ((control.aux & aux::kClamp) != 0) result = repacked(unpacked(result, control), control);
  return {result};
}

F32 fma_mix(Mixed a, Mixed b, Mixed c) {
  return product_sum(a.v, b.v, c.v);
}
F32 mad_mix(Mixed a, Mixed b, Mixed c) {
  return sum(product(a.v, b.v), c.v);
}
/// A result that overflowed to infinity in single precision, from finite operands, also overflows as a
/// half.
template <auto Fn>
Half to_half(Mixed a, Mixed b, Mixed c, Control control) {
  const F32 result = Fn(a, b, c);
  if (!control.finite_halves()) return {result};
  const auto is_infinite = [](F32 x) { return (bits_as<U32>(x) & 0x7fffffff) == 0x7f800000; };
  const I32 overflow =
      bits_as<I32>(is_infinite(result) & ~(is_infinite(a.v) | is_infinite(b.v) | is_infinite(c.v)));
  const U32 largest = (bits_as<U32>(result) & 0x80000000) | 0x477fe000;
  return {bits_as<F32>(select(overflow, largest, bits_as<U32>(result)))};
}

U16x2 add_clamped(U16x2 a, U16x2 b) {
  const U16x2 sum = a + b;
  return sum | bits_as<U16x2>(sum < a);
}
U16x2 sub_clamped(U16x2 a, U16x2 b) {
  return (a - b) & bits_as<U16x2>(a > b);
}
I16x2 add_clamped_signed(I16x2 a, I16x2 b) {
  const I16x2 sum = bits_as<I16x2>(bits_as<U16x2>(a) + bits_as<U16x2>(b));
  return ((a ^ sum) & (b ^ sum)) < 0 ? (a >> 15) ^ 0x7fff : sum;
}
I16x2 sub_clamped_signed(I16x2 a, I16x2 b) {
  const I16x2 difference = bits_as<I16x2>(bits_as<U16x2>(a) - bits_as<U16x2>(b));
  return ((a ^ b) & (a ^ difference)) < 0 ? (a >> 15) ^ 0x7fff : difference;
}

// Computed separately for both halves, in 32 bits.
I16x2 mad_clamped_signed(I16x2 a, I16x2 b, I16x2 c) {
  const auto low = [](I16x2 x) { return (bits_as<I32>(x) << 16) >> 16; };
  const auto high = [](I16x2 x) { return bits_as<I32>(x) >> 16; };
  const I32 result_low = limited(low(a) * low(b) + low(c), -0x8000, 0x7fff);
  const I32 result_high = limited(high(a) * high(b) + high(c), -0x8000, 0x7fff);
  return bits_as<I16x2>((result_low & 0xffff) | (result_high << 16));
}
U16x2 mad_clamped(U16x2 a, U16x2 b, U16x2 c) {
  const auto low = [](U16x2 x) { return bits_as<U32>(x) & 0xffff; };
  const auto high = [](U16x2 x) { return bits_as<U32>(x) >> 16; };
  const U32 result_low = min_of(low(a) * low(b) + low(c), U32{} + 0xffff);
  const U32 result_high = min_of(high(a) * high(b) + high(c), U32{} + 0xffff);
  return bits_as<U16x2>(result_low | (result_high << 16));
}

I16x2 as_signed(U16x2 a) {
  return bits_as<I16x2>(a);
}
U16x2 as_unsigned(I16x2 a) {
  return bits_as<U16x2>(a);
}

constexpr Entry kTable[] = {
    halves<each<add>>(Op::v_pk_add_f16),
    halves<each<mul>>(Op::v_pk_mul_f16),
    halves<each3<fma>>(Op::v_pk_fma_f16),
    halves<each3<fma>>(Op::v_pk_fmac_f16),
    return_operand(packed_floats<extreme16<false>>(Op::v_pk_min_f16)),
    return_operand(packed_floats<extreme16<true>>(Op::v_pk_max_f16)),
    return_operand(packed_floats<extreme16<false, true>>(Op::v_pk_minimum_f16)),
    return_operand(packed_floats<extreme16<true, true>>(Op::v_pk_maximum_f16)),

    saturating<add_clamped>(packed_entry<([](U16x2 a, U16x2 b) { return a + b; })>(Op::v_pk_add_u16)),
    saturating<sub_clamped>(packed_entry<([](U16x2 a, U16x2 b) { return a - b; })>(Op::v_pk_sub_u16)),
    saturating<add_clamped_signed>(packed_entry<([](U16x2 a, U16x2 b) { return a + b; })>(Op::v_pk_add_i16)),
    saturating<sub_clamped_signed>(packed_entry<([](U16x2 a, U16x2 b) { return a - b; })>(Op::v_pk_sub_i16)),
    packed_entry<([](U16x2 a, U16x2 b) { return a * b; })>(Op::v_pk_mul_lo_u16),
    saturating<mad_clamped>(
        packed_entry<([](U16x2 a, U16x2 b, U16x2 c) { return a * b + c; })>(Op::v_pk_mad_u16)),
    saturating<mad_clamped_signed>(
        packed_entry<([](U16x2 a, U16x2 b, U16x2 c) { return a * b + c; })>(Op::v_pk_mad_i16)),
    packed_entry<([](U16x2 a, U16x2 b) { return b << (a & 15); })>(Op::v_pk_lshlrev_b16),
    packed_entry<([](U16x2 a, U16x2 b) { return b >> (a & 15); })>(Op::v_pk_lshrrev_b16),
    packed_entry<([](U16x2 a, U16x2 b) { return as_unsigned(as_signed(b) >> as_signed(a & 15)); })>(
        Op::v_pk_ashrrev_i16),
    packed_entry<([](U16x2 a, U16x2 b) { return min_of(a, b); })>(Op::v_pk_min_u16),
    packed_entry<([](U16x2 a, U16x2 b) { return max_of(a, b); })>(Op::v_pk_max_u16),
    packed_entry<([](I16x2 a, I16x2 b) { return min_of(a, b); })>(Op::v_pk_min_i16),
    packed_entry<([](I16x2 a, I16x2 b) { return max_of(a, b); })>(Op::v_pk_max_i16),

    mix<fma_mix>(Op::v_fma_mix_f32),
    write_half(aux::kKeepHigh, mix<to_half<fma_mix>>(Op::v_fma_mixlo_f16)),
    write_half(aux::kHighResult, mix<to_half<fma_mix>>(Op::v_fma_mixhi_f16)),
    mix<mad_mix>(Op::v_mad_mix_f32, FloatUnit::kFlushing),
    write_half(aux::kKeepHigh, mix<to_half<mad_mix>>(Op::v_mad_mixlo_f16, FloatUnit::kFlushing)),
    write_half(aux::kHighResult, mix<to_half<mad_mix>>(Op::v_mad_mixhi_f16, FloatUnit::kFlushing)),
};

}  // namespace

Table packed_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
