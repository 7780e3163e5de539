// VOP3P and related operations of one lane: two halves of each register, mixed precision, dot products.
#include <algorithm>

#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

int64_t extended(uint64_t x, unsigned bits) {
  return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits);
}

// Returns a half of source i, for the upper or the lower result.
uint64_t half(const Lane& lane, unsigned i, bool upper, bool is_float) {
  const unsigned select = lane.in.encoding == isa::Encoding::kVop3p
                              ? (upper ? lane.in.op_sel_hi : lane.in.op_sel)
                              : (upper ? 7u : 0u);
  const unsigned negate =
      lane.in.encoding == isa::Encoding::kVop3p ? (upper ? lane.in.neg_hi : lane.in.neg) : 0u;
  uint64_t x = lane.wide[i][0] >> ((select >> i & 1) != 0 ? 16 : 0) & 0xffff;
  if (is_float && (negate >> i & 1) != 0) x ^= 0x8000;
  return x;
}

template <typename Function>
void float_halves(Lane& lane, Function function) {
  for (const bool upper : {false, true}) {
    uint64_t x = function(half(lane, 0, upper, true), half(lane, 1, upper, true), half(lane, 2, upper, true));
    if (lane.in.clamp) {
      if (is_nan(kHalf, x)) {
        x = lane.state.dx10_clamp() ? 0 : quieted(kHalf, x);  // As for a single half.
      } else {
        x = compare(kHalf, x, 0) <= 0 ? 0 : compare(kHalf, x, kHalf.one()) > 0 ? kHalf.one() : x;
      }
    }
    lane.d |= x << (upper ? 16 : 0);
  }
  lane.exact_nan = true;
}

uint64_t clamped_single(const Lane& lane, uint64_t x) {
  if (!lane.in.clamp) return x;
  if (is_nan(kSingle, x)) return lane.state.dx10_clamp() ? 0 : x;
  return compare(kSingle, x, 0) <= 0 ? 0 : compare(kSingle, x, kSingle.one()) > 0 ? kSingle.one() : x;
}

uint64_t paired_single(const Lane& lane, unsigned i, bool upper) {
  const unsigned select = upper ? lane.in.op_sel_hi : lane.in.op_sel;
  const unsigned negate = upper ? lane.in.neg_hi : lane.in.neg;
  const uint64_t x = lane.wide[i][select >> i & 1];
  return (negate >> i & 1) != 0 ? x ^ kSingle.sign_bit() : x;
}

// gfx90a: two singles in register pairs. op_sel and op_sel_hi select the operands.
template <typename Function>
void pairs(Lane& lane, Function function) {
  for (const bool upper : {false, true}) {
    uint64_t s[3];
    for (unsigned i = 0; i < 3; ++i) s[i] = paired_single(lane, i, upper);
    lane.d |= clamped_single(lane, function(s[0], s[1], s[2])) << (upper ? 32 : 0);
  }
  lane.exact_nan = true;
}

template <typename Function>
void integer_halves(Lane& lane, bool is_signed, Function function) {
  for (const bool upper : {false, true}) {
    int64_t s[3];
    for (unsigned i = 0; i < 3; ++i) {
      const uint64_t x = half(lane, i, upper, false);
      s[i] = is_signed ? extended(x, 16) : static_cast<int64_t>(x);
    }
    int64_t x = function(s[0], s[1], s[2]);
    if (lane.in.clamp)
      x = is_signed ? std::clamp<int64_t>(x, -32768, 32767) : std::clamp<int64_t>(x, 0, 65535);
    lane.d |= (static_cast<uint64_t>(x) & 0xffff) << (upper ? 16 : 0);
  }
}

// Returns a source of v_*_mix: a single, or a widened half of the register.
uint64_t mixed(const Lane& lane, unsigned i) {
  uint64_t x = lane.wide[i][0];
  if ((lane.in.op_sel_hi >> i & 1) != 0) {
    x = x >> ((lane.in.op_sel >> i & 1) != 0 ? 16 : 0) & 0xffff;
    x = converted(kHalf, x, lane.state.other(), kSingle, Rules{});
  }
  if ((lane.in.abs >> i & 1) != 0) x &= ~kSingle.sign_bit();
  if ((lane.in.neg >> i & 1) != 0) x ^= kSingle.sign_bit();
  return x;
}

void mix(Lane& lane, bool is_fused, bool to_half) {
  const Rules rules = lane.state.single();
  const uint64_t a = mixed(lane, 0), b = mixed(lane, 1), c = mixed(lane, 2);
  const Rules halves = lane.state.half();
  const auto finished = [&](uint64_t x) {
    // With FP16_OVFL, a half is finite unless an operand is infinite, however large the result.
    const bool any_infinite = is_infinite(kSingle, a) || is_infinite(kSingle, b) || is_infinite(kSingle, c);
    if (to_half && halves.stay_finite && is_infinite(kSingle, x) && !any_infinite) x -= 1;
    x = clamped_single(lane, x);
    return to_half ? converted(kSingle, x, rules, kHalf, halves) : x;
  };
  lane.exact_nan = true;
  if (is_fused) return lane.set(finished(fused(kSingle, a, b, c, rules)));
  const Rules flush{rules.round, false, false};
  lane.accept(finished(add(kSingle, multiply(kSingle, a, b, rules), c, rules)));
  lane.set(finished(add(kSingle, multiply(kSingle, a, b, flush), c, flush)));
}

// Adds products of register parts to S2; integers saturate with the clamp bit.
void dot_integers(Lane& lane, unsigned bits, bool is_signed) {
  int64_t sum = is_signed ? extended(lane.wide[2][0], 32) : static_cast<int64_t>(lane.wide[2][0]);
  const unsigned count = 32 / bits;
  for (unsigned n = 0; n < count; ++n) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    uint64_t a = lane.wide[0][0] >> n * bits & mask, b = lane.wide[1][0] >> n * bits & mask;
    if (bits == 16) {
      a = half(lane, 0, n == 1, false);
      b = half(lane, 1, n == 1, false);
    }
    sum += is_signed ? extended(a, bits) * extended(b, bits) : static_cast<int64_t>(a * b);
  }
  if (lane.in.clamp) {
    sum =
        is_signed ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : std::clamp<int64_t>(sum, 0, UINT32_MAX);
  }
  lane.set(static_cast<uint64_t>(sum) & 0xffffffff);
}

void dot_halves(Lane& lane) {
  // Single-precision denormals are always flushed; those of halves by mode, on gfx9 always.
  const Rules flush{lane.state.single().round, false, false};
  const Rules halves = lane.state.target.family() == isa::Family::kGfx9 ? flush : lane.state.other();
  uint64_t a[2], b[2];
  for (const unsigned n : {0u, 1u}) {
    a[n] = converted(kHalf, half(lane, 0, n == 1, true), halves, kSingle, Rules{});
    b[n] = converted(kHalf, half(lane, 1, n == 1, true), halves, kSingle, Rules{});
  }
  uint64_t c = lane.wide[2][0];
  if (lane.in.encoding == isa::Encoding::kVop3p && (lane.in.neg >> 2 & 1) != 0) c ^= kSingle.sign_bit();
  // The number of roundings is not specified: products one after the other, fused or not, in both orders, or
  // once.
  for (const Rules r : {flush, Rules{0, false, false}}) {
    lane.accept(fused(kSingle, a[1], b[1], fused(kSingle, a[0], b[0], c, r), r));
    lane.accept(fused(kSingle, a[0], b[0], fused(kSingle, a[1], b[1], c, r), r));
    const uint64_t p0 = multiply(kSingle, a[0], b[0], r), p1 = multiply(kSingle, a[1], b[1], r);
    lane.accept(add(kSingle, add(kSingle, p0, p1, r), c, r));
    lane.accept(add(kSingle, add(kSingle, p0, c, r), p1, r));
    lane.accept(fused(kSingle, a[0], b[0], add(kSingle, p1, c, r), r));
  }
  // S2 first, then the products: this is also the order of NaNs.
  uint64_t sum = c;
  for (const unsigned n : {0u, 1u}) sum = add(kSingle, sum, multiply(kSingle, a[n], b[n], flush), flush);
  if (is_nan(kSingle, sum)) lane.also.clear();
  lane.exact_nan = true;
  lane.set(sum);
  if (lane.in.encoding != isa::Encoding::kVop3p) return;  // Clamped with its output modifier.
  for (uint64_t& value : lane.also) value = clamped_single(lane, value);
  lane.d = clamped_single(lane, sum);
}

// NEG of S0 and S1 means that their parts are signed.
void dot_mixed(Lane& lane, unsigned bits) {
  int64_t sum = static_cast<int32_t>(lane.wide[2][0]);
  for (unsigned n = 0; n < 32 / bits; ++n) {
    const auto part = [&](unsigned i) {
      const uint64_t x = lane.wide[i][0] >> bits * n & ((1u << bits) - 1);
      return (lane.in.neg >> i & 1) != 0 ? extended(x, bits) : static_cast<int64_t>(x);
    };
    sum += part(0) * part(1);
  }
  if (lane.in.clamp) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  lane.set(static_cast<uint64_t>(sum) & 0xffffffff);
}

// Parts of the pairs of VOP3, with its sign modifiers.
uint64_t signed_half(const Lane& lane, unsigned source, unsigned n) {
  uint64_t x = lane.wide[source][0] >> 16 * n & 0xffff;
  if ((lane.in.abs >> source & 1) != 0) x &= 0x7fff;
  if ((lane.in.neg >> source & 1) != 0) x ^= 0x8000;
  return x;
}

// The rounding is a choice: sums in single precision, S2 first; one rounding to a half.
void short_dot_of_halves(Lane& lane) {
  const Rules halves = lane.state.other();
  const auto wide = [&](uint64_t half) { return converted(kHalf, half, halves, kSingle, Rules{}); };
  uint64_t sum = wide(lane.s[2]);
  for (const unsigned n : {0u, 1u}) {
    const uint64_t product =
        multiply(kSingle, wide(signed_half(lane, 0, n)), wide(signed_half(lane, 1, n)), Rules{});
    sum = add(kSingle, sum, product, Rules{});
  }
  lane.set(converted(kSingle, sum, Rules{}, kHalf, lane.state.half()));
}

// The same for BF16, whose denormals are flushed.
void dot_of_bytes(Lane& lane, bool is_bf8_a, bool is_bf8_b) {
  const Rules rules{lane.state.single().round, false, false};
  uint64_t sum = lane.wide[2][0];
  if ((lane.in.neg_hi >> 2 & 1) != 0) sum &= 0x7fffffff;
  if ((lane.in.neg >> 2 & 1) != 0) sum ^= kSingle.sign_bit();
  for (unsigned n = 0; n < 4; ++n) {
    const uint64_t a = single_of_ocp_byte(lane.wide[0][0] >> 8 * n, is_bf8_a);
    const uint64_t b = single_of_ocp_byte(lane.wide[1][0] >> 8 * n, is_bf8_b);
    sum = add(kSingle, sum, multiply(kSingle, a, b, rules), rules);
  }
  lane.exact_nan = true;
  lane.set(clamped_single(lane, sum));
}

void dot_of_bf16(Lane& lane, bool is_short) {
  const Rules rules{lane.state.single().round, false, false};
  uint64_t sum = lane.wide[2][0];
  if (is_short) {
    sum = lane.s[2] << 16;
    if ((lane.in.abs >> 2 & 1) != 0) sum &= 0x7fffffff;
    if ((lane.in.neg >> 2 & 1) != 0) sum ^= kSingle.sign_bit();
  } else if ((lane.in.neg >> 2 & 1) != 0) {
    sum ^= kSingle.sign_bit();
  }
  for (const unsigned n : {0u, 1u}) {
    const uint64_t a = is_short ? signed_half(lane, 0, n) : half(lane, 0, n == 1, true);
    const uint64_t b = is_short ? signed_half(lane, 1, n) : half(lane, 1, n == 1, true);
    sum = add(kSingle, sum, multiply(kSingle, a << 16, b << 16, rules), rules);
  }
  lane.exact_nan = true;
  if (!is_short) {
    lane.set(clamped_single(lane, sum));
  } else if (is_nan(kSingle, sum)) {
    lane.set(sum >> 16 | 0x40);
  } else {
    lane.set((sum + 0x7fff + (sum >> 16 & 1)) >> 16);
  }
}

}  // namespace

bool compute_packed(Lane& lane) {
  const State& state = lane.state;
  const Rules rules = state.half(), singles = state.single();
  switch (lane.in.op) {
    case Op::v_pk_add_f32:
      pairs(lane, [&](uint64_t a, uint64_t b, uint64_t) { return add(kSingle, a, b, singles); });
      return true;
    case Op::v_pk_mul_f32:
      pairs(lane, [&](uint64_t a, uint64_t b, uint64_t) { return multiply(kSingle, a, b, singles); });
      return true;
    case Op::v_pk_fma_f32:
      pairs(lane, [&](uint64_t a, uint64_t b, uint64_t c) { return fused(kSingle, a, b, c, singles); });
      return true;
    case Op::v_pk_mov_b32:
      lane.set(lane.wide[0][lane.in.op_sel & 1] | uint64_t{lane.wide[1][lane.in.op_sel >> 1 & 1]} << 32);
      return true;
    case Op::v_pk_add_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t) { return add(kHalf, a, b, rules); });
      return true;
    case Op::v_pk_mul_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t) { return multiply(kHalf, a, b, rules); });
      return true;
    case Op::v_pk_fma_f16:
    case Op::v_pk_fmac_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t c) { return fused(kHalf, a, b, c, rules); });
      return true;
    case Op::v_pk_min_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t) {
        return flushed_result(kHalf, minimum(kHalf, a, b, state), rules);
      });
      return true;
    case Op::v_pk_minimum_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t) {
        return flushed_result(kHalf, nan_or_minimum(kHalf, a, b, state), rules);
      });
      return true;
    case Op::v_pk_maximum_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t) {
        return flushed_result(kHalf, nan_or_maximum(kHalf, a, b, state), rules);
      });
      return true;
    case Op::v_pk_max_f16:
      float_halves(lane, [&](uint64_t a, uint64_t b, uint64_t) {
        return flushed_result(kHalf, maximum(kHalf, a, b, state), rules);
      });
      return true;
    case Op::v_pk_add_i16:
      integer_halves(lane, true, [](int64_t a, int64_t b, int64_t) { return a + b; });
      return true;
    case Op::v_pk_sub_i16:
      integer_halves(lane, true, [](int64_t a, int64_t b, int64_t) { return a - b; });
      return true;
    case Op::v_pk_add_u16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return a + b; });
      return true;
    case Op::v_pk_sub_u16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return a - b; });
      return true;
    case Op::v_pk_mad_i16:
      integer_halves(lane, true, [](int64_t a, int64_t b, int64_t c) { return a * b + c; });
      return true;
    case Op::v_pk_mad_u16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t c) { return a * b + c; });
      return true;
    case Op::v_pk_mul_lo_u16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return a * b & 0xffff; });
      return true;
    case Op::v_pk_min_i16:
      integer_halves(lane, true, [](int64_t a, int64_t b, int64_t) { return std::min(a, b); });
      return true;
    case Op::v_pk_max_i16:
      integer_halves(lane, true, [](int64_t a, int64_t b, int64_t) { return std::max(a, b); });
      return true;
    case Op::v_pk_min_u16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return std::min(a, b); });
      return true;
    case Op::v_pk_max_u16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return std::max(a, b); });
      return true;
    case Op::v_pk_lshlrev_b16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return (b << (a & 15)) & 0xffff; });
      return true;
    case Op::v_pk_lshrrev_b16:
      integer_halves(lane, false, [](int64_t a, int64_t b, int64_t) { return b >> (a & 15); });
      return true;
    case Op::v_pk_ashrrev_i16:
      integer_halves(lane, true, [](int64_t a, int64_t b, int64_t) { return b >> (a & 15); });
      return true;
    case Op::v_pack_b32_f16: {
      lane.set(lane.s[0] | lane.s[1] << 16);
      // Whether packing keeps denormals is not specified.
      const uint64_t a = flushed_input(kHalf, lane.s[0], rules), b = flushed_input(kHalf, lane.s[1], rules);
      lane.accept(a | b << 16);
      return true;
    }
    case Op::v_mad_mix_f32:
      mix(lane, false, false);
      return true;
    case Op::v_mad_mixlo_f16:
    case Op::v_mad_mixhi_f16:
      mix(lane, false, true);
      return true;
    case Op::v_fma_mix_f32:
      mix(lane, true, false);
      return true;
    case Op::v_fma_mixlo_f16:
    case Op::v_fma_mixhi_f16:
      mix(lane, true, true);
      return true;
    case Op::v_dot2_f32_f16:
    case Op::v_dot2c_f32_f16:
      dot_halves(lane);
      return true;
    case Op::v_dot2_f16_f16:
      short_dot_of_halves(lane);
      return true;
    case Op::v_dot2_bf16_bf16:
      dot_of_bf16(lane, true);
      return true;
    case Op::v_dot2_f32_bf16:
      dot_of_bf16(lane, false);
      return true;
    case Op::v_dot4_f32_fp8_fp8:
      dot_of_bytes(lane, false, false);
      return true;
    case Op::v_dot4_f32_fp8_bf8:
      dot_of_bytes(lane, false, true);
      return true;
    case Op::v_dot4_f32_bf8_fp8:
      dot_of_bytes(lane, true, false);
      return true;
    case Op::v_dot4_f32_bf8_bf8:
      dot_of_bytes(lane, true, true);
      return true;
    case Op::v_dot4_i32_iu8:
      dot_mixed(lane, 8);
      return true;
    case Op::v_dot8_i32_iu4:
      dot_mixed(lane, 4);
      return true;
    case Op::v_dot2_i32_i16:
    case Op::v_dot2c_i32_i16:
      dot_integers(lane, 16, true);
      return true;
    case Op::v_dot2_u32_u16:
      dot_integers(lane, 16, false);
      return true;
    case Op::v_dot4_i32_i8:
    case Op::v_dot4c_i32_i8:
      dot_integers(lane, 8, true);
      return true;
    case Op::v_dot4_u32_u8:
      dot_integers(lane, 8, false);
      return true;
    case Op::v_dot8_i32_i4:
    case Op::v_dot8c_i32_i4:
      dot_integers(lane, 4, true);
      return true;
    case Op::v_dot8_u32_u4:
      dot_integers(lane, 4, false);
      return true;
    default:
      return false;
  }
}

}  // namespace rigel::vgpu::exec::reference
