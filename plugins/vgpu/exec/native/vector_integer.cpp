// Vector operations: sums and products of integers, with and without carries.
#include "plugins/vgpu/exec/native/vector_ops.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Operand;
using Xbyak::Opmask;
using Xbyak::Zmm;

template <auto First, auto Second>
void twice(Lanes& l) {
  const Zmm part = l.temporary();
  const Pair sources = commuted(l);
  (l.a.*First)(part, sources.first, sources.second);
  const Operand& c = l.any(2);
  (l.a.*Second)(l.result(), part, c);
}

template <auto Fn, auto Other>
void middle(Lanes& l) {  // greater of the lesser, and the lesser of the greater and c
  const Zmm a = l.reg(0), b = l.reg(1), c = l.reg(2), low = l.temporary(), high = l.temporary();
  (l.a.*Fn)(low, a, b);
  (l.a.*Other)(high, a, b);
  (l.a.*Fn)(high, high, c);
  (l.a.*Other)(l.result(), low, high);
}

void low24(Lanes& l, const Zmm& to, unsigned i, bool is_signed) {
  const Zmm from = l.reg(i);
  if (is_signed) {
    l.a.vpslld(to, from, 8);
    l.a.vpsrad(to, to, 8);
  } else {
    l.a.vpandd(to, from, l.a.splat(0xffffff));
  }
}
template <bool Signed, bool Adds>
void product24(Lanes& l) {
  const Zmm x = l.temporary(), y = l.temporary();
  low24(l, x, 0, Signed);
  low24(l, y, 1, Signed);
  if (!Adds) return l.a.vpmulld(l.result(), x, y);
  l.a.vpmulld(x, x, y);
  const Operand& c = l.any(2);
  l.a.vpaddd(l.result(), x, c);
}

// The high dwords of products of unsigned dwords.
void high_product(Lanes& l, const Zmm& to, const Zmm& x, const Zmm& y) {
  const Zmm even = l.temporary(), odd = l.temporary(), other = l.temporary();
  l.a.vpmuludq(even, x, y);
  l.a.vpsrlq(odd, x, 32);
  l.a.vpsrlq(other, y, 32);
  l.a.vpmuludq(odd, odd, other);
  l.a.vpsrlq(even, even, 32);
  l.a.vpandq(odd, odd, l.a.splat64(0xffffffff00000000));
  l.a.vporq(to, even, odd);
}
void high_unsigned(Lanes& l) {
  const Zmm x = l.reg(0), y = l.reg(1);
  high_product(l, l.result(), x, y);
}
void high_signed(Lanes& l) {
  const Zmm x = l.reg(0), y = l.reg(1), product = l.temporary(), part = l.temporary();
  high_product(l, product, x, y);
  l.a.vpsrad(part, x, 31);
  l.a.vpandd(part, part, y);
  l.a.vpsubd(product, product, part);
  l.a.vpsrad(part, y, 31);
  l.a.vpandd(part, part, x);
  l.a.vpsubd(l.result(), product, part);
}

// k = a < b, as pairs of unsigned dwords.
void less_wide(Lanes& l, const Opmask& k, const Zmm& a_low, const Zmm& a_high, const Operand& b_low,
               const Operand& b_high) {
  l.a.vpcmpud(l.k_a() | l.k_exec, a_high, b_high, kLt);
  l.a.vpcmpeqd(l.k_b() | l.k_exec, a_high, b_high);
  l.a.vpcmpud(l.k_b() | l.k_b(), a_low, b_low, kLt);
  l.a.korw(k, l.k_a(), l.k_b());
}

void mad_wide(Lanes& l) {
  Assembler& a = l.a;
  const Zmm x = l.reg(0), y = l.reg(1), half0 = l.temporary();
  const Zmm left = l.temporary(), right = l.temporary();
  for (unsigned half = 0; half < 2; ++half) {
    const Zmm c = l.wide(2, half);
    half == 0 ? a.vpunpckldq(left, x, x) : a.vpunpckhdq(left, x, x);
    half == 0 ? a.vpunpckldq(right, y, y) : a.vpunpckhdq(right, y, y);
    a.vpmuludq(left, left, right);
    a.vpaddq(half == 0 ? half0 : left, left, c);
  }
  l.put_wide(half0, left);
  if (!l.mask_matters()) return;
  l.keep_temporaries(2);
  const Zmm low = l.result(0), high = l.result(1);
  const Zmm c_low = l.reg(2, 0), c_high = l.reg(2, 1);
  less_wide(l, l.mask_out(), low, high, c_low, c_high);
}

// Carries
// ---------------------------------------------------------------------------------------------------

void add_carry_out(Lanes& l) {
  const Pair sources = commuted(l);
  const Zmm to = l.result();
  l.a.vpaddd(to, sources.first, sources.second);
  if (l.mask_matters()) l.a.vpcmpud(l.mask_out() | l.k_exec, to, sources.first, kLt);
}

template <unsigned A, unsigned B>
void sub_borrow_out(Lanes& l) {
  const Zmm x = l.reg(A);
  const Operand& y = l.any(B);
  l.a.vpsubd(l.result(), x, y);
  if (l.mask_matters()) l.a.vpcmpud(l.mask_out() | l.k_exec, x, y, kLt);
}

void add_carry(Lanes& l) {
  if (l.a.eight_lanes() && (l.is_zero(0) || l.is_zero(1))) {
    const Zmm x = l.reg(l.is_zero(0) ? 1 : 0), to = l.result();
    const Opmask carry = l.mask_in();
    l.a.increase(to, x, carry);
    if (!l.mask_matters()) return;
    const Zmm wraps = l.temporary();
    l.a.vpandnd(wraps, to, x);
    return l.a.mask_of_signs(l.mask_out() | l.k_exec, wraps, l.mask_is_left());
  }
  const Pair sources = commuted(l);
  const Opmask carry = l.mask_in();
  const Zmm to = l.result();
  if (l.a.eight_lanes()) {
    l.a.vpaddd(to, sources.first, sources.second);
    l.a.increase(to, to, carry);
    if (!l.mask_matters()) return;
    // It wraps where both are negative, or one is and the sum is not.
    const Zmm both = l.temporary(), one = l.temporary();
    l.a.vpandd(both, sources.first, sources.second);
    l.a.vpord(one, sources.first, sources.second);
    l.a.vpandnd(one, to, one);
    l.a.vpord(one, one, both);
    return l.a.mask_of_signs(l.mask_out() | l.k_exec, one, l.mask_is_left());
  }
  l.a.vpaddd(to, sources.first, sources.second);
  if (l.mask_matters()) l.a.vpcmpud(l.k_a() | l.k_exec, to, sources.first, kLt);
  l.a.vpsubd(to | carry, to, l.a.splat(~0u));
  if (!l.mask_matters()) return;
  // It wraps if it became 0.
  l.a.kandw(l.k_b(), carry, l.k_exec);
  l.a.vptestnmd(l.k_b() | l.k_b(), to, to);
  l.a.korw(l.mask_out(), l.k_a(), l.k_b());
}

template <unsigned A, unsigned B>
void sub_borrow(Lanes& l) {
  const Zmm x = l.reg(A);
  const Operand& y = l.any(B);
  const Opmask borrow = l.mask_in();
  const Zmm to = l.result();
  if (l.a.eight_lanes()) {
    l.a.vpsubd(to, x, y);
    l.a.decrease(to, to, borrow);
    if (!l.mask_matters()) return;
    // It wraps where y is negative and x is not, or both are alike and the difference is negative.
    const Zmm second = l.temporary(), alike = l.temporary();
    l.a.vpandnd(second, x, y);
    l.a.vpxord(alike, x, y);
    l.a.vpandnd(alike, alike, to);
    l.a.vpord(alike, alike, second);
    return l.a.mask_of_signs(l.mask_out() | l.k_exec, alike, l.mask_is_left());
  }
  l.a.vpsubd(to, x, y);
  if (l.mask_matters()) {
    l.a.vpcmpud(l.k_a() | l.k_exec, x, y, kLt);
    l.a.kandw(l.k_b(), borrow, l.k_exec);
    l.a.vptestnmd(l.k_b() | l.k_b(), to, to);
  }
  l.a.vpaddd(to | borrow, to, l.a.splat(~0u));
  if (l.mask_matters()) l.a.korw(l.mask_out(), l.k_a(), l.k_b());
}

void select(Lanes& l) {
  const Opmask mask = l.mask_in();
  const Zmm no = l.reg(0);
  const Operand& yes = l.any(1);
  l.a.vpblendmd(l.result() | mask, no, yes);
}

}  // namespace

std::vector<VectorOp> integer_ops() {
  return {
      integer(Op::v_add_u32, 2, either_order<&G::vpaddd>),
      integer(Op::v_sub_u32, 2, in_order<&G::vpsubd>),
      integer(Op::v_subrev_u32, 2, reversed<&G::vpsubd>),
      integer(Op::v_add_i32, 2, either_order<&G::vpaddd>),
      integer(Op::v_sub_i32, 2, in_order<&G::vpsubd>),
      integer(Op::v_add3_u32, 3, twice<&G::vpaddd, &G::vpaddd>),
      integer(Op::v_xad_u32, 3, twice<&G::vpxord, &G::vpaddd>),
      integer(Op::v_mul_lo_u32, 2, either_order<&G::vpmulld>),
      integer(Op::v_mul_lo_i32, 2, either_order<&G::vpmulld>),
      integer(Op::v_mul_hi_u32, 2, high_unsigned),
      integer(Op::v_mul_hi_i32, 2, high_signed),
      integer(Op::v_mul_u32_u24, 2, product24<false, false>),
      integer(Op::v_mul_i32_i24, 2, product24<true, false>),
      integer(Op::v_mad_u32_u24, 3, product24<false, true>),
      integer(Op::v_mad_i32_i24, 3, product24<true, true>),
      carrying(wide(Op::v_mad_u64_u32, 3, 0x84, mad_wide)),
      integer(Op::v_min_u32, 2, either_order<&G::vpminud>),
      integer(Op::v_max_u32, 2, either_order<&G::vpmaxud>),
      integer(Op::v_min_i32, 2, either_order<&G::vpminsd>),
      integer(Op::v_max_i32, 2, either_order<&G::vpmaxsd>),
      integer(Op::v_min3_u32, 3, twice<&G::vpminud, &G::vpminud>),
      integer(Op::v_max3_u32, 3, twice<&G::vpmaxud, &G::vpmaxud>),
      integer(Op::v_min3_i32, 3, twice<&G::vpminsd, &G::vpminsd>),
      integer(Op::v_max3_i32, 3, twice<&G::vpmaxsd, &G::vpmaxsd>),
      integer(Op::v_med3_u32, 3, middle<&G::vpminud, &G::vpmaxud>),
      integer(Op::v_med3_i32, 3, middle<&G::vpminsd, &G::vpmaxsd>),

      carrying(integer(Op::v_add_co_u32, 2, add_carry_out)),
      carrying(integer(Op::v_sub_co_u32, 2, sub_borrow_out<0, 1>)),
      carrying(integer(Op::v_subrev_co_u32, 2, sub_borrow_out<1, 0>)),
      selecting(carrying(integer(Op::v_addc_u32, 2, add_carry))),
      selecting(carrying(integer(Op::v_subb_u32, 2, sub_borrow<0, 1>))),
      selecting(carrying(integer(Op::v_subbrev_u32, 2, sub_borrow<1, 0>))),
      selecting(single(Op::v_cndmask_b32, 2, select)),
  };
}

}  // namespace rigel::vgpu::exec::native
