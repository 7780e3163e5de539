#include "plugins/vgpu/isa/effects.hpp"

#include <initializer_list>

#include "plugins/vgpu/isa/hardware_register.hpp"
#include "plugins/vgpu/isa/image_shape.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {

Registers Registers::all() {
  Registers all;
  all.scalars.set();
  all.scalars.reset(code::kNull);
  all.vgprs.set();
  all.agprs.set();
  all.scc = true;
  return all;
}

Registers& Registers::operator|=(const Registers& other) {
  scalars |= other.scalars;
  vgprs |= other.vgprs;
  agprs |= other.agprs;
  scc |= other.scc;
  return *this;
}

Registers& Registers::operator-=(const Registers& other) {
  scalars &= ~other.scalars;
  vgprs &= ~other.vgprs;
  agprs &= ~other.agprs;
  scc = scc && !other.scc;
  return *this;
}

namespace {

bool is_one_of(Op op, std::initializer_list<Op> list) {
  for (const Op candidate : list) {
    if (candidate == op) return true;
  }
  return false;
}

bool reads_scc(Op op) {
  return is_one_of(op, {Op::s_addc_u32, Op::s_subb_u32, Op::s_cselect_b32, Op::s_cselect_b64, Op::s_cmov_b32,
                        Op::s_cmov_b64, Op::s_cmovk_i32, Op::s_cbranch_scc0, Op::s_cbranch_scc1});
}

// Float arithmetic and conversions of gfx1150. Its comparisons set SCC.
bool is_scalar_float(Op op) {
  return is_one_of(op, {Op::s_add_f16,        Op::s_add_f32,
                        Op::s_sub_f16,        Op::s_sub_f32,
                        Op::s_mul_f16,        Op::s_mul_f32,
                        Op::s_min_f16,        Op::s_min_f32,
                        Op::s_max_f16,        Op::s_max_f32,
                        Op::s_fmac_f16,       Op::s_fmac_f32,
                        Op::s_fmaak_f32,      Op::s_fmamk_f32,
                        Op::s_ceil_f16,       Op::s_ceil_f32,
                        Op::s_floor_f16,      Op::s_floor_f32,
                        Op::s_trunc_f16,      Op::s_trunc_f32,
                        Op::s_rndne_f16,      Op::s_rndne_f32,
                        Op::s_cvt_f16_f32,    Op::s_cvt_f32_f16,
                        Op::s_cvt_hi_f32_f16, Op::s_cvt_pk_rtz_f16_f32,
                        Op::s_cvt_f32_i32,    Op::s_cvt_f32_u32,
                        Op::s_cvt_i32_f32,    Op::s_cvt_u32_f32});
}

// Scalar ALU instructions that keep SCC; the others set it.
bool keeps_scc(const Instruction& in) {
  if (is_scalar_float(in.op)) return true;
  switch (in.encoding) {
    case Encoding::kSop1:
      return is_one_of(in.op, {Op::s_mov_b32,         Op::s_mov_b64,         Op::s_cmov_b32,
                               Op::s_cmov_b64,        Op::s_brev_b32,        Op::s_brev_b64,
                               Op::s_ff0_i32_b32,     Op::s_ff0_i32_b64,     Op::s_ff1_i32_b32,
                               Op::s_ff1_i32_b64,     Op::s_flbit_i32_b32,   Op::s_flbit_i32_b64,
                               Op::s_flbit_i32,       Op::s_flbit_i32_i64,   Op::s_sext_i32_i8,
                               Op::s_sext_i32_i16,    Op::s_bitset0_b32,     Op::s_bitset0_b64,
                               Op::s_bitset1_b32,     Op::s_bitset1_b64,     Op::s_getpc_b64,
                               Op::s_setpc_b64,       Op::s_swappc_b64,      Op::s_rfe_b64,
                               Op::s_rfe_restore_b64, Op::s_movrels_b32,     Op::s_movrels_b64,
                               Op::s_movreld_b32,     Op::s_movreld_b64,     Op::s_movrelsd_2_b32,
                               Op::s_cbranch_join,    Op::s_set_gpr_idx_idx, Op::s_bitreplicate_b64_b32,
                               Op::s_sendmsg_rtn_b32, Op::s_sendmsg_rtn_b64});
    case Encoding::kSop2:
      return is_one_of(in.op, {Op::s_cselect_b32, Op::s_cselect_b64, Op::s_mul_i32, Op::s_mul_hi_u32,
                               Op::s_mul_hi_i32, Op::s_bfm_b32, Op::s_bfm_b64, Op::s_cbranch_g_fork,
                               Op::s_rfe_restore_b64, Op::s_pack_ll_b32_b16, Op::s_pack_lh_b32_b16,
                               Op::s_pack_hh_b32_b16, Op::s_pack_hl_b32_b16});
    case Encoding::kSopk:
      return is_one_of(
          in.op, {Op::s_movk_i32, Op::s_cmovk_i32, Op::s_mulk_i32, Op::s_cbranch_i_fork, Op::s_getreg_b32,
                  Op::s_setreg_b32, Op::s_setreg_imm32_b32, Op::s_call_b64, Op::s_version,
                  Op::s_waitcnt_expcnt, Op::s_waitcnt_lgkmcnt, Op::s_waitcnt_vmcnt, Op::s_waitcnt_vscnt,
                  Op::s_subvector_loop_begin, Op::s_subvector_loop_end});
    case Encoding::kSopc:
      return is_one_of(in.op, {Op::s_setvskip, Op::s_set_gpr_idx_on});
    default:
      return true;
  }
}

// s_and_saveexec and similar: the result goes to EXEC, which is also the second source.
bool changes_exec(Op op) {
  return is_one_of(
      op,
      {Op::s_and_saveexec_b32,  Op::s_and_saveexec_b64,  Op::s_andn1_saveexec_b32, Op::s_andn1_saveexec_b64,
       Op::s_andn1_wrexec_b32,  Op::s_andn1_wrexec_b64,  Op::s_andn2_saveexec_b32, Op::s_andn2_saveexec_b64,
       Op::s_andn2_wrexec_b32,  Op::s_andn2_wrexec_b64,  Op::s_nand_saveexec_b32,  Op::s_nand_saveexec_b64,
       Op::s_nor_saveexec_b32,  Op::s_nor_saveexec_b64,  Op::s_or_saveexec_b32,    Op::s_or_saveexec_b64,
       Op::s_orn1_saveexec_b32, Op::s_orn1_saveexec_b64, Op::s_orn2_saveexec_b32,  Op::s_orn2_saveexec_b64,
       Op::s_xnor_saveexec_b32, Op::s_xnor_saveexec_b64, Op::s_xor_saveexec_b32,   Op::s_xor_saveexec_b64});
}

bool is_of_64_lanes(Op op) {
  return !is_one_of(op, {Op::s_and_saveexec_b32, Op::s_andn1_saveexec_b32, Op::s_andn1_wrexec_b32,
                         Op::s_andn2_saveexec_b32, Op::s_andn2_wrexec_b32, Op::s_nand_saveexec_b32,
                         Op::s_nor_saveexec_b32, Op::s_or_saveexec_b32, Op::s_orn1_saveexec_b32,
                         Op::s_orn2_saveexec_b32, Op::s_xnor_saveexec_b32, Op::s_xor_saveexec_b32});
}

// The destination partly keeps its value: conditionally, other bits, or other lanes.
bool adds_to_destination(Op op) {
  return is_one_of(
      op, {Op::s_cmov_b32, Op::s_cmov_b64, Op::s_cmovk_i32, Op::s_bitset0_b32, Op::s_bitset0_b64,
           Op::s_bitset1_b32, Op::s_bitset1_b64, Op::s_mulk_i32, Op::s_addk_i32, Op::v_writelane_b32,
           Op::v_permlane16_b32, Op::v_permlanex16_b32, Op::v_permlane64_b32, Op::v_cvt_pkaccum_u8_f32,
           Op::v_mad_mixlo_f16, Op::v_mad_mixhi_f16, Op::v_fma_mixlo_f16, Op::v_fma_mixhi_f16});
}

// Loads of one half of a register that keep the other half; also formats with an odd number of halves.
bool keeps_half(Op op, const Traits& traits) {
  const MemoryShape* const shape = memory_shape(op, traits);
  return shape != nullptr && shape->verb == Verb::kLoad && shape->d16 && !shape->clears_half &&
         (shape->high || shape->components == 0 || shape->components % 2 != 0);
}

bool indexes_scalars(Op op) {
  return is_one_of(
      op, {Op::s_movrels_b32, Op::s_movrels_b64, Op::s_movreld_b32, Op::s_movreld_b64, Op::s_movrelsd_2_b32});
}

bool indexes_source(Op op) {
  return is_one_of(op, {Op::v_movrels_b32, Op::v_movrelsd_b32, Op::v_movrelsd_2_b32, Op::v_swaprel_b32});
}

bool indexes_result(Op op) {
  return is_one_of(op, {Op::v_movreld_b32, Op::v_movrelsd_b32, Op::v_movrelsd_2_b32, Op::v_swaprel_b32});
}

bool ignores_exec(Op op) {
  return is_one_of(op, {Op::v_readlane_b32, Op::v_writelane_b32, Op::v_nop, Op::v_clrexcp});
}

bool uses_other_lanes(const Instruction& in) {
  // The level of detail depends on neighbouring lanes, active or not.
  const ImageShape* const image = image_shape(in.op);
  if (image != nullptr && image->lod == LodSource::kNeighbours) return true;
  return in.lanes == LaneMode::kDpp || in.lanes == LaneMode::kDpp8 ||
         is_one_of(in.op,
                   {Op::v_readlane_b32, Op::v_readfirstlane_b32, Op::v_writelane_b32, Op::v_permlane16_b32,
                    Op::v_permlanex16_b32, Op::v_permlane64_b32, Op::ds_permute_b32, Op::ds_bpermute_b32,
                    Op::ds_swizzle_b32, Op::ds_append, Op::ds_consume, Op::ds_ordered_count});
}

bool changes_mode(const Instruction& in) {
  if (in.op == Op::s_setreg_b32 || in.op == Op::s_setreg_imm32_b32)
    return register_field(in).id == hwreg::kMode;
  return is_one_of(in.op, {Op::s_round_mode, Op::s_denorm_mode, Op::s_set_gpr_idx_on, Op::s_set_gpr_idx_off,
                           Op::s_set_gpr_idx_mode, Op::s_setvskip, Op::s_rfe_b64, Op::s_rfe_restore_b64});
}

bool goes_elsewhere(Op op) {
  return is_one_of(op, {Op::s_endpgm,
                        Op::s_endpgm_saved,
                        Op::s_endpgm_ordered_ps_done,
                        Op::s_branch,
                        Op::s_cbranch_scc0,
                        Op::s_cbranch_scc1,
                        Op::s_cbranch_vccz,
                        Op::s_cbranch_vccnz,
                        Op::s_cbranch_execz,
                        Op::s_cbranch_execnz,
                        Op::s_cbranch_cdbgsys,
                        Op::s_cbranch_cdbguser,
                        Op::s_cbranch_cdbgsys_or_user,
                        Op::s_cbranch_cdbgsys_and_user,
                        Op::s_cbranch_g_fork,
                        Op::s_cbranch_i_fork,
                        Op::s_cbranch_join,
                        Op::s_setpc_b64,
                        Op::s_swappc_b64,
                        Op::s_call_b64,
                        Op::s_rfe_b64,
                        Op::s_rfe_restore_b64,
                        Op::s_subvector_loop_begin,
                        Op::s_subvector_loop_end,
                        Op::s_trap,
                        Op::s_setkill,
                        Op::s_icache_inv,  // Code may have changed.
                        Op::s_code_end});
}

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kB16 || type == Type::kI16 || type == Type::kU16;
}

class Reader {
 public:
  Reader(const Instruction& in, const Target& target, unsigned wave_size)
      : in_(in), traits_(traits_of(target)), mask_dwords_(wave_size / 32) {}

  Effects run() {
    if (indexes_scalars(in_.op) || in_.lacks_registers) {
      effects_.reads = effects_.writes = Registers::all();
      effects_.lanes = LaneUse::kAcross;
      return effects_;
    }
    for (const Operand& operand : in_.src) read(operand);
    for (const Operand* const operand : {&in_.vaddr, &in_.vdata, &in_.vdata2, &in_.saddr, &in_.soffset})
      read(*operand);
    for (const Operand& operand : in_.extra) read(operand);
    for (unsigned i = 0; i < in_.nsa_count; ++i) effects_.reads.vgprs.set(in_.nsa[i]);
    if (in_.encoding == Encoding::kMimg && !traits_.image_has_dimension) read_image_addresses();
    for (const Operand& operand : in_.dst) write(operand, keeps_part_of_result());
    write(in_.vdst, keeps_part_of_load());

    if (is_scalar_alu(in_.encoding)) {
      scalar();
    } else if (in_.encoding != Encoding::kSmem) {
      vector();
    }
    index_vgprs();
    effects_.changes_mode = changes_mode(in_);
    effects_.goes_elsewhere = goes_elsewhere(in_.op);
    return effects_;
  }

 private:
  unsigned dwords_of(const Operand& operand) const {
    return operand.type == Type::kMask ? mask_dwords_ : operand.dwords;
  }

  void add(Registers& set, const Operand& operand) const {
    if (!operand.exists()) return;
    const unsigned dwords = dwords_of(operand);
    for (unsigned i = 0; i < dwords; ++i) {
      if (operand.is_agpr()) {
        set.agprs.set((operand.code - code::kAgpr + i) & 255);
      } else if (operand.is_vgpr()) {
        set.vgprs.set((operand.vgpr() + i) & 255);
      } else if (operand.code + i < 128 && !(traits_.has_null && operand.code == code::kNull)) {
        set.scalars.set(operand.code + i);
      }
    }
  }

  void read(const Operand& operand) {
    if (!operand.exists()) return;
    if (operand.code == code::kScc) effects_.reads.scc = true;
    if (operand.code == code::kVccz) read_mask(code::kVccLo);
    if (operand.code == code::kExecz) read_mask(code::kExecLo);
    if (operand.code == code::kLdsDirect) effects_.reads.scalars.set(code::kM0);
    add(effects_.reads, operand);
  }

  // The resource determines the number of addresses: assumes the maximum.
  void read_image_addresses() {
    const tables::Image* const image = tables::image(in_.op);
    if (image == nullptr || !in_.vaddr.is_vgpr()) return;
    constexpr unsigned kMostCoordinates = 4, kMostGradients = 6;
    Operand addresses = in_.vaddr;
    addresses.dwords = static_cast<uint8_t>(image->further + (image->gradients ? kMostGradients : 0) +
                                            kMostCoordinates + (image->level ? 1 : 0));
    read(addresses);
  }

  void read_mask(uint16_t first) {
    for (unsigned i = 0; i < mask_dwords_; ++i) effects_.reads.scalars.set(first + i);
  }

  void write(const Operand& operand, bool keeps) {
    if (!operand.exists()) return;
    add(effects_.writes, operand);
    add(keeps ? effects_.reads : effects_.replaces, operand);
  }

  bool keeps_part_of_result() const {
    if (adds_to_destination(in_.op)) return true;
    // Lanes without a source keep their value.
    if (in_.lanes == LaneMode::kDpp || in_.lanes == LaneMode::kDpp8) return true;
    if (in_.lanes == LaneMode::kSdwa && in_.dst_sel != SdwaSel::kDword &&
        in_.dst_unused == SdwaUnused::kPreserve) {
      return true;
    }
    return is_half(in_.dst[0].type) && keeps_other_half(in_, traits_);
  }

  bool keeps_part_of_load() const {
    return keeps_half(in_.op, traits_) || in_.tfe || (in_.encoding == Encoding::kMimg && in_.d16);
  }

  // M0 has the index.
  void index_vgprs() {
    const bool source = indexes_source(in_.op), result = indexes_result(in_.op);
    if (!source && !result) return;
    Registers any;
    any.vgprs.set();
    effects_.reads.scalars.set(code::kM0);
    if (source) effects_.reads |= any;
    if (result) {
      effects_.writes |= any;
      effects_.replaces -= any;
    }
  }

  void scalar() {
    const Op op = in_.op;
    if (reads_scc(op)) effects_.reads.scc = true;
    if (!keeps_scc(in_)) {
      effects_.writes.scc = effects_.replaces.scc = true;
    }
    if (changes_exec(op)) {
      for (unsigned i = 0; i < (is_of_64_lanes(op) ? 2u : 1u); ++i) {
        effects_.reads.scalars.set(code::kExecLo + i);
        effects_.writes.scalars.set(code::kExecLo + i);
        effects_.replaces.scalars.set(code::kExecLo + i);
      }
    }
    switch (op) {
      case Op::s_cbranch_vccz:
      case Op::s_cbranch_vccnz:
        read_mask(code::kVccLo);
        break;
      case Op::s_cbranch_execz:
      case Op::s_cbranch_execnz:
        read_mask(code::kExecLo);
        break;
      case Op::s_getreg_b32:
        // STATUS has EXECZ, VCCZ and SCC.
        if (register_field(in_).id != hwreg::kStatus) break;
        read_mask(code::kVccLo);
        read_mask(code::kExecLo);
        effects_.reads.scc = true;
        break;
      case Op::s_set_gpr_idx_on:
      case Op::s_set_gpr_idx_idx:
      case Op::s_set_gpr_idx_mode:
        effects_.reads.scalars.set(code::kM0);
        effects_.writes.scalars.set(code::kM0);
        break;
      case Op::s_sendmsg:
      case Op::s_sendmsghalt:
        // MSG_GET_DOORBELL returns its result in EXEC.
        effects_.reads.scalars.set(code::kM0).set(code::kExecLo).set(code::kExecHi);
        effects_.writes.scalars.set(code::kExecLo).set(code::kExecHi);
        break;
      case Op::s_cbranch_g_fork:
      case Op::s_cbranch_i_fork:
      case Op::s_cbranch_join:
      case Op::s_subvector_loop_begin:
      case Op::s_subvector_loop_end:
      case Op::s_rfe_b64:
      case Op::s_rfe_restore_b64:
      case Op::s_trap:
        effects_.reads = effects_.writes = Registers::all();
        effects_.replaces = {};
        break;
      default:
        break;
    }
  }

  void vector() {
    const MatrixShape* const matrix = matrix_shape(in_.op);
    const bool is_matrix = matrix != nullptr || is_wave_matrix(in_.op);           // ignores EXEC
    if (matrix != nullptr && matrix->is_sparse) add(effects_.reads, in_.dst[0]);  // C
    effects_.lanes = is_matrix || uses_other_lanes(in_) ? LaneUse::kAcross : LaneUse::kApart;
    if (!ignores_exec(in_.op)) read_mask(code::kExecLo);
    if (in_.op == Op::v_div_fmas_f32 || in_.op == Op::v_div_fmas_f64) read_mask(code::kVccLo);
    if (in_.op == Op::v_swap_b32) {
      add(effects_.reads, in_.dst[0]);
      add(effects_.reads, in_.dst[1]);
    }
    effects_.writes_inactive_lanes = is_matrix || in_.op == Op::v_writelane_b32;
    if (in_.encoding == Encoding::kVintrp || in_.encoding == Encoding::kDs || in_.lds || in_.gds) {
      effects_.reads.scalars.set(code::kM0);
    }
    if (in_.encoding == Encoding::kFlat || in_.encoding == Encoding::kScratch) {
      if (!traits_.flat_scratch_is_hidden) effects_.reads.scalars.set(102).set(103);
    }
    if (in_.tfe || in_.lwe) {
      // The dword after the loaded data reports residency.
      Operand status = in_.vdst.exists() ? in_.vdst : in_.vdata;
      status.code = static_cast<uint16_t>(status.code + status.dwords);
      status.dwords = 1;
      if (status.is_vgpr()) write(status, true);
    }
  }

  const Instruction& in_;
  const Traits& traits_;
  const unsigned mask_dwords_;
  Effects effects_;
};

}  // namespace

bool keeps_other_half(const Instruction& instruction, const Traits& traits) {
  const HalfResult rule = traits.half_result;
  if (rule != HalfResult::kKeepsWhereOpSel) return rule == HalfResult::kKeeps;
  // Multiply-adds introduced with op_sel keep it.
  switch (instruction.op) {
    case Op::v_mac_f16:
    case Op::v_madak_f16:
    case Op::v_madmk_f16:
      return true;
    case Op::v_mad_legacy_f16:
    case Op::v_mad_legacy_u16:
    case Op::v_mad_legacy_i16:
    case Op::v_fma_legacy_f16:
    case Op::v_div_fixup_legacy_f16:
      return false;
    case Op::v_mad_f16:
    case Op::v_mad_u16:
    case Op::v_mad_i16:
    case Op::v_fma_f16:
    case Op::v_div_fixup_f16:
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
    case Op::v_cvt_pk_fp8_f32:
    case Op::v_cvt_pk_bf8_f32:
      return instruction.encoding == Encoding::kVop3;
    default:
      return false;
  }
}

Effects effects_of(const Instruction& instruction, const Target& target, unsigned wave_size) {
  if (instruction.second_op != Op::none) {  // Both operations read before either writes.
    Effects effects = Reader(first_of_pair(instruction), target, wave_size).run();
    const Effects second = Reader(second_of_pair(instruction), target, wave_size).run();
    effects.reads |= second.reads;
    effects.writes |= second.writes;
    effects.replaces |= second.replaces;
    return effects;
  }
  return Reader(instruction, target, wave_size).run();
}

}  // namespace rigel::vgpu::isa
