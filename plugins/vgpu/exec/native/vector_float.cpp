// Vector operations: floating point.
#include "plugins/vgpu/exec/native/vector_ops.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Operand;
using Xbyak::Zmm;
using Xbyak::util::T_z;

// Constants that are no NaN can come second.
template <auto Fn>
void float_sum(Lanes& l) {
  if (l.is_constant(0) && (l.constant(0) & 0x7fffffff) <= 0x7f800000) return either_order<Fn>(l);
  in_order<Fn>(l);
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
  l.a.vptestnmd(l.k_a(), from, l.a.splat(0x7f800000));
  l.a.vmovdqa32(to, from);
  l.a.vpandd(to | l.k_a(), from, l.a.splat(0x80000000));
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
  // The result is an operand: it is the same to flush the operands.
  const bool flushing = l.mode.denorm32 != 3 && isa::traits_of(l.target).extremes_flush;
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
  a.vcmpps(l.k_a(), x, y, kUnordered);
  a.jump_if_none(l.k_a(), numbers);
  // A NaN loses to a number, unless it is signaling and the mode says so.
  a.vcmpps(l.k_a(), y, y, kUnordered);
  a.vmovdqa32(to | l.k_a(), x);
  a.vcmpps(l.k_b(), x, x, kUnordered);
  a.vmovdqa32(to | l.k_b(), y);
  if (l.mode.ieee) {
    a.vptestnmd(l.k_a() | l.k_a(), y, a.splat(0x400000));
    a.vpord(to | l.k_a(), y, a.splat(0x400000));
    a.vptestnmd(l.k_b() | l.k_b(), x, a.splat(0x400000));
    a.vpord(to | l.k_b(), x, a.splat(0x400000));
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
  l.a.vcmpps(l.k_a(), to, l.a.splat(0x3f800000), kGeOrdered);
  l.a.vpbroadcastd(to | l.k_a(), l.a.constant32(0x3f7fffff));
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
  a.vcmpps(l.k_a(), product, product, kUnordered);
  const Zmm to = l.result();
  a.vpblendmd(to | l.k_a(), product, estimate);
}

void to_signed(Lanes& l) {
  Assembler& a = l.a;
  const Zmm value = l.reg(0), to = l.result();
  a.vcvttps2dq(to, value);
  a.vcmpps(l.k_a(), value, a.splat(0x4f000000), kGeOrdered);
  a.vpbroadcastd(to | l.k_a(), a.constant32(0x7fffffff));
  a.vcmpps(l.k_b(), value, value, kUnordered);
  a.vpxord(to | l.k_b(), to, to);
}
// AVX2 knows signed numbers only: the upper half of unsigned ones is converted without its highest bit.
void to_unsigned_by_signed(Lanes& l) {
  Assembler& a = l.a;
  const Zmm value = l.reg(0), positive = l.temporary(), upper = l.temporary(), to = l.result();
  a.vpxord(upper, upper, upper);
  a.vmaxps(positive, value, upper);  // the second, if one is no number
  a.vcmpps(l.k_a(), positive, a.splat(0x4f000000), kGeOrdered);
  a.vcmpps(l.k_b(), positive, a.splat(0x4f800000), kGeOrdered);
  a.vsubps(upper, positive, a.splat(0x4f000000));
  a.vcvttps2dq(upper, upper);
  a.vpxord(upper, upper, a.splat(0x80000000));
  a.vcvttps2dq(to, positive);
  a.vmovdqa32(to | l.k_a(), upper);
  a.vpbroadcastd(to | l.k_b(), a.constant32(~0u));
}
void to_unsigned(Lanes& l) {
  if (l.a.eight_lanes()) return to_unsigned_by_signed(l);
  const Zmm value = l.reg(0), zero = l.temporary();
  l.a.vpxord(zero, zero, zero);
  l.a.vcmpps(l.k_a(), value, zero, kGtOrdered);
  l.a.vcvttps2udq(l.result() | l.k_a() | T_z, value);
}
void from_signed(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vcvtdq2ps(l.result(), value);
}
// Both halves convert exactly: only their sum is rounded.
void from_unsigned_by_halves(Lanes& l) {
  Assembler& a = l.a;
  const Zmm value = l.reg(0), high = l.temporary(), low = l.temporary();
  a.vpsrld(high, value, 16);
  a.vcvtdq2ps(high, high);
  a.vmulps(high, high, a.splat(0x47800000));
  a.vpandd(low, value, a.splat(0xffff));
  a.vcvtdq2ps(low, low);
  a.vaddps(l.result(), high, low);
}
void from_unsigned(Lanes& l) {
  if (l.a.eight_lanes()) return from_unsigned_by_halves(l);
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

bool mad_is_plain(const Request& request, const isa::Instruction&) {
  return request.mode.denorm32 == 0;
}

}  // namespace

std::vector<VectorOp> float_ops() {
  return {
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

}  // namespace rigel::vgpu::exec::native
