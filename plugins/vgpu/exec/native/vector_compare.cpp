// Vector operations: comparisons.
#include "plugins/vgpu/exec/native/vector_ops.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Operand;
using Xbyak::Opmask;
using Xbyak::Zmm;

// Equality's sources may change places: a constant as the second one takes no register.
template <uint8_t How>
bool equality_of_eight(Lanes& l) {
  if ((How != kEq && How != kNe) || !l.a.eight_lanes()) return false;
  const Pair sources = commuted(l);
  l.a.vpcmpd(l.mask_out() | l.k_exec, sources.first, sources.second, How);
  return true;
}

template <uint8_t How>
void compare_signed(Lanes& l) {
  if (equality_of_eight<How>(l)) return;
  const Zmm x = l.reg(0);
  const Operand& y = l.any(1);
  l.a.vpcmpd(l.mask_out() | l.k_exec, x, y, How);
}
template <uint8_t How>
void compare_unsigned(Lanes& l) {
  if (equality_of_eight<How>(l)) return;
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
  a.vpcmpeqd(l.k_a() | l.k_exec, x_high, y_high);
  if (How == kEq) return a.vpcmpeqd(to | l.k_a(), x_low, y_low);
  if (How == kNe) {
    a.vpcmpeqd(l.k_a() | l.k_a(), x_low, y_low);
    return a.kandnw(to, l.k_a(), l.k_exec);
  }
  a.vpcmpud(l.k_a() | l.k_a(), x_low, y_low, How);
  constexpr uint8_t kHigh = How == kLe ? uint8_t{kLt} : How == kGe ? uint8_t{kGt} : How;
  Signed ? a.vpcmpd(l.k_b() | l.k_exec, x_high, y_high, kHigh)
         : a.vpcmpud(l.k_b() | l.k_exec, x_high, y_high, kHigh);
  a.korw(to, l.k_a(), l.k_b());
}

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

}  // namespace

std::vector<VectorOp> comparison_ops() {
  return {
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
  };
}

}  // namespace rigel::vgpu::exec::native
