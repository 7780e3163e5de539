// Vector operations: moves, logic, shifts and fields of bits.
#include "plugins/vgpu/exec/native/vector_ops.hpp"
#include "plugins/vgpu/exec/operands.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Operand;
using Xbyak::Zmm;
using Xbyak::util::T_z;

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

void shift_by_constant(Lanes& l, Shift kind, const Zmm& to, const Zmm& from, uint32_t amount) {
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
    if (!l.a.eight_lanes() && l.features.vbmi2) {
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
  l.a.vptestmd(l.k_a(), width, width);
  l.a.vpsllvd(field, field, unused);
  l.a.vpsravd(l.result() | l.k_a() | T_z, field, unused);
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
  l.a.vptestnmd(l.k_a(), value, value);
  l.a.vpternlogd(to | l.k_a(), to, to, 0xff);
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

bool has_sixteen_lanes(const Request& request, const isa::Instruction&) {
  return !request.has_eight_lanes();
}
// AVX2 has none of amounts that lanes have each its own.
bool shifts_signs(const Request& request, const isa::Instruction& in) {
  uint64_t amount = 0;
  return !request.has_eight_lanes() || (constant_of(in.src[0], in, amount) && in.src[1].is_vgpr());
}
bool counts_bits(const Request& request, const isa::Instruction&) {
  return !request.has_eight_lanes() && request.features.popcnt;
}

}  // namespace

std::vector<VectorOp> bit_ops() {
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
      wide(Op::v_ashrrev_i64, 2, 0x82, shift_wide<Shift::kArithmetic>, shifts_signs),

      integer(Op::v_bfe_u32, 3, field_unsigned),
      integer(Op::v_bfe_i32, 3, field_signed),
      integer(Op::v_bfm_b32, 2, field_mask),
      integer(Op::v_bcnt_u32_b32, 2, population, counts_bits),
      integer(Op::v_ffbh_u32, 1, first_high, has_sixteen_lanes),
      integer(Op::v_bfrev_b32, 1, reverse_bits),
  };
}

}  // namespace rigel::vgpu::exec::native
