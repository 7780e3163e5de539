#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

U16 limited_unsigned(I32 v) {
  return {bits_as<U32>(limited(v, 0, 0xffff))};
}
I16 limited_signed(I32 v) {
  return {limited(v, -0x8000, 0x7fff)};
}
I32 as_signed(U16 a) {
  return bits_as<I32>(a.v);
}

// Maximum 0xfffe0001 + 0xffff, less than 1 << 32.
U16 mad_u16(U16 a, U16 b, U16 c) {
  return {a.v * b.v + c.v};
}
U16 mad_u16_clamped(U16 a, U16 b, U16 c) {
  return {min_of(a.v * b.v + c.v, U32{} + 0xffff)};
}
I16 mad_i16(I16 a, I16 b, I16 c) {
  return {a.v * b.v + c.v};
}
I16 mad_i16_clamped(I16 a, I16 b, I16 c) {
  return limited_signed(a.v * b.v + c.v);
}

constexpr Entry add_u16(Op op) {
  return saturating<([](U16 a, U16 b) { return limited_unsigned(as_signed(a) + as_signed(b)); })>(
      rare<([](U16 a, U16 b) { return U16{a.v + b.v}; })>(op));
}
constexpr Entry sub_u16(Op op) {
  return saturating<([](U16 a, U16 b) { return limited_unsigned(as_signed(a) - as_signed(b)); })>(
      rare<([](U16 a, U16 b) { return U16{a.v - b.v}; })>(op));
}

// Of the two shifts between the halves, one amount is above 31 and results in 0.
Rows<2> shifted_left(U32 a, Rows<2> b) {
  const auto& [low, high] = b.row;
  const U32 amount = a & 63;
  return {{shift_left(low, amount),
           shift_left(high, amount) | shift_right(low, 32 - amount) | shift_left(low, amount - 32)}};
}
Rows<2> shifted_right(U32 a, Rows<2> b) {
  const auto& [low, high] = b.row;
  const U32 amount = a & 63;
  return {{shift_right(low, amount) | shift_left(high, 32 - amount) | shift_right(high, amount - 32),
           shift_right(high, amount)}};
}
Rows<2> shifted_right_signed(U32 a, Rows<2> b) {
  const U32 amount = a & 63;
  const auto [low, high] = shifted_right(a, b).row;
  const U32 sign = bits_as<U32>(bits_as<I32>(b.row[1]) >> 31);
  // Sign bits shifted in from above.
  const U32 ones = shift_left(sign, 32 - amount), more = shift_left(sign, 64 - amount);
  return {{low | (amount > 32 ? more : U32{}), high | (amount < 32 ? ones : sign)}};
}

constexpr Entry kTable[] = {
    add_u16(Op::v_add_u16),
    add_u16(Op::v_add_nc_u16),
    sub_u16(Op::v_sub_u16),
    sub_u16(Op::v_sub_nc_u16),
    saturating<([](U16 a, U16 b) { return limited_unsigned(as_signed(b) - as_signed(a)); })>(
        rare<([](U16 a, U16 b) { return U16{b.v - a.v}; })>(Op::v_subrev_u16)),
    saturating<([](I16 a, I16 b) { return limited_signed(a.v + b.v); })>(
        rare<([](I16 a, I16 b) { return I16{a.v + b.v}; })>(Op::v_add_i16)),
    saturating<([](I16 a, I16 b) { return limited_signed(a.v - b.v); })>(
        rare<([](I16 a, I16 b) { return I16{a.v - b.v}; })>(Op::v_sub_i16)),
    rare<([](U16 a, U16 b) { return U16{a.v * b.v}; })>(Op::v_mul_lo_u16),
    saturating<mad_u16_clamped>(rare<mad_u16>(Op::v_mad_u16)),
    saturating<mad_u16_clamped>(rare<mad_u16>(Op::v_mad_legacy_u16)),
    saturating<mad_i16_clamped>(rare<mad_i16>(Op::v_mad_i16)),
    saturating<mad_i16_clamped>(rare<mad_i16>(Op::v_mad_legacy_i16)),
    rare<([](U16 a, U16 b) { return U16{b.v << (a.v & 15)}; })>(Op::v_lshlrev_b16),
    rare<([](U16 a, U16 b) { return U16{b.v >> (a.v & 15)}; })>(Op::v_lshrrev_b16),
    rare<([](U16 a, I16 b) { return I16{b.v >> bits_as<I32>(a.v & 15)}; })>(Op::v_ashrrev_i16),
    rare<([](U16 a, U16 b) { return U16{a.v & b.v}; })>(Op::v_and_b16),
    rare<([](U16 a, U16 b) { return U16{a.v | b.v}; })>(Op::v_or_b16),
    rare<([](U16 a, U16 b) { return U16{a.v ^ b.v}; })>(Op::v_xor_b16),
    rare<([](U16 a) { return U16{~a.v}; })>(Op::v_not_b16),
    rare<([](U16 a) { return a; })>(Op::v_mov_b16),
    rare<([](U16 a, U16 b, Mask mask) { return U16{select(mask, b.v, a.v)}; })>(Op::v_cndmask_b16),
    rare<([](I16 a) { return a.v; })>(Op::v_cvt_i32_i16),
    rare<([](U16 a) { return a.v; })>(Op::v_cvt_u32_u16),
    rare<([](U16 a, U16 b) { return U16{min_of(a.v, b.v)}; })>(Op::v_min_u16),
    rare<([](U16 a, U16 b) { return U16{max_of(a.v, b.v)}; })>(Op::v_max_u16),
    rare<([](I16 a, I16 b) { return I16{min_of(a.v, b.v)}; })>(Op::v_min_i16),
    rare<([](I16 a, I16 b) { return I16{max_of(a.v, b.v)}; })>(Op::v_max_i16),
    rare<([](U16 a, U16 b, U16 c) { return U16{min_of(min_of(a.v, b.v), c.v)}; })>(Op::v_min3_u16),
    rare<([](U16 a, U16 b, U16 c) { return U16{max_of(max_of(a.v, b.v), c.v)}; })>(Op::v_max3_u16),
    rare<([](U16 a, U16 b, U16 c) { return U16{middle_of(a.v, b.v, c.v)}; })>(Op::v_med3_u16),
    rare<([](I16 a, I16 b, I16 c) { return I16{min_of(min_of(a.v, b.v), c.v)}; })>(Op::v_min3_i16),
    rare<([](I16 a, I16 b, I16 c) { return I16{max_of(max_of(a.v, b.v), c.v)}; })>(Op::v_max3_i16),
    rare<([](I16 a, I16 b, I16 c) { return I16{middle_of(a.v, b.v, c.v)}; })>(Op::v_med3_i16),

    hot<shifted_left>(Op::v_lshlrev_b64),
    hot<([](Rows<2> a) { return a; })>(Op::v_mov_b64),
    hot<([](U64 a, U32h b, U64 c) { return (a << (zero_extended(b) & 7)) + c; })>(Op::v_lshl_add_u64),
    hot<shifted_right>(Op::v_lshrrev_b64),
    hot<shifted_right_signed>(Op::v_ashrrev_i64),
};

}  // namespace

Table integer16_64_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
