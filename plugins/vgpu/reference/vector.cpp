// VOP1, VOP2, VOPC, VOP3, VOP3P: the common part of vector instructions. Active lanes, registers, DPP, SDWA,
// modifiers, sub-dword destinations, and instructions across lanes. vector_*.cpp compute a single lane.
#include <bit>

#include "plugins/vgpu/reference/expected.hpp"
#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {

using isa::Encoding;
using isa::LaneMode;
using isa::Op;
using isa::SdwaSel;
using isa::SdwaUnused;
using isa::Type;

bool format_of(Type type, Format& format) {
  switch (type) {
    case Type::kF16:
      format = kHalf;
      return true;
    case Type::kF32:
      format = kSingle;
      return true;
    case Type::kF64:
      format = kDouble;
      return true;
    default:
      return false;
  }
}

bool LaneNote::allows(uint64_t expected, uint64_t actual) const {
  if (actual == expected || any) return true;
  for (const uint64_t value : also) {
    if (actual == value) return true;
  }
  if (halves) {
    const auto same = [&](unsigned at) {
      const uint64_t e = expected >> at & 0xffff, a = actual >> at & 0xffff;
      return e == a || (is_nan(kHalf, e) && is_nan(kHalf, a));
    };
    return same(0) && same(16);
  }
  if (!any_nan) return false;
  const uint64_t mask = format.bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << format.bits()) - 1;
  return is_nan(format, actual >> shift & mask) &&
         (actual & ~(mask << shift)) == (expected & ~(mask << shift));
}

namespace {

bool is_16_bit(Type type) {
  return type == Type::kB16 || type == Type::kI16 || type == Type::kU16 || type == Type::kF16;
}

// Returns the lane that DPP reads the first source from; -1: none.
int dpp_source(const isa::Instruction& in, int lane, int wave_size) {
  const int row = lane & ~15, place = lane & 15;
  const unsigned control = in.dpp_ctrl;
  const int n = static_cast<int>(control & 15);
  if (control <= 0xff) return (lane & ~3) + static_cast<int>(control >> 2 * (lane & 3) & 3);
  switch (control & 0x1f0) {
    case 0x100:
      return place + n > 15 ? -1 : lane + n;  // row_shl
    case 0x110:
      return place - n < 0 ? -1 : lane - n;  // row_shr
    case 0x120:
      return row + ((place - n) & 15);  // row_ror
    case 0x150:
      return row + n;  // row_share
    case 0x160:
      return row + (place ^ n);  // row_xmask
    default:
      break;
  }
  switch (control) {
    case 0x130:
      return lane + 1 < wave_size ? lane + 1 : -1;  // wave_shl
    case 0x134:
      return (lane + 1) & (wave_size - 1);  // wave_rol
    case 0x138:
      return lane - 1;  // wave_shr
    case 0x13c:
      return (lane - 1) & (wave_size - 1);  // wave_ror
    case 0x140:
      return row + 15 - place;  // row_mirror
    case 0x141:
      return (lane & ~7) + 7 - (lane & 7);  // row_half_mirror
    case 0x142:
      return row - 1;  // row_bcast:15
    case 0x143:
      return lane < 32 ? -1 : 31;  // row_bcast:31
    default:
      return -2;
  }
}

uint64_t selected(uint64_t x, SdwaSel sel, bool sext) {
  unsigned shift = 0, bits = 32;
  switch (sel) {
    case SdwaSel::kByte0:
    case SdwaSel::kByte1:
    case SdwaSel::kByte2:
    case SdwaSel::kByte3:
      shift = 8 * static_cast<unsigned>(sel);
      bits = 8;
      break;
    case SdwaSel::kWord0:
      bits = 16;
      break;
    case SdwaSel::kWord1:
      shift = 16;
      bits = 16;
      break;
    case SdwaSel::kDword:
      break;
  }
  x = x >> shift & ((uint64_t{1} << bits) - 1);
  if (sext && bits < 32 && (x >> (bits - 1) & 1) != 0) x |= 0xffffffffu & (~uint64_t{0} << bits);
  return x;
}

uint64_t inserted(uint64_t old, uint64_t x, SdwaSel sel, SdwaUnused unused) {
  unsigned shift = 0, bits = 32;
  if (sel <= SdwaSel::kByte3) {
    shift = 8 * static_cast<unsigned>(sel);
    bits = 8;
  } else if (sel != SdwaSel::kDword) {
    shift = sel == SdwaSel::kWord1 ? 16 : 0;
    bits = 16;
  }
  const uint64_t mask = ((uint64_t{1} << bits) - 1) << shift;
  const uint64_t placed = x << shift & mask;
  switch (unused) {
    case SdwaUnused::kPad:
      return placed;
    case SdwaUnused::kSext:
      return (placed >> (shift + bits - 1) & 1) != 0
                 ? (placed | ~((uint64_t{1} << (shift + bits)) - 1)) & 0xffffffff
                 : placed;
    case SdwaUnused::kPreserve:
      return (old & ~mask & 0xffffffff) | placed;
  }
  return placed;
}

class Vector {
 public:
  Vector(const isa::Instruction& in, State& state) : in_(in), state_(state), before_(state) {}

  Outcome run() {
    Outcome outcome;
    if (across_lanes(outcome)) return outcome;
    uint64_t mask_result = 0;
    const uint64_t exec = before_.exec();
    for (unsigned lane = 0; lane < state_.wave_size; ++lane) {
      state_.notes[lane] = {};
      if ((exec >> lane & 1) == 0 || !lane_is_enabled(lane)) continue;
      Lane l(in_, before_, lane);
      if (!fetch(l)) return Outcome::kNotModelled;
      if (!compute(l)) return Outcome::kNotModelled;
      mask_result |= uint64_t{l.d1} << lane;
      write(l);
    }
    for (const isa::Operand& dst : in_.dst) {
      if (dst.type != Type::kMask) continue;
      if (dst.code == isa::code::kNull && state_.target.family() >= isa::Family::kGfx10) continue;
      state_.set_mask(dst.code, mask_result);
    }
    return Outcome::kDone;
  }

 private:
  uint32_t vgpr(uint64_t number, unsigned lane) const { return before_.vgpr[number][lane]; }

  bool lane_is_enabled(unsigned lane) const {
    if (in_.lanes != LaneMode::kDpp) return true;
    if ((in_.row_mask >> lane / 16 & 1) == 0 || (in_.bank_mask >> lane / 4 % 4 & 1) == 0) return false;
    return in_.bound_ctrl || source_lane(lane) >= 0;
  }

  // Returns the lane that a DPP instruction reads; -1: outside of the row or disabled.
  int source_lane(unsigned lane) const {
    int from;
    if (in_.lanes == LaneMode::kDpp8) {
      from = static_cast<int>((lane & ~7u) + (in_.dpp8 >> 3 * (lane & 7) & 7));
    } else {
      from = dpp_source(in_, static_cast<int>(lane), static_cast<int>(state_.wave_size));
    }
    if (from < 0) return -1;
    if (!in_.fetch_inactive && (before_.exec() >> from & 1) == 0) return -1;
    return from;
  }

  uint32_t dword(const isa::Operand& operand, unsigned part, unsigned lane) const {
    return part < operand.dwords ? vgpr(operand.vgpr() + part, lane) : 0;
  }

  bool fetch(Lane& l) {
    for (unsigned i = 0; i < 3; ++i) {
      const isa::Operand& operand = in_.src[i];
      if (!operand.exists()) continue;
      if (operand.type == Type::kMask) {
        l.carry_in = (scalar_value(operand, in_, before_) >> l.number & 1) != 0;
        continue;
      }
      uint64_t x;
      if (operand.is_vgpr()) {
        int from = static_cast<int>(l.number);
        if (i == 0 && (in_.lanes == LaneMode::kDpp || in_.lanes == LaneMode::kDpp8))
          from = source_lane(l.number);
        for (unsigned part = 0; part < 4; ++part) {
          l.wide[i][part] = from < 0 ? 0 : dword(operand, part, static_cast<unsigned>(from));
        }
        x = l.wide[i][0] | uint64_t{l.wide[i][1]} << 32;
      } else {
        x = scalar_value(operand, in_, before_);
        l.wide[i][0] = static_cast<uint32_t>(x);
        l.wide[i][1] = static_cast<uint32_t>(x >> 32);
      }
      if (in_.lanes == LaneMode::kSdwa && i < 2) x = selected(x, in_.src_sel[i], (in_.sext >> i & 1) != 0);
      if (in_.encoding != Encoding::kVop3p && is_16_bit(operand.type) && (in_.op_sel >> i & 1) != 0) x >>= 16;
      l.s[i] = modified(operand.type, x, i);
    }
    if (in_.dst[0].is_vgpr()) {
      l.old = vgpr(in_.dst[0].vgpr(), l.number);
      if (in_.dst[0].dwords == 2) l.old |= uint64_t{vgpr(in_.dst[0].vgpr() + 1u, l.number)} << 32;
    }
    return true;
  }

  uint64_t modified(Type type, uint64_t x, unsigned i) const {
    if (is_16_bit(type)) x &= 0xffff;
    if (in_.op == Op::v_ldexp_f16 && i == 1) return x;  // An integer, whatever type the tables have.
    Format f{};
    if (!format_of(type, f)) {
      // The selection moves 32 bits, with modifiers of single precision.
      if (in_.op == Op::v_cndmask_b32 || in_.op == Op::v_mov_b32)
        f = kSingle;
      else
        return x;
    }
    if (in_.encoding == Encoding::kVop3p) return x;
    if ((in_.abs >> i & 1) != 0) x &= ~f.sign_bit();
    if ((in_.neg >> i & 1) != 0) x ^= f.sign_bit();
    return x;
  }

  static bool compute(Lane& l) {
    return compute_packed(l) || compute_comparison(l) || compute_conversion(l) || compute_float(l) ||
           compute_integer(l) || compute_bytes(l);
  }

  // Whether a 16-bit result keeps the other half of the register.
  bool keeps_other_half() const {
    if (state_.target.family() >= isa::Family::kGfx10) return true;
    if (state_.target.family() == isa::Family::kGfx8) return false;
    switch (in_.op) {
      case Op::v_mac_f16:
      case Op::v_madak_f16:
      case Op::v_madmk_f16:
      case Op::v_add_i16:
      case Op::v_sub_i16:
      case Op::v_min3_f16:
      case Op::v_max3_f16:
      case Op::v_med3_f16:
      case Op::v_min3_i16:
      case Op::v_max3_i16:
      case Op::v_med3_i16:
      case Op::v_min3_u16:
      case Op::v_max3_u16:
      case Op::v_med3_u16:
      case Op::v_mad_f16:
      case Op::v_mad_u16:
      case Op::v_mad_i16:
      case Op::v_fma_f16:
      case Op::v_div_fixup_f16:
      case Op::v_mad_mixlo_f16:
      case Op::v_mad_mixhi_f16:
      case Op::v_fma_mixlo_f16:
      case Op::v_fma_mixhi_f16:
        return true;
      default:
        return false;
    }
  }

  bool goes_high() const {
    return (in_.encoding != Encoding::kVop3p && (in_.op_sel & 8) != 0) || in_.op == Op::v_mad_mixhi_f16 ||
           in_.op == Op::v_fma_mixhi_f16;
  }

  uint64_t placed(uint64_t x, uint64_t old) const {
    const Type type = in_.dst[0].type;
    if (in_.lanes == LaneMode::kSdwa && in_.dst[0].dwords == 2) return x;  // has no selection
    if (in_.lanes == LaneMode::kSdwa) return inserted(old, x, in_.dst_sel, in_.dst_unused);
    if (!is_16_bit(type)) return in_.dst[0].dwords == 2 ? x : x & 0xffffffff;
    x &= 0xffff;
    if (goes_high()) return (old & 0xffff) | x << 16;
    return keeps_other_half() ? (old & 0xffff0000) | x : x;
  }

  void write(Lane& l) {
    const isa::Operand& dst = in_.dst[0];
    if (!dst.is_vgpr()) return;
    if (dst.dwords > 2) {
      for (unsigned part = 0; part < dst.dwords; ++part)
        state_.vgpr[dst.vgpr() + part][l.number] = l.wide_d[part];
      return;
    }
    LaneNote& note = state_.notes[l.number];
    note.halves = dst.type == Type::kV2F16 && !l.exact_nan;
    Format f{};
    uint64_t x = l.d;
    // Mixed precision, whatever type the tables have for the destination.
    bool is_mix = true;
    switch (in_.op) {
      case Op::v_mad_mix_f32:
      case Op::v_fma_mix_f32:
      case Op::v_dot2_f32_f16:
      case Op::v_dot2c_f32_f16:
      case Op::v_dot2_f32_bf16:
      case Op::v_dot4_f32_fp8_fp8:
      case Op::v_dot4_f32_fp8_bf8:
      case Op::v_dot4_f32_bf8_fp8:
      case Op::v_dot4_f32_bf8_bf8:
        f = kSingle;
        break;
      case Op::v_mad_mixlo_f16:
      case Op::v_mad_mixhi_f16:
      case Op::v_fma_mixlo_f16:
      case Op::v_fma_mixhi_f16:
        f = kHalf;
        break;
      default:
        is_mix = false;
        break;
    }
    if (is_mix) {
      note.format = f;
      note.any_nan = is_nan(f, x) && !l.exact_nan;
      note.shift = goes_high() ? 16 : 0;
    }
    // Pairs of singles have no output modifiers.
    const bool is_pair = in_.op == Op::v_cvt_pk_f32_fp8 || in_.op == Op::v_cvt_pk_f32_bf8 ||
                         in_.op == Op::v_cvt_pk_f32_fp8_ocp || in_.op == Op::v_cvt_pk_f32_bf8_ocp;
    const bool is_float =
        format_of(dst.type, f) && in_.encoding != Encoding::kVop3p && in_.op != Op::v_mov_b32 && !is_pair;
    if (is_float) {
      const uint64_t raw = x;
      x = modified_result(f, x, in_, before_);
      for (uint64_t& value : l.also) value = modified_result(f, value, in_, before_);
      note.any_nan = is_nan(f, x) && !l.exact_nan;
      note.format = f;
      if (is_zero(f, x) && (in_.clamp || in_.omod != 0)) l.also.push_back(f.sign_bit());
      if (note.any_nan) l.also.push_back(x ^ f.sign_bit());
      // A part of a NaN is not defined.
      const bool part = in_.lanes == LaneMode::kSdwa && in_.dst_sel != SdwaSel::kDword;
      // The order of output modifier and rounding is not specified; halves show it.
      note.any = (part && is_nan(f, raw) && !l.exact_nan) ||
                 (f == kHalf && in_.omod != 0 && !before_.ieee() && !before_.other().keep_results);
    }
    const uint64_t value = placed(x, l.old);
    if (in_.lanes == LaneMode::kSdwa && in_.dst_sel == SdwaSel::kDword && is_16_bit(dst.type)) {
      // 16 bits selected as a dword: the upper half is not specified, especially on gfx10.
      for (const uint64_t upper :
           {uint64_t{0}, l.old & 0xffff0000, (x & 0x8000) != 0 ? uint64_t{0xffff0000} : 0}) {
        note.also.push_back((x & 0xffff) | upper);
        for (const uint64_t other : l.also) note.also.push_back((other & 0xffff) | upper);
      }
    }
    for (const uint64_t other : l.also) note.also.push_back(placed(other, l.old));
    if (is_float) {
      // Position of the result's lowest bit.
      if (in_.lanes == LaneMode::kSdwa) {
        note.any_nan = note.any_nan && (in_.dst_sel == SdwaSel::kDword || f.bits() == 16);
        if (in_.dst_sel == SdwaSel::kWord1) note.shift = 16;
        if (in_.dst_sel <= SdwaSel::kByte3) {
          // A byte of a NaN: any value.
          for (uint64_t byte = 0; byte < 256 && is_nan(f, x) && !l.exact_nan; ++byte) {
            note.also.push_back(placed(byte, l.old));
          }
          note.any_nan = false;
        } else if (is_nan(f, x) && f.bits() == 32 && in_.dst_sel != SdwaSel::kDword) {
          note.any_nan = false;
        }
      } else if (f.bits() == 16 && goes_high()) {
        note.shift = 16;
      }
    }
    state_.vgpr[dst.vgpr()][l.number] = static_cast<uint32_t>(value);
    if (dst.dwords == 2) state_.vgpr[dst.vgpr() + 1u][l.number] = static_cast<uint32_t>(value >> 32);
  }

  uint32_t scalar_or_lane(const isa::Operand& operand, unsigned lane) const {
    return operand.is_vgpr() ? vgpr(operand.vgpr(), lane)
                             : static_cast<uint32_t>(scalar_value(operand, in_, before_));
  }

  void permute_rows(bool other_row) {
    // op_sel[0]: fetch inactive lanes; op_sel[1]: bound control.
    const bool fetch_inactive = (in_.op_sel & 1) != 0, bound_control = (in_.op_sel & 2) != 0;
    const uint64_t selectors = scalar_or_lane(in_.src[1], 0) | uint64_t{scalar_or_lane(in_.src[2], 0)} << 32;
    const uint64_t exec = before_.exec();
    for (unsigned lane = 0; lane < state_.wave_size; ++lane) {
      if ((exec >> lane & 1) == 0) continue;
      const unsigned row = (lane & ~15u) ^ (other_row ? 16 : 0);
      const unsigned from = row + static_cast<unsigned>(selectors >> 4 * (lane & 15) & 15);
      const bool valid = fetch_inactive || (exec >> from & 1) != 0;
      if (!valid && !bound_control) continue;
      state_.vgpr[in_.dst[0].vgpr()][lane] = valid ? scalar_or_lane(in_.src[0], from) : 0;
    }
  }

  // Instructions that access other lanes or index registers.
  bool across_lanes(Outcome& outcome) {
    const uint64_t exec = before_.exec();
    const uint32_t m0 = before_.scalar[isa::code::kM0];
    const unsigned wave = state_.wave_size;
    outcome = Outcome::kDone;
    for (LaneNote& note : state_.notes) note = {};
    switch (in_.op) {
      case Op::v_nop:
      case Op::v_clrexcp:
      case Op::v_pipeflush:
        return true;
      case Op::v_readfirstlane_b32: {
        const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
        write_scalar(in_.dst[0], scalar_or_lane(in_.src[0], lane), state_);
        return true;
      }
      case Op::v_readlane_b32: {
        const unsigned lane = static_cast<unsigned>(scalar_value(in_.src[1], in_, before_)) & (wave - 1);
        write_scalar(in_.dst[0], scalar_or_lane(in_.src[0], lane), state_);
        return true;
      }
      case Op::v_writelane_b32: {
        const unsigned lane = static_cast<unsigned>(scalar_value(in_.src[1], in_, before_)) & (wave - 1);
        state_.vgpr[in_.dst[0].vgpr()][lane] = static_cast<uint32_t>(scalar_value(in_.src[0], in_, before_));
        return true;
      }
      case Op::v_permlane16_b32:
        permute_rows(false);
        return true;
      case Op::v_permlanex16_b32:
        permute_rows(true);
        return true;
      case Op::v_permlane16_var_b32:
      case Op::v_permlanex16_var_b32: {
        // Each lane chooses a lane of its row, or of the other row of the pair.
        const unsigned row_change = in_.op == Op::v_permlanex16_var_b32 ? 16 : 0;
        for (unsigned lane = 0; lane < wave; ++lane) {
          if ((exec >> lane & 1) == 0) continue;
          const unsigned chosen = scalar_or_lane(in_.src[1], lane) & 15;
          state_.vgpr[in_.dst[0].vgpr()][lane] =
              scalar_or_lane(in_.src[0], ((lane & 48) ^ row_change) + chosen);
        }
        return true;
      }
      case Op::v_permlane64_b32:
        for (unsigned lane = 0; wave == 64 && lane < wave; ++lane) {
          if ((exec >> lane & 1) != 0)
            state_.vgpr[in_.dst[0].vgpr()][lane] = scalar_or_lane(in_.src[0], (lane + 32) % 64);
        }
        return true;
      case Op::v_swap_b32:
      case Op::v_swaprel_b32:
      case Op::v_movreld_b32:
      case Op::v_movrels_b32:
      case Op::v_movrelsd_b32:
      case Op::v_movrelsd_2_b32:
        break;
      default:
        return false;
    }
    if (in_.lanes != LaneMode::kNone) {
      outcome = Outcome::kNotModelled;
      return true;
    }
    // Registers relative to the operand: by M0, or by ten bits of it each.
    const bool two = in_.op == Op::v_movrelsd_2_b32 || in_.op == Op::v_swaprel_b32;
    const bool moves_source = in_.op != Op::v_movreld_b32 && in_.op != Op::v_swap_b32;
    const bool moves_target = in_.op != Op::v_movrels_b32 && in_.op != Op::v_swap_b32;
    const unsigned source_by = !moves_source ? 0 : two ? m0 & 0x3ff : m0;
    const unsigned target_by = !moves_target ? 0 : two ? m0 >> 16 & 0x3ff : m0;
    // Registers past the last one are not written or swapped; v0 is read instead.
    const uint64_t registers = state_.vgpr.size();
    const uint64_t target = uint64_t{in_.dst[0].vgpr()} + target_by;
    uint64_t source = in_.src[0].is_vgpr() ? uint64_t{in_.src[0].vgpr()} + source_by : 0;
    const bool swaps = in_.op == Op::v_swap_b32 || in_.op == Op::v_swaprel_b32;
    if (target >= registers || (swaps && source >= registers)) return true;
    if (source >= registers) source = 0;
    for (unsigned lane = 0; lane < wave; ++lane) {
      if ((exec >> lane & 1) == 0) continue;
      if (swaps) {
        state_.vgpr[target][lane] = vgpr(source, lane);
        state_.vgpr[source][lane] = vgpr(target, lane);
      } else {
        state_.vgpr[target][lane] =
            in_.src[0].is_vgpr() ? vgpr(source, lane) : scalar_or_lane(in_.src[0], lane);
      }
    }
    return true;
  }

  const isa::Instruction& in_;
  State& state_;
  const State before_;
};

}  // namespace

Outcome execute_vector(const isa::Instruction& instruction, State& state) {
  if (isa::name(instruction.op).starts_with("v_s_")) return Outcome::kNotModelled;  // Scalar results
  if (is_of_matrices(instruction.op)) return Outcome::kNotModelled;                 // They ignore EXEC.
  const State saved = state;
  const Outcome outcome = Vector(instruction, state).run();
  if (outcome == Outcome::kNotModelled) state = saved;
  return outcome;
}

}  // namespace rigel::vgpu::exec::reference
