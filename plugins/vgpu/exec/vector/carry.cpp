// Operations that read or write a lane mask: additions with carry, selection, and the 64-bit multiply-add.
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

using Sum = WithTest<U32, Test>;
using Sum64 = WithTest<U64, Test64>;

Sum add(U32 a, U32 b) {
  const U32 sum = a + b;
  return {sum, Test(lt(sum, a))};
}
Sum sub(U32 a, U32 b) {
  return {a - b, Test(lt(a, b))};
}
Sum add_carry(U32 a, U32 b, Mask carry) {
  const U32 partial = a + b;
  const U32 sum = add_where(carry, partial, 1);
  return {sum, Test(lt(partial, a) | lt(sum, partial))};
}
Sum sub_borrow(U32 a, U32 b, Mask borrow) {
  const U32 partial = a - b;
  const U32 difference = add_where(borrow, partial, UINT32_MAX);
  return {difference, Test(lt(a, b) | lt(partial, difference))};
}

// With clamp the result saturates; the carry is unchanged.
Sum saturated_high(Sum sum) {
  return {sum.value | bits_as<U32>(lane_mask<U32>(sum.test.bits)), sum.test};
}
Sum saturated_low(Sum sum) {
  return {sum.value & ~bits_as<U32>(lane_mask<U32>(sum.test.bits)), sum.test};
}

Sum64 mad_unsigned(U32h a, U32h b, U64 c) {
  const U64 sum = whole_product(a, b) + c;
  return {sum, Test64(lt(sum, c))};
}
Sum64 mad_signed(I32h a, I32h b, I64 c) {
  const I64 product = convert<I64>(a) * convert<I64>(b);
  const I64 sum = bits_as<I64>(bits_as<U64>(product) + bits_as<U64>(c));
  const I64 overflow = (product ^ sum) & (c ^ sum);
  return {bits_as<U64>(sum), Test64(overflow < 0)};
}

constexpr Entry kTable[] = {
    saturating<([](U32 a, U32 b) { return saturated_high(add(a, b)); })>(hot<add>(Op::v_add_co_u32)),
    saturating<([](U32 a, U32 b) { return saturated_low(sub(a, b)); })>(hot<sub>(Op::v_sub_co_u32)),
    saturating<([](U32 a, U32 b) { return saturated_low(sub(b, a)); })>(
        hot<([](U32 a, U32 b) { return sub(b, a); })>(Op::v_subrev_co_u32)),
    saturating<([](U32 a, U32 b, Mask c) { return saturated_high(add_carry(a, b, c)); })>(
        hot<add_carry>(Op::v_addc_u32)),
    saturating<([](U32 a, U32 b, Mask c) { return saturated_low(sub_borrow(a, b, c)); })>(
        hot<sub_borrow>(Op::v_subb_u32)),
    saturating<([](U32 a, U32 b, Mask c) { return saturated_low(sub_borrow(b, a, c)); })>(
        hot<([](U32 a, U32 b, Mask c) { return sub_borrow(b, a, c); })>(Op::v_subbrev_u32)),
    hot<([](F32 a, F32 b, Mask mask) { return select(mask, b, a); })>(Op::v_cndmask_b32),
    hot<mad_unsigned>(Op::v_mad_u64_u32),
    rare<mad_signed>(Op::v_mad_i64_i32),
};

}  // namespace

Table carry_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
