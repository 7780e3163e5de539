// Dot products: of two halves, or of two, four or eight integers per lane.
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ocp_bytes.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

template <auto Fn, auto Clamped = nullptr, bool Whole = false>
constexpr Entry dot(Op op) {
  Entry entry = packed_entry<Fn>(op);
  entry.fast[kInOrder] = packed_rows<Fn, false>;
  if (entry.float_result) entry.fast[kFlushing] = packed_rows<Fn, false, aux::kFlushInputs16>;
  entry.whole_sources = Whole;
  if constexpr (!std::is_same_v<decltype(Clamped), std::nullptr_t>) entry = saturating<Clamped>(entry);
  return entry;
}

U32 flush_halves(U32 halves) {
  const auto bits = bits_as<U16x2>(halves);
  return bits_as<U32>((bits & 0x7c00) == 0 ? bits & 0x8000 : bits);
}

// Products are exact; the additions round, in this order. A denormal addend counts as zero in every mode,
// according to LLVM. The sums are not denormal.
F32 dot2_f32(Packed packed_a, Packed packed_b, Addend c, Control control) {
  U32 a = packed_a.bits, b = packed_b.bits, addend = bits_as<U32>(c.v);
  addend = (addend & 0x7f800000) == 0 ? addend & 0x80000000 : addend;
  if (control.flush_inputs16()) a = flush_halves(a), b = flush_halves(b);
  const F32 first =
      sum(bits_as<F32>(addend), product(half_to_single(a & 0xffff), half_to_single(b & 0xffff)));
  return sum(first, product(half_to_single(a >> 16), half_to_single(b >> 16)));
}

/// A pair of halves with the signs that VOP3 gives both of them.
U32 with_signs(Packed a, unsigned index, Control control) {
  U32 bits = a.bits;
  if ((control.aux & (aux::kAbs << index)) != 0) bits = bits & 0x7fff7fff;
  if ((control.aux & (aux::kNeg << index)) != 0) bits = bits ^ 0x80008000;
  return bits;
}

// The products are exact, the sums are singles, and the result is rounded to a half once.
Half dot2_f16(Packed packed_a, Packed packed_b, HalfBits c, Control control) {
  U32 a = with_signs(packed_a, 0, control), b = with_signs(packed_b, 1, control), addend = c.v;
  if (control.flush_inputs16()) a = flush_halves(a), b = flush_halves(b), addend = flush_half(addend);
  const F32 first =
      sum(half_to_single(addend), product(half_to_single(a & 0xffff), half_to_single(b & 0xffff)));
  return {sum(first, product(half_to_single(a >> 16), half_to_single(b >> 16)))};
}

F32 low_bf16(U32 bits) {
  return bits_as<F32>(bits << 16);
}
F32 high_bf16(U32 bits) {
  return bits_as<F32>(bits & 0xffff0000);
}

// Denormals are flushed in every mode (seen on gfx1151), by MXCSR.
F32 dot2_f32_bf16(Packed a, Packed b, Addend c) {
  const F32 first = sum(c.v, product(low_bf16(a.bits), low_bf16(b.bits)));
  return sum(first, product(high_bf16(a.bits), high_bf16(b.bits)));
}

U16 dot2_bf16(Packed packed_a, Packed packed_b, HalfBits c, Control control) {
  const U32 a = with_signs(packed_a, 0, control), b = with_signs(packed_b, 1, control);
  const F32 first = sum(low_bf16(c.v), product(low_bf16(a), low_bf16(b)));
  const U32 total = bits_as<U32>(sum(first, product(high_bf16(a), high_bf16(b))));
  const U32 rounded = (total + 0x7fff + ((total >> 16) & 1)) >> 16;
  const U32 quiet = (total >> 16) | 0x40;
  return {(total & 0x7fffffff) > 0x7f800000 ? quiet : rounded};
}

/// Returns part `index` of `Bits` bits, sign- or zero-extended.
template <int Bits>
I32 signed_part(Packed a, int index) {
  return bits_as<I32>(a.bits << (32 - Bits - Bits * index)) >> (32 - Bits);
}
template <int Bits>
U32 unsigned_part(Packed a, int index) {
  return (a.bits >> (Bits * index)) & ((1u << Bits) - 1);
}

template <int Bits>
I32 signed_products(Packed a, Packed b) {
  I32 sum{};
  for (int i = 0; i < 32 / Bits; ++i) sum += signed_part<Bits>(a, i) * signed_part<Bits>(b, i);
  return sum;
}
template <int Bits>
U32 unsigned_products(Packed a, Packed b) {
  U32 sum{};
  for (int i = 0; i < 32 / Bits; ++i) sum += unsigned_part<Bits>(a, i) * unsigned_part<Bits>(b, i);
  return sum;
}

template <int Bits>
I32 dot_signed(Packed a, Packed b, I32 c) {
  return bits_as<I32>(bits_as<U32>(signed_products<Bits>(a, b)) + bits_as<U32>(c));
}
template <int Bits>
I32 dot_signed_clamped(Packed a, Packed b, I32 c) {
  if constexpr (Bits == 16) {  // The sum of the products can be 1 << 31.
    const I32 low = signed_part<16>(a, 0) * signed_part<16>(b, 0);
    const I32 high = signed_part<16>(a, 1) * signed_part<16>(b, 1);
    const I32 half_sum = (low >> 1) + (high >> 1) + (low & high & 1);
    const I32 odd = (low ^ high) & 1;
    // (low + high + c) / 2, rounded down, determines saturation.
    const I32 c_half = c >> 1, c_odd = c & 1;
    const I32 half_of_total = saturating_add(half_sum, c_half + (odd & c_odd));
    const I32 wrapped = bits_as<I32>(bits_as<U32>(low) + bits_as<U32>(high) + bits_as<U32>(c));
    const I32 too_high = half_of_total > 0x3fffffff, too_low = half_of_total < -0x40000000;
    return too_high ? I32{} + 0x7fffffff : too_low ? I32{} + INT32_MIN : wrapped;
  } else {
    return saturating_add(signed_products<Bits>(a, b), c);
  }
}
template <int Bits>
U32 dot_unsigned(Packed a, Packed b, U32 c) {
  return unsigned_products<Bits>(a, b) + c;
}
template <int Bits>
U32 dot_unsigned_clamped(Packed a, Packed b, U32 c) {
  if constexpr (Bits == 16) {
    const U32 low = unsigned_part<16>(a, 0) * unsigned_part<16>(b, 0);
    const U32 high = unsigned_part<16>(a, 1) * unsigned_part<16>(b, 1);
    return saturating_add(saturating_add(low, high), c);
  } else {
    return saturating_add(unsigned_products<Bits>(a, b), c);
  }
}

// NEG of a source: its parts are signed.
template <int Bits>
I32 mixed_products(Packed a, Packed b, Control control) {
  const bool a_signed = (control.aux & aux::kNeg) != 0, b_signed = (control.aux & aux::kNeg << 1) != 0;
  I32 sum{};
  for (int i = 0; i < 32 / Bits; ++i) {
    const I32 x = a_signed ? signed_part<Bits>(a, i) : bits_as<I32>(unsigned_part<Bits>(a, i));
    const I32 y = b_signed ? signed_part<Bits>(b, i) : bits_as<I32>(unsigned_part<Bits>(b, i));
    sum += x * y;
  }
  return sum;
}
template <int Bits>
I32 dot_mixed(Packed a, Packed b, I32 c, Control control) {
  return bits_as<I32>(bits_as<U32>(mixed_products<Bits>(a, b, control)) + bits_as<U32>(c));
}
template <int Bits>
I32 dot_mixed_clamped(Packed a, Packed b, I32 c, Control control) {
  return saturating_add(mixed_products<Bits>(a, b, control), c);
}
template <int Bits>
constexpr Entry mixed(Op op) {
  Entry entry = saturating<dot_mixed_clamped<Bits>>(packed_entry<dot_mixed<Bits>>(op));
  entry.whole_sources = entry.signed_by_neg = true;
  return entry;
}

template <auto Fn>
constexpr Entry short_dot(Op op, FloatUnit unit) {
  Entry entry = packed_floats<Fn>(op);
  entry.unit = unit;
  return entry;
}

// The products are exact; the additions round, in this order. This is a choice, as is that denormals are
// flushed.
template <bool kIsBf8First, bool kIsBf8Second>
F32 dot4_f32(Packed a, Packed b, AddendWithAbs c) {
  F32 total = c.v;
  for (int i = 0; i < 32; i += 8) {
    total = sum(total, product(from_ocp<kIsBf8First>((a.bits >> i) & 0xff),
                               from_ocp<kIsBf8Second>((b.bits >> i) & 0xff)));
  }
  return total;
}
template <auto Fn>
constexpr Entry dot_of_bytes(Op op) {
  Entry entry = short_dot<Fn>(op, FloatUnit::kFlushing);
  entry.whole_sources = true;
  return entry;
}

constexpr Entry kTable[] = {
    dot_of_bytes<dot4_f32<false, false>>(Op::v_dot4_f32_fp8_fp8),
    dot_of_bytes<dot4_f32<false, true>>(Op::v_dot4_f32_fp8_bf8),
    dot_of_bytes<dot4_f32<true, false>>(Op::v_dot4_f32_bf8_fp8),
    dot_of_bytes<dot4_f32<true, true>>(Op::v_dot4_f32_bf8_bf8),
    dot<dot2_f32>(Op::v_dot2_f32_f16),
    dot<dot2_f32>(Op::v_dot2c_f32_f16),
    with_unit(packed_floats<dot2_f32_bf16>(Op::v_dot2_f32_bf16), FloatUnit::kFlushing),
    short_dot<dot2_f16>(Op::v_dot2_f16_f16, FloatUnit::kNearest),
    short_dot<dot2_bf16>(Op::v_dot2_bf16_bf16, FloatUnit::kFlushing),
    mixed<8>(Op::v_dot4_i32_iu8),
    mixed<4>(Op::v_dot8_i32_iu4),
    dot<dot_signed<16>, dot_signed_clamped<16>>(Op::v_dot2_i32_i16),
    dot<dot_signed<16>, dot_signed_clamped<16>>(Op::v_dot2c_i32_i16),
    dot<dot_unsigned<16>, dot_unsigned_clamped<16>>(Op::v_dot2_u32_u16),
    dot<dot_signed<8>, dot_signed_clamped<8>, true>(Op::v_dot4_i32_i8),
    dot<dot_signed<8>, dot_signed_clamped<8>, true>(Op::v_dot4c_i32_i8),
    dot<dot_unsigned<8>, dot_unsigned_clamped<8>, true>(Op::v_dot4_u32_u8),
    dot<dot_signed<4>, dot_signed_clamped<4>, true>(Op::v_dot8_i32_i4),
    dot<dot_signed<4>, dot_signed_clamped<4>, true>(Op::v_dot8c_i32_i4),
    dot<dot_unsigned<4>, dot_unsigned_clamped<4>, true>(Op::v_dot8_u32_u4),
};

}  // namespace

Table dot_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
