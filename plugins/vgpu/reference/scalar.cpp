// SOP1, SOP2, SOPK, SOPC, and SOPP instructions that only wait. control.cpp has branches, messages and
// hardware registers.
#include <algorithm>
#include <bit>
#include <optional>

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

int32_t s32(uint64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x));
}
int64_t s64(uint64_t x) {
  return static_cast<int64_t>(x);
}
uint64_t u32(int64_t x) {
  return static_cast<uint32_t>(x);
}

// Returns the SGPR number plus an index from M0, as in s_movrel*; nothing if the wave does not have it.
std::optional<unsigned> relative(const isa::Operand& operand, uint32_t index, const State& state) {
  constexpr unsigned kAll = 108;  // Including VCC, which follows the last SGPR.
  const unsigned number = operand.code + index;
  const unsigned limit = state.sgprs < 102 ? state.sgprs : kAll;
  if (number + std::max<unsigned>(operand.dwords, 1) > limit) return std::nullopt;
  return number;
}

uint64_t bits_set(uint64_t x) {
  return static_cast<uint64_t>(std::popcount(x));
}

int64_t first(uint64_t x, unsigned bits, bool wanted) {
  for (unsigned i = 0; i < bits; ++i) {
    if ((x >> i & 1) == (wanted ? 1 : 0)) return i;
  }
  return -1;
}

// Returns the number of leading zeros.
int64_t leading_zeros(uint64_t x, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i) {
    if ((x >> (bits - 1 - i) & 1) != 0) return i;
  }
  return -1;
}

// Returns the number of leading bits equal to the sign.
int64_t sign_run(uint64_t x, unsigned bits) {
  const uint64_t sign = x >> (bits - 1) & 1;
  for (unsigned i = 1; i < bits; ++i) {
    if ((x >> (bits - 1 - i) & 1) != sign) return i;
  }
  return -1;
}

uint64_t reversed(uint64_t x, unsigned bits) {
  uint64_t r = 0;
  for (unsigned i = 0; i < bits; ++i) r |= (x >> i & 1) << (bits - 1 - i);
  return r;
}

uint64_t whole_quads(uint64_t x) {
  uint64_t r = 0;
  for (unsigned i = 0; i < 64; ++i) r |= uint64_t{(x >> (i & ~3u) & 15) != 0} << i;
  return r;
}

uint64_t quad_mask(uint64_t x) {
  uint64_t r = 0;
  for (unsigned i = 0; i < 16; ++i) r |= uint64_t{(x >> 4 * i & 15) != 0} << i;
  return r;
}

uint64_t field(uint64_t x, uint64_t offset, uint64_t width, unsigned bits, bool is_signed) {
  if (width == 0) return 0;
  if (is_signed && bits == 32) x = static_cast<uint64_t>(int64_t{s32(x)});
  uint64_t r = is_signed ? static_cast<uint64_t>(s64(x) >> offset) : x >> offset;
  if (width >= bits) return bits == 32 ? r & 0xffffffff : r;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  r &= mask;
  if (is_signed && (r >> (width - 1) & 1) != 0) r |= ~mask;
  return bits == 32 ? r & 0xffffffff : r;
}

struct Result {
  uint64_t value = 0;
  bool writes = true;
  int scc = -1;  ///< -1: unchanged.
};

Result with_scc(uint64_t value, bool scc) {
  return {value, true, scc ? 1 : 0};
}
Result non_zero(uint64_t value) {
  return with_scc(value, value != 0);
}
Result compared(bool scc) {
  return {0, false, scc ? 1 : 0};
}

uint64_t low32(uint64_t x) {
  return x & 0xffffffff;
}

// EXEC = f(S, EXEC); D is the old EXEC (…_saveexec) or the new one (…_wrexec).
Outcome exec_logic(const isa::Instruction& in, State& state, uint64_t result, bool saves) {
  const bool wide = in.src[0].dwords >= 2;
  const uint64_t old = wide ? state.pair(126) : state.scalar[126];
  if (!wide) result = low32(result);
  write_scalar(in.dst[0], saves ? old : result, state);
  if (wide) {
    state.set_pair(126, result);
  } else {
    state.scalar[126] = static_cast<uint32_t>(result);
  }
  state.scc = result != 0 ? 1 : 0;
  return Outcome::kDone;
}

/// Returns the vector operation with the name of a scalar one, apart from the prefix; Op::none if there is
/// none.
isa::Op vector_namesake(isa::Op op) {
  std::string name(isa::name(op));
  if (name.starts_with("s_fma"))
    name = name.substr(0, 5) + name.substr(name.rfind('_'));  // s_fmac, s_fmaak, s_fmamk
  if (name == "s_cvt_pk_rtz_f16_f32") name = "s_cvt_pkrtz_f16_f32";
  if (name == "s_cvt_hi_f32_f16") name = "s_cvt_f32_f16";
  name[0] = 'v';
  for (size_t i = 1; i < isa::kOpCount; ++i) {
    if (isa::name(static_cast<isa::Op>(i)) == name) return static_cast<isa::Op>(i);
  }
  return isa::Op::none;
}

bool is_float_of_scalars(isa::Op op) {
  const std::string_view name = isa::name(op);
  const bool has_float =
      name.find("_f32") != std::string_view::npos || name.find("_f16") != std::string_view::npos;
  return name.starts_with("s_") && has_float;
}

// Floating point of gfx1150: what the vector operation computes in a lane. Results that the manuals leave
// open are not compared.
Outcome execute_scalar_float(const isa::Instruction& scalar, State& state) {
  isa::Instruction in = scalar;
  in.op = vector_namesake(scalar.op);
  in.encoding = isa::Encoding::kVop3;
  const bool compares = scalar.encoding == isa::Encoding::kSopc;
  if (scalar.op == isa::Op::s_cvt_hi_f32_f16) in.op_sel = 1;
  if (!compares) {
    in.dst[0].code = isa::code::kVgpr;
  } else {
    in.dst[0] = {isa::code::kVccLo, isa::Type::kMask, 1};
  }
  State lane = state;
  if (lane.vgpr.empty()) lane.vgpr.resize(1);
  lane.set_pair(isa::code::kExecLo, 1);
  lane.vgpr[0][0] = 0;
  // Sources that are EXEC keep their values.
  for (isa::Operand& source : in.src) {
    if (source.code != isa::code::kExecLo && source.code != isa::code::kExecHi &&
        source.code != isa::code::kExecz)
      continue;
    return Outcome::kNotModelled;
  }
  if (execute_vector(in, lane) != Outcome::kDone) return Outcome::kNotModelled;
  const LaneNote& note = lane.notes[0];
  if (note.any || note.any_nan || !note.also.empty()) return Outcome::kNotModelled;
  if (compares) {
    state.scc = lane.scalar[isa::code::kVccLo] & 1;
  } else {
    write_scalar(scalar.dst[0], lane.vgpr[0][0], state);
  }
  return Outcome::kDone;
}

}  // namespace

Outcome execute_scalar(const isa::Instruction& in, State& state) {
  if (is_float_of_scalars(in.op)) return execute_scalar_float(in, state);
  const uint64_t a = in.src[0].exists() ? scalar_value(in.src[0], in, state) : 0;
  const uint64_t b = in.src[1].exists() ? scalar_value(in.src[1], in, state) : 0;
  isa::Operand old = in.dst[0];
  if (state.lacks_sgprs(old)) old.code = 0;
  const uint64_t d = old.exists() && old.code < 128 ? scalar_value(old, in, state) : 0;
  const int64_t k = static_cast<int16_t>(in.simm16);
  const uint64_t uk = in.simm16;
  const bool wide_exec = in.src[0].dwords >= 2;
  const uint64_t exec = wide_exec ? state.pair(126) : state.scalar[126];
  const uint32_t m0 = state.scalar[isa::code::kM0];
  Result r;

  switch (in.op) {
    // SOP2
    case Op::s_add_u32:
      r = with_scc(low32(a + b), a + b > 0xffffffff);
      break;
    case Op::s_sub_u32:
      r = with_scc(low32(a - b), b > a);
      break;
    case Op::s_add_i32: {
      const int64_t sum = int64_t{s32(a)} + s32(b);
      r = with_scc(u32(sum), sum != s32(static_cast<uint64_t>(sum)));
      break;
    }
    case Op::s_sub_i32: {
      const int64_t difference = int64_t{s32(a)} - s32(b);
      r = with_scc(u32(difference), difference != s32(static_cast<uint64_t>(difference)));
      break;
    }
    case Op::s_addc_u32:
      r = with_scc(low32(a + b + state.scc), a + b + state.scc > 0xffffffff);
      break;
    case Op::s_subb_u32:
      r = with_scc(low32(a - b - state.scc), b + state.scc > a);
      break;
    case Op::s_min_i32:
      r = with_scc(s32(a) < s32(b) ? a : b, s32(a) < s32(b));
      break;
    case Op::s_min_u32:
      r = with_scc(a < b ? a : b, a < b);
      break;
    case Op::s_max_i32:
      r = with_scc(s32(a) > s32(b) ? a : b, s32(a) > s32(b));
      break;
    case Op::s_max_u32:
      r = with_scc(a > b ? a : b, a > b);
      break;
    case Op::s_cselect_b32:
    case Op::s_cselect_b64:
      r.value = state.scc != 0 ? a : b;
      break;
    case Op::s_and_b32:
    case Op::s_and_b64:
      r = non_zero(a & b);
      break;
    case Op::s_or_b32:
    case Op::s_or_b64:
      r = non_zero(a | b);
      break;
    case Op::s_xor_b32:
    case Op::s_xor_b64:
      r = non_zero(a ^ b);
      break;
    case Op::s_andn2_b32:
      r = non_zero(low32(a & ~b));
      break;
    case Op::s_andn2_b64:
      r = non_zero(a & ~b);
      break;
    case Op::s_orn2_b32:
      r = non_zero(low32(a | ~b));
      break;
    case Op::s_orn2_b64:
      r = non_zero(a | ~b);
      break;
    case Op::s_nand_b32:
      r = non_zero(low32(~(a & b)));
      break;
    case Op::s_nand_b64:
      r = non_zero(~(a & b));
      break;
    case Op::s_nor_b32:
      r = non_zero(low32(~(a | b)));
      break;
    case Op::s_nor_b64:
      r = non_zero(~(a | b));
      break;
    case Op::s_xnor_b32:
      r = non_zero(low32(~(a ^ b)));
      break;
    case Op::s_xnor_b64:
      r = non_zero(~(a ^ b));
      break;
    case Op::s_lshl_b32:
      r = non_zero(low32(a << (b & 31)));
      break;
    case Op::s_lshl_b64:
      r = non_zero(a << (b & 63));
      break;
    case Op::s_lshr_b32:
      r = non_zero(a >> (b & 31));
      break;
    case Op::s_lshr_b64:
      r = non_zero(a >> (b & 63));
      break;
    case Op::s_ashr_i32:
      r = non_zero(u32(s32(a) >> (b & 31)));
      break;
    case Op::s_ashr_i64:
      r = non_zero(static_cast<uint64_t>(s64(a) >> (b & 63)));
      break;
    case Op::s_bfm_b32:
      r.value = low32(((uint64_t{1} << (a & 31)) - 1) << (b & 31));
      break;
    case Op::s_bfm_b64:
      r.value = ((uint64_t{1} << (a & 63)) - 1) << (b & 63);
      break;
    case Op::s_add_u64:
      r.value = a + b;
      break;
    case Op::s_sub_u64:
      r.value = a - b;
      break;
    case Op::s_mul_u64:
      r.value = a * b;
      break;
    case Op::s_mul_i32:
      r.value = low32(a * b);
      break;
    case Op::s_mul_hi_u32:
      r.value = a * b >> 32;
      break;
    case Op::s_mul_hi_i32:
      r.value = u32(int64_t{s32(a)} * s32(b) >> 32);
      break;
    case Op::s_bfe_u32:
      r = non_zero(field(a, b & 31, b >> 16 & 0x7f, 32, false));
      break;
    case Op::s_bfe_i32:
      r = non_zero(field(a, b & 31, b >> 16 & 0x7f, 32, true));
      break;
    case Op::s_bfe_u64:
      r = non_zero(field(a, b & 63, b >> 16 & 0x7f, 64, false));
      break;
    case Op::s_bfe_i64:
      r = non_zero(field(a, b & 63, b >> 16 & 0x7f, 64, true));
      break;
    case Op::s_absdiff_i32: {
      const uint64_t difference = low32(a - b);
      r = non_zero(s32(difference) < 0 ? low32(~difference + 1) : difference);
      break;
    }
    case Op::s_lshl1_add_u32:
    case Op::s_lshl2_add_u32:
    case Op::s_lshl3_add_u32:
    case Op::s_lshl4_add_u32: {
      const unsigned n = static_cast<unsigned>(in.op) - static_cast<unsigned>(Op::s_lshl1_add_u32) + 1;
      const uint64_t sum = (a << n) + b;
      r = with_scc(low32(sum), sum > 0xffffffff);
      break;
    }
    case Op::s_pack_ll_b32_b16:
      r.value = (a & 0xffff) | (b & 0xffff) << 16;
      break;
    case Op::s_pack_lh_b32_b16:
      r.value = (a & 0xffff) | (b >> 16 & 0xffff) << 16;
      break;
    case Op::s_pack_hh_b32_b16:
      r.value = (a >> 16 & 0xffff) | (b >> 16 & 0xffff) << 16;
      break;

    case Op::s_pack_hl_b32_b16:
      r.value = (a >> 16 & 0xffff) | (b & 0xffff) << 16;
      break;

    // SOP1
    case Op::s_mov_b32:
    case Op::s_mov_b64:
      r.value = a;
      break;
    case Op::s_cmov_b32:
    case Op::s_cmov_b64:
      r = {a, state.scc != 0, -1};
      break;
    case Op::s_not_b32:
      r = non_zero(low32(~a));
      break;
    case Op::s_not_b64:
      r = non_zero(~a);
      break;
    case Op::s_wqm_b32:
      r = non_zero(low32(whole_quads(a)));
      break;
    case Op::s_wqm_b64:
      r = non_zero(whole_quads(a));
      break;
    case Op::s_brev_b32:
      r.value = reversed(a, 32);
      break;
    case Op::s_brev_b64:
      r.value = reversed(a, 64);
      break;
    case Op::s_bcnt0_i32_b32:
      r = non_zero(32 - bits_set(a));
      break;
    case Op::s_bcnt0_i32_b64:
      r = non_zero(64 - bits_set(a));
      break;
    case Op::s_bcnt1_i32_b32:
    case Op::s_bcnt1_i32_b64:
      r = non_zero(bits_set(a));
      break;
    case Op::s_ff0_i32_b32:
      r.value = u32(first(a, 32, false));
      break;
    case Op::s_ff0_i32_b64:
      r.value = u32(first(a, 64, false));
      break;
    case Op::s_ff1_i32_b32:
      r.value = u32(first(a, 32, true));
      break;
    case Op::s_ff1_i32_b64:
      r.value = u32(first(a, 64, true));
      break;
    case Op::s_flbit_i32_b32:
      r.value = u32(leading_zeros(a, 32));
      break;
    case Op::s_flbit_i32_b64:
      r.value = u32(leading_zeros(a, 64));
      break;
    case Op::s_flbit_i32:
      r.value = u32(sign_run(a, 32));
      break;
    case Op::s_flbit_i32_i64:
      r.value = u32(sign_run(a, 64));
      break;
    case Op::s_sext_i32_i8:
      r.value = u32(static_cast<int8_t>(a));
      break;
    case Op::s_sext_i32_i16:
      r.value = u32(static_cast<int16_t>(a));
      break;
    case Op::s_bitset0_b32:
      r.value = d & ~(uint64_t{1} << (a & 31));
      break;
    case Op::s_bitset1_b32:
      r.value = d | uint64_t{1} << (a & 31);
      break;
    case Op::s_bitset0_b64:
      r.value = d & ~(uint64_t{1} << (a & 63));
      break;
    case Op::s_bitset1_b64:
      r.value = d | uint64_t{1} << (a & 63);
      break;
    case Op::s_getpc_b64:
      r.value = state.pc + in.bytes;
      break;
    case Op::s_quadmask_b32:
      r = non_zero(quad_mask(low32(a)));
      break;
    case Op::s_quadmask_b64:
      r = non_zero(quad_mask(a));
      break;
    case Op::s_abs_i32:
      r = non_zero(s32(a) < 0 ? low32(~a + 1) : a);
      break;
    case Op::s_bitreplicate_b64_b32:
      for (unsigned i = 0; i < 32; ++i) r.value |= (a >> i & 1) * 3 << 2 * i;
      break;
    case Op::s_movrels_b32:
      r.value = state.scalar[relative(in.src[0], m0 & 0xffff, state).value_or(0)];
      break;
    case Op::s_movrels_b64:
      r.value = state.pair(relative(in.src[0], m0 & 0xffff, state).value_or(0));
      break;
    case Op::s_movreld_b32:
      if (const auto to = relative(in.dst[0], m0 & 0xffff, state))
        state.scalar[*to] = static_cast<uint32_t>(a);
      return Outcome::kDone;
    case Op::s_movreld_b64:
      if (const auto to = relative(in.dst[0], m0 & 0xffff, state)) state.set_pair(*to, a);
      return Outcome::kDone;
    case Op::s_movrelsd_2_b32: {
      const uint32_t value = state.scalar[relative(in.src[0], m0 & 0x3ff, state).value_or(0)];
      if (const auto to = relative(in.dst[0], m0 >> 16 & 0x3ff, state)) state.scalar[*to] = value;
      return Outcome::kDone;
    }
    case Op::s_and_saveexec_b32:
    case Op::s_and_saveexec_b64:
      return exec_logic(in, state, a & exec, true);
    case Op::s_or_saveexec_b32:
    case Op::s_or_saveexec_b64:
      return exec_logic(in, state, a | exec, true);
    case Op::s_xor_saveexec_b32:
    case Op::s_xor_saveexec_b64:
      return exec_logic(in, state, a ^ exec, true);
    case Op::s_andn2_saveexec_b32:
    case Op::s_andn2_saveexec_b64:
      return exec_logic(in, state, a & ~exec, true);
    case Op::s_orn2_saveexec_b32:
    case Op::s_orn2_saveexec_b64:
      return exec_logic(in, state, a | ~exec, true);
    case Op::s_nand_saveexec_b32:
    case Op::s_nand_saveexec_b64:
      return exec_logic(in, state, ~(a & exec), true);
    case Op::s_nor_saveexec_b32:
    case Op::s_nor_saveexec_b64:
      return exec_logic(in, state, ~(a | exec), true);
    case Op::s_xnor_saveexec_b32:
    case Op::s_xnor_saveexec_b64:
      return exec_logic(in, state, ~(a ^ exec), true);
    case Op::s_andn1_saveexec_b32:
    case Op::s_andn1_saveexec_b64:
      return exec_logic(in, state, ~a & exec, true);
    case Op::s_orn1_saveexec_b32:
    case Op::s_orn1_saveexec_b64:
      return exec_logic(in, state, ~a | exec, true);
    case Op::s_andn1_wrexec_b32:
    case Op::s_andn1_wrexec_b64:
      return exec_logic(in, state, ~a & exec, false);
    case Op::s_andn2_wrexec_b32:
    case Op::s_andn2_wrexec_b64:
      return exec_logic(in, state, a & ~exec, false);

    // SOPC
    case Op::s_cmp_eq_i32:
    case Op::s_cmp_eq_u32:
    case Op::s_cmp_eq_u64:
      r = compared(a == b);
      break;
    case Op::s_cmp_lg_i32:
    case Op::s_cmp_lg_u32:
    case Op::s_cmp_lg_u64:
      r = compared(a != b);
      break;
    case Op::s_cmp_gt_i32:
      r = compared(s32(a) > s32(b));
      break;
    case Op::s_cmp_ge_i32:
      r = compared(s32(a) >= s32(b));
      break;
    case Op::s_cmp_lt_i32:
      r = compared(s32(a) < s32(b));
      break;
    case Op::s_cmp_le_i32:
      r = compared(s32(a) <= s32(b));
      break;
    case Op::s_cmp_gt_u32:
      r = compared(a > b);
      break;
    case Op::s_cmp_ge_u32:
      r = compared(a >= b);
      break;
    case Op::s_cmp_lt_u32:
      r = compared(a < b);
      break;
    case Op::s_cmp_le_u32:
      r = compared(a <= b);
      break;
    case Op::s_bitcmp0_b32:
      r = compared((a >> (b & 31) & 1) == 0);
      break;
    case Op::s_bitcmp1_b32:
      r = compared((a >> (b & 31) & 1) == 1);
      break;
    case Op::s_bitcmp0_b64:
      r = compared((a >> (b & 63) & 1) == 0);
      break;
    case Op::s_bitcmp1_b64:
      r = compared((a >> (b & 63) & 1) == 1);
      break;

    // SOPK: the register is the destination field's, listed as source or destination.
    case Op::s_movk_i32:
      r.value = u32(k);
      break;
    case Op::s_cmovk_i32:
      r = {u32(k), state.scc != 0, -1};
      break;
    case Op::s_addk_i32: {
      const int64_t sum = int64_t{s32(d)} + k;
      r = with_scc(u32(sum), sum != s32(static_cast<uint64_t>(sum)));
      break;
    }
    case Op::s_mulk_i32:
      r.value = u32(s32(d) * k);
      break;
    case Op::s_cmpk_eq_i32:
      r = compared(s32(a) == k);
      break;
    case Op::s_cmpk_lg_i32:
      r = compared(s32(a) != k);
      break;
    case Op::s_cmpk_gt_i32:
      r = compared(s32(a) > k);
      break;
    case Op::s_cmpk_ge_i32:
      r = compared(s32(a) >= k);
      break;
    case Op::s_cmpk_lt_i32:
      r = compared(s32(a) < k);
      break;
    case Op::s_cmpk_le_i32:
      r = compared(s32(a) <= k);
      break;
    case Op::s_cmpk_eq_u32:
      r = compared(a == uk);
      break;
    case Op::s_cmpk_lg_u32:
      r = compared(a != uk);
      break;
    case Op::s_cmpk_gt_u32:
      r = compared(a > uk);
      break;
    case Op::s_cmpk_ge_u32:
      r = compared(a >= uk);
      break;
    case Op::s_cmpk_lt_u32:
      r = compared(a < uk);
      break;
    case Op::s_cmpk_le_u32:
      r = compared(a <= uk);
      break;

    // Only the order of memory accesses depends on these, or they are hints.
    case Op::s_nop:
    case Op::s_waitcnt:
    case Op::s_waitcnt_vscnt:
    case Op::s_wait_loadcnt:
    case Op::s_wait_storecnt:
    case Op::s_wait_samplecnt:
    case Op::s_wait_bvhcnt:
    case Op::s_wait_expcnt:
    case Op::s_wait_dscnt:
    case Op::s_wait_kmcnt:
    case Op::s_wait_loadcnt_dscnt:
    case Op::s_wait_storecnt_dscnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_waitcnt_depctr:
    case Op::s_delay_alu:
    case Op::s_wait_event:
    case Op::s_singleuse_vdst:
    case Op::s_setprio:
    case Op::s_setkill:
    case Op::s_wait_idle:
    case Op::s_inst_prefetch:
    case Op::s_clause:
    case Op::s_version:
      r.writes = false;
      break;

    default:
      return Outcome::kNotModelled;
  }
  if (r.writes) write_scalar(in.dst[0], r.value, state);
  if (r.scc >= 0) state.scc = static_cast<uint32_t>(r.scc);
  return Outcome::kDone;
}

}  // namespace rigel::vgpu::exec::reference
