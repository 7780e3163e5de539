// Vector operations, one emitter each: the same arithmetic as the handlers' (exec/vector), in the same order.
#include <array>

#include "plugins/vgpu/exec/native/lanes.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Operand;
using Xbyak::Opmask;
using Xbyak::Zmm;
using Xbyak::util::T_z;

// For comparisons of the host.
enum Integer : uint8_t { kEq = 0, kLt = 1, kLe = 2, kNe = 4, kGe = 5, kGt = 6 };
enum Float : uint8_t {
  kEqOrdered = 0x00,
  kUnordered = 0x03,
  kNeUnordered = 0x04,
  kOrdered = 0x07,
  kEqUnordered = 0x08,
  kNeOrdered = 0x0c,
  kLtOrdered = 0x11,
  kLeOrdered = 0x12,
  kNotLt = 0x15,
  kNotLe = 0x16,
  kNotGe = 0x19,
  kNotGt = 0x1a,
  kGeOrdered = 0x1d,
  kGtOrdered = 0x1e
};

// Sources of an operation that has them in either order.
struct Pair {
  Zmm first;
  const Operand& second;
};
Pair commuted(Lanes& l) {
  if (!l.is_row(0) && l.is_row(1)) {
    const Zmm first = l.reg(1);
    return {first, l.any(0)};
  }
  const Zmm first = l.reg(0);
  return {first, l.any(1)};
}

template <auto Fn>
void either_order(Lanes& l) {
  const Pair sources = commuted(l);
  (l.a.*Fn)(l.result(), sources.first, sources.second);
}
template <auto Fn>
void in_order(Lanes& l) {
  const Zmm first = l.reg(0);
  const Operand& second = l.any(1);
  (l.a.*Fn)(l.result(), first, second);
}
template <auto Fn>
void reversed(Lanes& l) {
  const Zmm first = l.reg(1);
  const Operand& second = l.any(0);
  (l.a.*Fn)(l.result(), first, second);
}

// Constants that are no NaN can come second.
template <auto Fn>
void float_sum(Lanes& l) {
  if (l.is_constant(0) && (l.constant(0) & 0x7fffffff) <= 0x7f800000) return either_order<Fn>(l);
  in_order<Fn>(l);
}

void move(Lanes& l) {
  if (l.is_row(0)) {
    l.a.vmovdqa32(l.result(), l.any(0));
  } else if (l.is_constant(0) && l.constant(0) == 0) {
    const Zmm to = l.result();
    l.a.vpxord(to, to, to);
  } else if (l.is_constant(0)) {
    l.a.vpbroadcastd(l.result(), l.a.constant32(l.constant(0)));
  } else {
    l.a.vpbroadcastd(l.result(), l.a.dword[l.a.rdx + static_cast<int>(l.step().src[0].index * 4)]);
  }
}

void invert(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vpternlogd(l.result(), value, value, 0x55);
}

// The truth table of a function of three bits: a is 0xf0 in it, b 0xcc, c 0xaa.
template <uint8_t Table>
void logic2(Lanes& l) {  // of a and b: c does not matter
  const Pair sources = commuted(l);
  const Zmm to = l.result();
  // Of the result's old value nothing remains.
  l.a.vpternlogd(to, sources.first, sources.second, Table);
}
template <uint8_t Table>
void logic3(Lanes& l) {
  const Zmm b = l.reg(1);
  const Operand& c = l.any(2);
  l.a.vpternlogd(l.taken(0), b, c, Table);
}

// Shifts
// ---------------------------------------------------------------------------------------------------

enum class Shift : uint8_t { kLeft, kRight, kArithmetic };

void shift_by_constant(Lanes& l, Shift kind, const Zmm& to, const Operand& from, uint32_t amount) {
  const auto imm = static_cast<uint8_t>(amount);
  switch (kind) {
    case Shift::kLeft:
      return l.a.vpslld(to, from, imm);
    case Shift::kRight:
      return l.a.vpsrld(to, from, imm);
    case Shift::kArithmetic:
      return l.a.vpsrad(to, from, imm);
  }
}
void shift_by_lanes(Lanes& l, Shift kind, const Zmm& to, const Zmm& from, const Operand& amount) {
  switch (kind) {
    case Shift::kLeft:
      return l.a.vpsllvd(to, from, amount);
    case Shift::kRight:
      return l.a.vpsrlvd(to, from, amount);
    case Shift::kArithmetic:
      return l.a.vpsravd(to, from, amount);
  }
}

// `to` = source `value` shifted by source `amount`.
void shift(Lanes& l, Shift kind, const Zmm& to, unsigned value, unsigned amount) {
  if (l.is_constant(amount)) {
    const Zmm from = l.reg(value);
    return shift_by_constant(l, kind, to, from, l.constant(amount) & 31);
  }
  const Zmm from = l.reg(value), by = l.temporary();
  l.a.vpandd(by, l.reg(amount), l.a.splat(31));
  shift_by_lanes(l, kind, to, from, by);
}

template <Shift Kind>
void shift_reversed(Lanes& l) {
  shift(l, Kind, l.result(), 1, 0);
}

void shift_left_add(Lanes& l) {
  const Zmm to = l.temporary();
  shift(l, Shift::kLeft, to, 0, 1);
  const Operand& c = l.any(2);
  l.a.vpaddd(l.result(), to, c);
}
void shift_left_or(Lanes& l) {
  const Zmm to = l.temporary();
  shift(l, Shift::kLeft, to, 0, 1);
  const Operand& c = l.any(2);
  l.a.vpord(l.result(), to, c);
}
void add_shift_left(Lanes& l) {
  const Zmm sum = l.temporary();
  const Pair sources = commuted(l);
  l.a.vpaddd(sum, sources.first, sources.second);
  if (l.is_constant(2)) return l.a.vpslld(l.result(), sum, static_cast<uint8_t>(l.constant(2) & 31));
  const Zmm by = l.temporary();
  l.a.vpandd(by, l.reg(2), l.a.splat(31));
  l.a.vpsllvd(l.result(), sum, by);
}

// The low dword of {a, b} >> c.
void funnel_right(Lanes& l, uint32_t mask, uint32_t unit) {
  if (l.is_constant(2)) {
    const auto by = static_cast<uint8_t>((l.constant(2) & mask) * unit);
    if (l.same(0, 1)) {
      const Zmm both = l.reg(0);
      return l.a.vprord(l.result(), both, by);
    }
    if (host_features().vbmi2) {
      const Zmm low = l.reg(1);
      const Operand& high = l.any(0);
      return l.a.vpshrdd(l.result(), low, high, by);
    }
    const Zmm high = l.reg(0), low = l.reg(1), part = l.temporary();
    const Zmm to = l.result();
    l.a.vpslld(part, high, static_cast<uint8_t>(32 - by));  // 32: nothing
    l.a.vpsrld(to, low, by);
    return l.a.vpord(to, to, part);
  }
  const Zmm by = l.temporary(), left = l.temporary(), high = l.temporary();
  l.a.vpandd(by, l.reg(2), l.a.splat(mask));
  if (unit != 1) l.a.vpslld(by, by, 3);
  l.a.vpslld(high, l.reg(0), 1);
  l.a.vpandnd(left, by, l.a.splat(31));
  l.a.vpsllvd(high, high, left);
  const Zmm low = l.reg(1), to = l.result();
  l.a.vpsrlvd(to, low, by);
  l.a.vpord(to, to, high);
}
void align_bits(Lanes& l) {
  funnel_right(l, 31, 1);
}
void align_bytes(Lanes& l) {
  funnel_right(l, 3, 8);
}

// 64-bit lanes. By a constant: in their halves.
template <Shift Kind>
void shift_wide(Lanes& l) {
  Assembler& a = l.a;
  if (l.is_constant(0) && l.is_row(1)) {
    const auto by = static_cast<uint8_t>(l.constant(0) & 63);
    const Zmm low = l.reg(1, 0), high = l.reg(1, 1), part = l.temporary();
    const Zmm to_low = l.result(0), to_high = l.result(1);
    const auto over = [&](const Zmm& to, const Zmm& from, uint8_t n) {
      Kind == Shift::kArithmetic ? a.vpsrad(to, from, n) : a.vpsrld(to, from, n);
    };
    if (by == 0) {
      a.vmovdqa32(to_low, low);
      a.vmovdqa32(to_high, high);
    } else if (Kind == Shift::kLeft && by >= 32) {
      a.vpslld(to_high, low, static_cast<uint8_t>(by - 32));
      a.vpxord(to_low, to_low, to_low);
    } else if (Kind == Shift::kLeft) {
      a.vpsrld(part, low, static_cast<uint8_t>(32 - by));
      a.vpslld(to_high, high, by);
      a.vpord(to_high, to_high, part);
      a.vpslld(to_low, low, by);
    } else if (by >= 32) {
      over(to_low, high, static_cast<uint8_t>(by - 32));
      over(to_high, high, 32);
    } else {
      a.vpslld(part, high, static_cast<uint8_t>(32 - by));
      a.vpsrld(to_low, low, by);
      a.vpord(to_low, to_low, part);
      over(to_high, high, by);
    }
    return;
  }
  const Zmm amount = l.temporary(), zero = l.temporary(), half0 = l.temporary();
  a.vpandd(amount, l.reg(0), a.splat(63));
  a.vpxord(zero, zero, zero);
  for (unsigned half = 0; half < 2; ++half) {
    l.keep_temporaries(4);
    const Zmm by = l.temporary(), value = l.wide(1, half);
    half == 0 ? a.vpunpckldq(by, amount, zero) : a.vpunpckhdq(by, amount, zero);
    const Zmm& to = half == 0 ? half0 : value;
    Kind == Shift::kLeft    ? a.vpsllvq(to, value, by)
    : Kind == Shift::kRight ? a.vpsrlvq(to, value, by)
                            : a.vpsravq(to, value, by);
    if (half == 1) l.put_wide(half0, to);
  }
}

// Sums and products
// ---------------------------------------------------------------------------------------------------

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
  l.a.vpcmpud(l.k_a | l.k_exec, a_high, b_high, kLt);
  l.a.vpcmpeqd(l.k_b | l.k_exec, a_high, b_high);
  l.a.vpcmpud(l.k_b | l.k_b, a_low, b_low, kLt);
  l.a.korw(k, l.k_a, l.k_b);
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
  const Pair sources = commuted(l);
  const Opmask carry = l.mask_in();
  const Zmm to = l.result();
  l.a.vpaddd(to, sources.first, sources.second);
  if (l.mask_matters()) l.a.vpcmpud(l.k_a | l.k_exec, to, sources.first, kLt);
  l.a.vpsubd(to | carry, to, l.a.splat(~0u));
  if (!l.mask_matters()) return;
  // It wraps if it became 0.
  l.a.kandw(l.k_b, carry, l.k_exec);
  l.a.vptestnmd(l.k_b | l.k_b, to, to);
  l.a.korw(l.mask_out(), l.k_a, l.k_b);
}

template <unsigned A, unsigned B>
void sub_borrow(Lanes& l) {
  const Zmm x = l.reg(A);
  const Operand& y = l.any(B);
  const Opmask borrow = l.mask_in();
  const Zmm to = l.result();
  l.a.vpsubd(to, x, y);
  if (l.mask_matters()) {
    l.a.vpcmpud(l.k_a | l.k_exec, x, y, kLt);
    l.a.kandw(l.k_b, borrow, l.k_exec);
    l.a.vptestnmd(l.k_b | l.k_b, to, to);
  }
  l.a.vpaddd(to | borrow, to, l.a.splat(~0u));
  if (l.mask_matters()) l.a.korw(l.mask_out(), l.k_a, l.k_b);
}

void select(Lanes& l) {
  const Opmask mask = l.mask_in();
  const Zmm no = l.reg(0);
  const Operand& yes = l.any(1);
  l.a.vpblendmd(l.result() | mask, no, yes);
}

// Fields of bits
// ---------------------------------------------------------------------------------------------------

// (1 << source i) - 1, of the low five bits.
void ones(Lanes& l, const Zmm& to, unsigned i) {
  const Zmm by = l.temporary();
  l.a.vpandd(by, l.reg(i), l.a.splat(31));
  l.a.vpternlogd(to, to, to, 0xff);
  l.a.vpsllvd(to, to, by);
  l.a.vpternlogd(to, to, to, 0x55);
}

void field_unsigned(Lanes& l) {
  const Zmm field = l.temporary();
  shift(l, Shift::kRight, field, 0, 1);
  if (l.is_constant(2)) {
    return l.a.vpandd(l.result(), field, l.a.splat((1u << (l.constant(2) & 31)) - 1));
  }
  const Zmm mask = l.temporary();
  ones(l, mask, 2);
  l.a.vpandd(l.result(), field, mask);
}

void field_signed(Lanes& l) {
  const Zmm field = l.temporary();
  shift(l, Shift::kArithmetic, field, 0, 1);
  if (l.is_constant(2)) {
    const uint32_t width = l.constant(2) & 31;
    const Zmm to = l.result();
    if (width == 0) return l.a.vpxord(to, to, to);
    l.a.vpslld(field, field, static_cast<uint8_t>(32 - width));
    return l.a.vpsrad(to, field, static_cast<uint8_t>(32 - width));
  }
  const Zmm width = l.temporary(), unused = l.temporary();
  l.a.vpandd(width, l.reg(2), l.a.splat(31));
  l.a.vpxord(unused, unused, unused);
  l.a.vpsubd(unused, unused, width);
  l.a.vpandd(unused, unused, l.a.splat(31));
  l.a.vptestmd(l.k_a, width, width);
  l.a.vpsllvd(field, field, unused);
  l.a.vpsravd(l.result() | l.k_a | T_z, field, unused);
}

void field_mask(Lanes& l) {
  const Zmm mask = l.temporary();
  ones(l, mask, 0);
  const Zmm by = l.temporary();
  l.a.vpandd(by, l.reg(1), l.a.splat(31));
  l.a.vpsllvd(l.result(), mask, by);
}

void population(Lanes& l) {
  const Zmm count = l.temporary();
  l.a.vpopcntd(count, l.reg(0));
  const Operand& b = l.any(1);
  l.a.vpaddd(l.result(), count, b);
}

void first_high(Lanes& l) {
  const Zmm value = l.reg(0), to = l.result();
  l.a.vplzcntd(to, value);
  l.a.vptestnmd(l.k_a, value, value);
  l.a.vpternlogd(to | l.k_a, to, to, 0xff);
}

// Bytes: each nibble's mirror, put in the other half; then the bytes the other way round.
void reverse_bits(Lanes& l) {
  const Zmm value = l.reg(0), part = l.temporary(), to = l.result();
  const auto step = [&](const Zmm& from, uint8_t by, uint32_t mask) {
    l.a.vpsrld(part, from, by);
    l.a.vpandd(part, part, l.a.splat(mask));
    l.a.vpandd(to, from, l.a.splat(mask));
    l.a.vpslld(to, to, by);
    l.a.vpord(to, to, part);
  };
  step(value, 1, 0x55555555);
  step(to, 2, 0x33333333);
  step(to, 4, 0x0f0f0f0f);
  step(to, 8, 0x00ff00ff);
  l.a.vprord(to, to, 16);
}

// Single precision
// ---------------------------------------------------------------------------------------------------

void fused(Lanes& l) {
  const Zmm x = l.reg(0);
  const Operand& y = l.any(1);
  l.a.vfmadd231ps(l.taken(2), x, y);
}
void mad(Lanes& l) {
  const Zmm part = l.temporary(), x = l.reg(0);
  l.a.vmulps(part, x, l.any(1));
  const Operand& c = l.any(2);
  l.a.vaddps(l.result(), part, c);
}

void flush(Lanes& l, const Zmm& to, const Zmm& from) {
  l.a.vptestnmd(l.k_a, from, l.a.splat(0x7f800000));
  l.a.vmovdqa32(to, from);
  l.a.vpandd(to | l.k_a, from, l.a.splat(0x80000000));
}
bool flushes_inputs(const Lanes& l) {
  return (l.mode.denorm32 & 1) == 0;
}

// The order of signed integers, and the way back: the same.
void ordered(Lanes& l, const Zmm& to, const Zmm& from, const Zmm& sign) {
  l.a.vpsrad(sign, from, 31);
  l.a.vpsrld(sign, sign, 1);
  l.a.vpxord(to, from, sign);
}

template <bool Max>
void extreme(Lanes& l) {
  Assembler& a = l.a;
  Zmm x = l.reg(0), y = l.reg(1);
  const bool flushing = flushes_inputs(l) && l.target.family() != isa::Family::kGfx8;
  if (flushing) {
    const Zmm p = l.temporary(), q = l.temporary();
    flush(l, p, x);
    flush(l, q, y);
    x = p, y = q;
  }
  const Zmm kx = l.temporary(), ky = l.temporary(), sign = l.temporary(), to = l.result();
  ordered(l, kx, x, sign);
  ordered(l, ky, y, sign);
  Max ? a.vpmaxsd(kx, kx, ky) : a.vpminsd(kx, kx, ky);
  ordered(l, to, kx, sign);
  Xbyak::Label numbers;
  a.vcmpps(l.k_a, x, y, kUnordered);
  a.kortestw(l.k_a, l.k_a);
  a.jz(numbers, Assembler::T_NEAR);
  // A NaN loses to a number, unless it is signaling and the mode says so.
  a.vcmpps(l.k_a, y, y, kUnordered);
  a.vmovdqa32(to | l.k_a, x);
  a.vcmpps(l.k_b, x, x, kUnordered);
  a.vmovdqa32(to | l.k_b, y);
  if (l.mode.ieee) {
    a.vptestnmd(l.k_a | l.k_a, y, a.splat(0x400000));
    a.vpord(to | l.k_a, y, a.splat(0x400000));
    a.vptestnmd(l.k_b | l.k_b, x, a.splat(0x400000));
    a.vpord(to | l.k_b, x, a.splat(0x400000));
  }
  a.L(numbers);
}

template <uint8_t Rounding>
void rounded(Lanes& l) {
  Zmm value = l.reg(0);
  if (flushes_inputs(l)) {
    const Zmm flushed = l.temporary();
    flush(l, flushed, value);
    value = flushed;
  }
  l.a.vrndscaleps(l.result(), value, Rounding | 8);
}

void fraction(Lanes& l) {
  Zmm value = l.reg(0);
  if (flushes_inputs(l)) {
    const Zmm flushed = l.temporary();
    flush(l, flushed, value);
    value = flushed;
  }
  const Zmm floor = l.temporary(), to = l.result();
  l.a.vrndscaleps(floor, value, 9);
  l.a.vsubps(to, value, floor);
  l.a.vcmpps(l.k_a, to, l.a.splat(0x3f800000), kGeOrdered);
  l.a.vpbroadcastd(to | l.k_a, l.a.constant32(0x3f7fffff));
}

void reciprocal(Lanes& l) {
  const Zmm one = l.temporary();
  const Operand& value = l.any(0);
  l.a.vpbroadcastd(one, l.a.constant32(0x3f800000));
  l.a.vdivps(l.result(), one, value);
}

void root(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vsqrtps(l.result(), value);
}

void reciprocal_root(Lanes& l) {
  Assembler& a = l.a;
  const Zmm value = l.reg(0), estimate = l.temporary(), product = l.temporary(), lost = l.temporary(),
            error = l.temporary();
  a.vsqrtps(lost, value);
  a.vpbroadcastd(error, a.constant32(0x3f800000));
  a.vdivps(estimate, error, lost);
  a.vmulps(product, value, estimate);
  a.vmovaps(lost, value);
  a.vfmsub213ps(lost, estimate, product);
  a.vfnmadd231ps(error, product, estimate);
  a.vmulps(lost, lost, estimate);
  a.vsubps(error, error, lost);
  a.vmulps(product, estimate, a.splat(0x3f000000));
  a.vfmadd213ps(product, error, estimate);
  a.vcmpps(l.k_a, product, product, kUnordered);
  const Zmm to = l.result();
  a.vpblendmd(to | l.k_a, product, estimate);
}

void to_signed(Lanes& l) {
  Assembler& a = l.a;
  const Zmm value = l.reg(0), to = l.result();
  a.vcvttps2dq(to, value);
  a.vcmpps(l.k_a, value, a.splat(0x4f000000), kGeOrdered);
  a.vpbroadcastd(to | l.k_a, a.constant32(0x7fffffff));
  a.vcmpps(l.k_b, value, value, kUnordered);
  a.vpxord(to | l.k_b, to, to);
}
void to_unsigned(Lanes& l) {
  const Zmm value = l.reg(0), zero = l.temporary();
  l.a.vpxord(zero, zero, zero);
  l.a.vcmpps(l.k_a, value, zero, kGtOrdered);
  l.a.vcvttps2udq(l.result() | l.k_a | T_z, value);
}
void from_signed(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vcvtdq2ps(l.result(), value);
}
void from_unsigned(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vcvtudq2ps(l.result(), value);
}
template <unsigned Byte>
void from_byte(Lanes& l) {
  const Zmm value = l.reg(0), byte = l.temporary();
  if (Byte == 3) {
    l.a.vpsrld(byte, value, 24);
  } else {
    if (Byte != 0) l.a.vpsrld(byte, value, Byte * 8);
    l.a.vpandd(byte, Byte != 0 ? byte : value, l.a.splat(0xff));
  }
  l.a.vcvtdq2ps(l.result(), byte);
}

// Double precision
// ---------------------------------------------------------------------------------------------------

template <auto Fn>
void double_binary(Lanes& l) {
  const Zmm half0 = l.temporary(), half1 = l.temporary();
  for (unsigned half = 0; half < 2; ++half) {
    l.keep_temporaries(2);
    const Zmm x = l.wide(0, half), y = l.wide(1, half);
    (l.a.*Fn)(half == 0 ? half0 : half1, x, y);
  }
  l.put_wide(half0, half1);
}
void double_fused(Lanes& l) {
  const Zmm half0 = l.temporary(), half1 = l.temporary();
  for (unsigned half = 0; half < 2; ++half) {
    l.keep_temporaries(2);
    const Zmm x = l.wide(0, half), y = l.wide(1, half);
    const Zmm c = l.wide(2, half);
    l.a.vfmadd231pd(c, x, y);
    l.a.vmovapd(half == 0 ? half0 : half1, c);
  }
  l.put_wide(half0, half1);
}

// Comparisons
// ---------------------------------------------------------------------------------------------------

template <uint8_t How>
void compare_signed(Lanes& l) {
  const Zmm x = l.reg(0);
  const Operand& y = l.any(1);
  l.a.vpcmpd(l.mask_out() | l.k_exec, x, y, How);
}
template <uint8_t How>
void compare_unsigned(Lanes& l) {
  const Zmm x = l.reg(0);
  const Operand& y = l.any(1);
  l.a.vpcmpud(l.mask_out() | l.k_exec, x, y, How);
}
template <uint8_t How>
void compare_float(Lanes& l) {
  const Zmm x = l.reg(0);
  const Operand& y = l.any(1);
  l.a.vcmpps(l.mask_out() | l.k_exec, x, y, How);
}
template <uint8_t How, bool Signed>
void compare_wide(Lanes& l) {
  Assembler& a = l.a;
  const Zmm x_low = l.reg(0, 0), x_high = l.reg(0, 1), y_low = l.reg(1, 0), y_high = l.reg(1, 1);
  const Opmask to = l.mask_out();
  // The high halves decide unless they are equal.
  a.vpcmpeqd(l.k_a | l.k_exec, x_high, y_high);
  if (How == kEq) return a.vpcmpeqd(to | l.k_a, x_low, y_low);
  if (How == kNe) {
    a.vpcmpeqd(l.k_a | l.k_a, x_low, y_low);
    return a.kandnw(to, l.k_a, l.k_exec);
  }
  a.vpcmpud(l.k_a | l.k_a, x_low, y_low, How);
  constexpr uint8_t kHigh = How == kLe ? uint8_t{kLt} : How == kGe ? uint8_t{kGt} : How;
  Signed ? a.vpcmpd(l.k_b | l.k_exec, x_high, y_high, kHigh)
         : a.vpcmpud(l.k_b | l.k_exec, x_high, y_high, kHigh);
  a.korw(to, l.k_a, l.k_b);
}

// The table
// ---------------------------------------------------------------------------------------------------

using Condition = bool (*)(const Request&, const isa::Instruction&);

bool mad_is_plain(const Request& request, const isa::Instruction&) {
  return request.mode.denorm32 == 0;
}
bool counts_bits(const Request&, const isa::Instruction&) {
  return host_features().popcnt;
}

using Emit = void (*)(Lanes&);

VectorOp integer(Op op, uint8_t sources, Emit emit, Condition condition = nullptr) {
  VectorOp entry{op};
  entry.sources = sources;
  entry.emit = emit;
  entry.condition = condition;
  return entry;
}
VectorOp single(Op op, uint8_t sources, Emit emit, Condition condition = nullptr) {
  VectorOp entry = integer(op, sources, emit, condition);
  entry.float_sources = entry.float_result = true;
  return entry;
}
VectorOp to_single(Op op, Emit emit) {
  VectorOp entry = integer(op, 1, emit);
  entry.float_result = true;
  return entry;
}
VectorOp of_single(Op op, Emit emit) {
  VectorOp entry = integer(op, 1, emit);
  entry.float_sources = true;
  return entry;
}
VectorOp wide(Op op, uint8_t sources, uint8_t which, Emit emit) {
  VectorOp entry = integer(op, sources, emit);
  entry.wide = which;
  return entry;
}
VectorOp carrying(VectorOp entry) {
  entry.carries = true;
  return entry;
}
VectorOp selecting(VectorOp entry) {
  entry.selects = true;
  return entry;
}
VectorOp comparing(VectorOp entry) {
  entry.compares = true;
  return entry;
}
VectorOp to_exec(VectorOp entry) {
  entry.writes_exec = true;
  return entry;
}
VectorOp of_doubles(Op op, uint8_t sources, Emit emit) {
  VectorOp entry = single(op, sources, emit);
  entry.wide = static_cast<uint8_t>(0x80 | ((1 << sources) - 1));
  entry.doubles = true;
  return entry;
}

using G = Xbyak::CodeGenerator;

// Both forms of a comparison.
#define RIGEL_COMPARISON(name, make, ...) \
  comparing(make(Op::v_cmp_##name, __VA_ARGS__)), to_exec(comparing(make(Op::v_cmpx_##name, __VA_ARGS__)))
#define RIGEL_INTEGER_COMPARISONS(type, emitter)             \
  RIGEL_COMPARISON(lt_##type, integer, 2, emitter<kLt>),     \
      RIGEL_COMPARISON(eq_##type, integer, 2, emitter<kEq>), \
      RIGEL_COMPARISON(le_##type, integer, 2, emitter<kLe>), \
      RIGEL_COMPARISON(gt_##type, integer, 2, emitter<kGt>), \
      RIGEL_COMPARISON(ne_##type, integer, 2, emitter<kNe>), \
      RIGEL_COMPARISON(ge_##type, integer, 2, emitter<kGe>)
#define RIGEL_WIDE_COMPARISONS(type, is_signed)                              \
  RIGEL_COMPARISON(lt_##type, wide, 2, 3, compare_wide<kLt, is_signed>),     \
      RIGEL_COMPARISON(eq_##type, wide, 2, 3, compare_wide<kEq, is_signed>), \
      RIGEL_COMPARISON(le_##type, wide, 2, 3, compare_wide<kLe, is_signed>), \
      RIGEL_COMPARISON(gt_##type, wide, 2, 3, compare_wide<kGt, is_signed>), \
      RIGEL_COMPARISON(ne_##type, wide, 2, 3, compare_wide<kNe, is_signed>), \
      RIGEL_COMPARISON(ge_##type, wide, 2, 3, compare_wide<kGe, is_signed>)

std::vector<VectorOp> make_table() {
  return {
      integer(Op::v_mov_b32, 1, move),
      integer(Op::v_not_b32, 1, invert),
      integer(Op::v_and_b32, 2, either_order<&G::vpandd>),
      integer(Op::v_or_b32, 2, either_order<&G::vpord>),
      integer(Op::v_xor_b32, 2, either_order<&G::vpxord>),
      integer(Op::v_xnor_b32, 2, logic2<0x99>),
      integer(Op::v_and_or_b32, 3, logic3<0xea>),
      integer(Op::v_or3_b32, 3, logic3<0xfe>),
      integer(Op::v_xor3_b32, 3, logic3<0x96>),
      integer(Op::v_bfi_b32, 3, logic3<0xca>),

      integer(Op::v_lshlrev_b32, 2, shift_reversed<Shift::kLeft>),
      integer(Op::v_lshrrev_b32, 2, shift_reversed<Shift::kRight>),
      integer(Op::v_ashrrev_i32, 2, shift_reversed<Shift::kArithmetic>),
      integer(Op::v_lshl_add_u32, 3, shift_left_add),
      integer(Op::v_lshl_or_b32, 3, shift_left_or),
      integer(Op::v_add_lshl_u32, 3, add_shift_left),
      integer(Op::v_alignbit_b32, 3, align_bits),
      integer(Op::v_alignbyte_b32, 3, align_bytes),
      wide(Op::v_lshlrev_b64, 2, 0x82, shift_wide<Shift::kLeft>),
      wide(Op::v_lshrrev_b64, 2, 0x82, shift_wide<Shift::kRight>),
      wide(Op::v_ashrrev_i64, 2, 0x82, shift_wide<Shift::kArithmetic>),

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

      integer(Op::v_bfe_u32, 3, field_unsigned),
      integer(Op::v_bfe_i32, 3, field_signed),
      integer(Op::v_bfm_b32, 2, field_mask),
      integer(Op::v_bcnt_u32_b32, 2, population, counts_bits),
      integer(Op::v_ffbh_u32, 1, first_high),
      integer(Op::v_bfrev_b32, 1, reverse_bits),

      single(Op::v_add_f32, 2, float_sum<&G::vaddps>),
      single(Op::v_sub_f32, 2, in_order<&G::vsubps>),
      single(Op::v_subrev_f32, 2, reversed<&G::vsubps>),
      single(Op::v_mul_f32, 2, float_sum<&G::vmulps>),
      single(Op::v_fma_f32, 3, fused),
      single(Op::v_fmac_f32, 3, fused),
      single(Op::v_fmaak_f32, 3, fused),
      single(Op::v_fmamk_f32, 3, fused),
      single(Op::v_mad_f32, 3, mad, mad_is_plain),
      single(Op::v_mac_f32, 3, mad, mad_is_plain),
      single(Op::v_madak_f32, 3, mad, mad_is_plain),
      single(Op::v_madmk_f32, 3, mad, mad_is_plain),
      single(Op::v_min_f32, 2, extreme<false>),
      single(Op::v_max_f32, 2, extreme<true>),
      single(Op::v_rndne_f32, 1, rounded<0>),
      single(Op::v_floor_f32, 1, rounded<1>),
      single(Op::v_ceil_f32, 1, rounded<2>),
      single(Op::v_trunc_f32, 1, rounded<3>),
      single(Op::v_fract_f32, 1, fraction),
      single(Op::v_rcp_f32, 1, reciprocal),
      single(Op::v_rcp_iflag_f32, 1, reciprocal),
      single(Op::v_sqrt_f32, 1, root),
      single(Op::v_rsq_f32, 1, reciprocal_root),

      of_doubles(Op::v_add_f64, 2, double_binary<&G::vaddpd>),
      of_doubles(Op::v_mul_f64, 2, double_binary<&G::vmulpd>),
      of_doubles(Op::v_fma_f64, 3, double_fused),

      RIGEL_INTEGER_COMPARISONS(i32, compare_signed),
      RIGEL_INTEGER_COMPARISONS(u32, compare_unsigned),
      RIGEL_WIDE_COMPARISONS(i64, true),
      RIGEL_WIDE_COMPARISONS(u64, false),
      RIGEL_COMPARISON(lt_f32, single, 2, compare_float<kLtOrdered>),
      RIGEL_COMPARISON(eq_f32, single, 2, compare_float<kEqOrdered>),
      RIGEL_COMPARISON(le_f32, single, 2, compare_float<kLeOrdered>),
      RIGEL_COMPARISON(gt_f32, single, 2, compare_float<kGtOrdered>),
      RIGEL_COMPARISON(lg_f32, single, 2, compare_float<kNeOrdered>),
      RIGEL_COMPARISON(ge_f32, single, 2, compare_float<kGeOrdered>),
      RIGEL_COMPARISON(o_f32, single, 2, compare_float<kOrdered>),
      RIGEL_COMPARISON(u_f32, single, 2, compare_float<kUnordered>),
      RIGEL_COMPARISON(nge_f32, single, 2, compare_float<kNotGe>),
      RIGEL_COMPARISON(nlg_f32, single, 2, compare_float<kEqUnordered>),
      RIGEL_COMPARISON(ngt_f32, single, 2, compare_float<kNotGt>),
      RIGEL_COMPARISON(nle_f32, single, 2, compare_float<kNotLe>),
      RIGEL_COMPARISON(neq_f32, single, 2, compare_float<kNeUnordered>),
      RIGEL_COMPARISON(nlt_f32, single, 2, compare_float<kNotLt>),

      to_single(Op::v_cvt_f32_i32, from_signed),
      to_single(Op::v_cvt_f32_u32, from_unsigned),
      to_single(Op::v_cvt_f32_ubyte0, from_byte<0>),
      to_single(Op::v_cvt_f32_ubyte1, from_byte<1>),
      to_single(Op::v_cvt_f32_ubyte2, from_byte<2>),
      to_single(Op::v_cvt_f32_ubyte3, from_byte<3>),
      of_single(Op::v_cvt_i32_f32, to_signed),
      of_single(Op::v_cvt_u32_f32, to_unsigned),
  };
}

}  // namespace

const VectorOp* find_vector_op(Op op) {
  struct Index {
    std::vector<VectorOp> table = make_table();
    std::array<const VectorOp*, isa::kOpCount> by_op{};
    Index() {
      for (const VectorOp& entry : table) by_op[static_cast<size_t>(entry.op)] = &entry;
    }
  };
  static const Index index;
  return index.by_op[static_cast<size_t>(op)];
}

}  // namespace rigel::vgpu::exec::native
