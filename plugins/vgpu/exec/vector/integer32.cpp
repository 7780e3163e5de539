// Integer operations on 32-bit lanes: moves, logic, shifts, addition, multiplication, bit fields.
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

// Products of 24-bit values can exceed 32 bits. With clamp, the exact sum counts.
U32 mad_u24_clamped(U32 a, U32 b, U32 c) {
  const U32 low = unsigned24(a) * unsigned24(b);
  const U32 high = high_product(unsigned24(a), unsigned24(b));
  return saturating_add(low | bits_as<U32>(high != 0), c);
}

I32 mad_i24_clamped(I32 a, I32 b, I32 c) {
  const I32 x = signed24(a), y = signed24(b);
  const I32 low = wrapping_product(x, y);
  const I32 high = high_product(x, y);
  // Adds c to the 64-bit product, by halves.
  const U32 sum = bits_as<U32>(low) + bits_as<U32>(c);
  const I32 carry = sum < bits_as<U32>(low);
  const I32 top = high + (c >> 31) - carry;
  return top == (bits_as<I32>(sum) >> 31) ? bits_as<I32>(sum) : (top >> 31) ^ 0x7fffffff;
}

constexpr Entry kTable[] = {
    hot<([](U32 a) { return a; })>(Op::v_mov_b32),
    hot<([](U32 a) { return ~a; })>(Op::v_not_b32),
    hot<([](U32 a, U32 b) { return a & b; })>(Op::v_and_b32),
    hot<([](U32 a, U32 b) { return a | b; })>(Op::v_or_b32),
    hot<([](U32 a, U32 b) { return a ^ b; })>(Op::v_xor_b32),
    rare<([](U32 a, U32 b) { return ~(a ^ b); })>(Op::v_xnor_b32),
    hot<([](U32 a, U32 b, U32 c) { return (a & b) | c; })>(Op::v_and_or_b32),
    rare<([](U32 a, U32 b, U32 c) { return a | b | c; })>(Op::v_or3_b32),
    hot<([](U32 a, U32 b, U32 c) { return a ^ b ^ c; })>(Op::v_xor3_b32),

    hot<([](U32 a, U32 b) { return b << (a & 31); })>(Op::v_lshlrev_b32),
    hot<([](U32 a, U32 b) { return b >> (a & 31); })>(Op::v_lshrrev_b32),
    hot<([](I32 a, I32 b) { return b >> (a & 31); })>(Op::v_ashrrev_i32),
    hot<([](U32 a, U32 b, U32 c) { return (a << (b & 31)) + c; })>(Op::v_lshl_add_u32),
    hot<([](U32 a, U32 b, U32 c) { return (a + b) << (c & 31); })>(Op::v_add_lshl_u32),
    hot<([](U32 a, U32 b, U32 c) { return (a << (b & 31)) | c; })>(Op::v_lshl_or_b32),
    hot<([](U32 a, U32 b, U32 c) { return funnel_right(a, b, c & 31); })>(Op::v_alignbit_b32),
    rare<([](U32 a, U32 b, U32 c) { return funnel_right(a, b, (c & 3) * 8); })>(Op::v_alignbyte_b32),

    saturating<([](U32 a, U32 b) { return saturating_add(a, b); })>(
        hot<([](U32 a, U32 b) { return a + b; })>(Op::v_add_u32)),
    saturating<([](U32 a, U32 b) { return saturating_sub(a, b); })>(
        hot<([](U32 a, U32 b) { return a - b; })>(Op::v_sub_u32)),
    saturating<([](U32 a, U32 b) { return saturating_sub(b, a); })>(
        hot<([](U32 a, U32 b) { return b - a; })>(Op::v_subrev_u32)),
    saturating<([](I32 a, I32 b) { return saturating_add(a, b); })>(
        hot<([](U32 a, U32 b) { return a + b; })>(Op::v_add_i32)),
    saturating<([](I32 a, I32 b) { return saturating_sub(a, b); })>(
        rare<([](U32 a, U32 b) { return a - b; })>(Op::v_sub_i32)),
    hot<([](U32 a, U32 b, U32 c) { return a + b + c; })>(Op::v_add3_u32),
    hot<([](U32 a, U32 b, U32 c) { return (a ^ b) + c; })>(Op::v_xad_u32),
    rare<([](U32 a, U32 b, U32 c) { return max_of(min_of(a, b), c); })>(Op::v_minmax_u32),
    rare<([](U32 a, U32 b, U32 c) { return min_of(max_of(a, b), c); })>(Op::v_maxmin_u32),
    rare<([](I32 a, I32 b, I32 c) { return max_of(min_of(a, b), c); })>(Op::v_minmax_i32),
    rare<([](I32 a, I32 b, I32 c) { return min_of(max_of(a, b), c); })>(Op::v_maxmin_i32),

    hot<([](U32 a, U32 b) { return a * b; })>(Op::v_mul_lo_u32),
    rare<([](U32 a, U32 b) { return a * b; })>(Op::v_mul_lo_i32),
    hot<([](U32 a, U32 b) { return high_product(a, b); })>(Op::v_mul_hi_u32),
    rare<([](I32 a, I32 b) { return high_product(a, b); })>(Op::v_mul_hi_i32),
    saturating<([](U32 a, U32 b) { return mad_u24_clamped(a, b, U32{}); })>(
        hot<([](U32 a, U32 b) { return unsigned24(a) * unsigned24(b); })>(Op::v_mul_u32_u24)),
    saturating<([](I32 a, I32 b) { return mad_i24_clamped(a, b, I32{}); })>(
        hot<([](I32 a, I32 b) { return wrapping_product(signed24(a), signed24(b)); })>(Op::v_mul_i32_i24)),
    rare<([](U32 a, U32 b) { return high_product(unsigned24(a), unsigned24(b)); })>(Op::v_mul_hi_u32_u24),
    rare<([](I32 a, I32 b) { return high_product(signed24(a), signed24(b)); })>(Op::v_mul_hi_i32_i24),
    saturating<mad_u24_clamped>(
        hot<([](U32 a, U32 b, U32 c) { return unsigned24(a) * unsigned24(b) + c; })>(Op::v_mad_u32_u24)),
    saturating<mad_i24_clamped>(hot<([](I32 a, I32 b, U32 c) {
      return bits_as<U32>(wrapping_product(signed24(a), signed24(b))) + c;
    })>(Op::v_mad_i32_i24)),
    saturating<([](U16 a, U16 b, U32 c) { return saturating_add(a.v * b.v, c); })>(
        rare<([](U16 a, U16 b, U32 c) { return a.v * b.v + c; })>(Op::v_mad_u32_u16)),
    saturating<([](I16 a, I16 b, I32 c) { return saturating_add(a.v * b.v, c); })>(
        rare<([](I16 a, I16 b, U32 c) { return bits_as<U32>(a.v * b.v) + c; })>(Op::v_mad_i32_i16)),

    hot<([](U32 a, U32 b) { return min_of(a, b); })>(Op::v_min_u32),
    hot<([](U32 a, U32 b) { return max_of(a, b); })>(Op::v_max_u32),
    hot<([](I32 a, I32 b) { return min_of(a, b); })>(Op::v_min_i32),
    hot<([](I32 a, I32 b) { return max_of(a, b); })>(Op::v_max_i32),
    rare<([](U32 a, U32 b, U32 c) { return min_of(min_of(a, b), c); })>(Op::v_min3_u32),
    rare<([](U32 a, U32 b, U32 c) { return max_of(max_of(a, b), c); })>(Op::v_max3_u32),
    rare<([](U32 a, U32 b, U32 c) { return middle_of(a, b, c); })>(Op::v_med3_u32),
    rare<([](I32 a, I32 b, I32 c) { return min_of(min_of(a, b), c); })>(Op::v_min3_i32),
    rare<([](I32 a, I32 b, I32 c) { return max_of(max_of(a, b), c); })>(Op::v_max3_i32),
    rare<([](I32 a, I32 b, I32 c) { return middle_of(a, b, c); })>(Op::v_med3_i32),

    hot<([](U32 a, U32 b, U32 c) { return (a >> (b & 31)) & (((U32{} + 1) << (c & 31)) - 1); })>(
        Op::v_bfe_u32),
    hot<([](I32 a, U32 b, U32 c) {
      const U32 unused = 32 - (c & 31);
      const I32 field = a >> bits_as<I32>(b & 31);
      return (c & 31) == 0 ? I32{} : (field << bits_as<I32>(unused & 31)) >> bits_as<I32>(unused & 31);
    })>(Op::v_bfe_i32),
    hot<([](U32 a, U32 b, U32 c) { return (a & b) | (~a & c); })>(Op::v_bfi_b32),
    rare<([](U32 a, U32 b) { return (((U32{} + 1) << (a & 31)) - 1) << (b & 31); })>(Op::v_bfm_b32),
    rare<([](U32 a, U32 b) { return population(a) + b; })>(Op::v_bcnt_u32_b32),
    rare<([](U32 a) { return reversed(a); })>(Op::v_bfrev_b32),
    rare<([](U32 a) { return a == 0 ? ~U32{} : leading_zeros(a); })>(Op::v_ffbh_u32),
    rare<([](U32 a) { return a == 0 ? ~U32{} : population(~a & (a - 1)); })>(Op::v_ffbl_b32),
    rare<([](I32 a) {
      const U32 differs = bits_as<U32>(a ^ (a >> 31));
      return differs == 0 ? ~U32{} : leading_zeros(differs);
    })>(Op::v_ffbh_i32),
};

}  // namespace

Table integer32_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
