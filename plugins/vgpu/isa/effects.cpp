#include "plugins/vgpu/isa/effects.hpp"

#include <initializer_list>

#include "plugins/vgpu/isa/hardware_register.hpp"
#include "plugins/vgpu/isa/image_shape.hpp"
#include "plugins/vgpu/isa/implicit_effects.hpp"
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

// The destination partly keeps its value: conditionally, other bits, or other lanes.
bool adds_to_destination(Op op) {
  return is_one_of(op, {Op::s_cmov_b32, Op::s_cmov_b64, Op::s_cmovk_i32, Op::s_bitset0_b32, Op::s_bitset0_b64,
                        Op::s_bitset1_b32, Op::s_bitset1_b64, Op::s_mulk_i32, Op::s_addk_i32,
                        Op::v_writelane_b32, Op::v_permlane16_b32, Op::v_permlanex16_b32,
                        Op::v_permlane64_b32, Op::v_cvt_pkaccum_u8_f32, Op::v_mad_mixlo_f16,
                        Op::v_mad_mixhi_f16, Op::v_fma_mixlo_f16, Op::v_fma_mixhi_f16, Op::v_interp_p2_f32});
}

// Loads of one half of a register that keep the other half; also formats with an odd number of halves.
bool keeps_half(Op op, const Traits& traits) {
  const MemoryShape* const shape = memory_shape(op, traits);
  return shape != nullptr && shape->verb == Verb::kLoad && shape->d16 && !shape->clears_half &&
         (shape->high || shape->components == 0 || shape->components % 2 != 0);
}

bool indexes_source(Op op) {
  return is_one_of(op, {Op::v_movrels_b32, Op::v_movrelsd_b32, Op::v_movrelsd_2_b32, Op::v_swaprel_b32});
}

bool indexes_result(Op op) {
  return is_one_of(op, {Op::v_movreld_b32, Op::v_movrelsd_b32, Op::v_movrelsd_2_b32, Op::v_swaprel_b32});
}

bool uses_other_lanes(const Instruction& in) {
  // The level of detail depends on neighbouring lanes, active or not.
  const ImageShape* const image = image_shape(in.op);
  if (image != nullptr && image->lod == LodSource::kNeighbours) return true;
  const MemoryShape* const memory = memory_shape(in.op);
  if (memory != nullptr && memory->transposes) return true;
  return in.lanes == LaneMode::kDpp || in.lanes == LaneMode::kDpp8 ||
         is_one_of(in.op,
                   {Op::v_readlane_b32, Op::v_readfirstlane_b32, Op::v_writelane_b32, Op::v_permlane16_b32,
                    Op::v_permlanex16_b32, Op::v_permlane64_b32, Op::v_permlane16_var_b32,
                    Op::v_permlanex16_var_b32, Op::ds_permute_b32, Op::ds_bpermute_b32, Op::ds_swizzle_b32,
                    Op::ds_append, Op::ds_consume, Op::ds_ordered_count});
}

// s_setreg writes a field of any hardware register.
bool changes_mode(const Instruction& in) {
  const bool names_register = in.op == Op::s_setreg_b32 || in.op == Op::s_setreg_imm32_b32;
  return implicit_effects(in.op).has(implicit::kWritesMode) &&
         (!names_register || register_field(in).id == hwreg::kMode);
}

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kB16 || type == Type::kI16 || type == Type::kU16;
}

class Reader {
 public:
  Reader(const Instruction& in, const Target& target, unsigned wave_size)
      : in_(in),
        implicit_(implicit_effects(in.op)),
        traits_(traits_of(target)),
        mask_dwords_(wave_size / 32) {}

  Effects run() {
    effects_.changes_mode = changes_mode(in_);
    effects_.flow = implicit_.flow;
    if (implicit_.has(implicit::kAnyRegister) || in_.lacks_registers) {
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
    if (implicit_.has(implicit::kReadsVcc)) read_mask(code::kVccLo);
    if (implicit_.has(implicit::kReadsM0)) effects_.reads.scalars.set(code::kM0);
    if (implicit_.has(implicit::kWritesM0)) effects_.writes.scalars.set(code::kM0);
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
    return keeps_half(in_.op, traits_) || accesses_block(in_.op) || in_.tfe ||
           (in_.encoding == Encoding::kMimg && in_.d16);
  }

  // M0 has the index.
  void index_vgprs() {
    Registers any;
    any.vgprs.set();
    if (indexes_source(in_.op)) effects_.reads |= any;
    if (indexes_result(in_.op)) {
      effects_.writes |= any;
      effects_.replaces -= any;
    }
  }

  void scalar() {
    if (implicit_.has(implicit::kReadsScc)) effects_.reads.scc = true;
    if (implicit_.has(implicit::kWritesScc)) effects_.writes.scc = effects_.replaces.scc = true;
    if (implicit_.has(implicit::kWritesExec)) {
      const bool replaces = implicit_.logic != Logic::kNone;
      const unsigned dwords = replaces ? in_.dst[0].dwords : 2;
      for (unsigned i = 0; i < dwords; ++i) {
        effects_.reads.scalars.set(code::kExecLo + i);
        effects_.writes.scalars.set(code::kExecLo + i);
        if (replaces) effects_.replaces.scalars.set(code::kExecLo + i);
      }
    } else if (implicit_.has(implicit::kReadsExec)) {
      read_mask(code::kExecLo);
    }
    if (in_.op == Op::s_getreg_b32 && traits_.has_split_status &&
        register_field(in_).id == hwreg::kStatePrivate)
      effects_.reads.scc = true;
    if (in_.op == Op::s_getreg_b32 && register_field(in_).id == hwreg::kStatus) {  // EXECZ, VCCZ and SCC.
      read_mask(code::kVccLo);
      read_mask(code::kExecLo);
      effects_.reads.scc = true;
    }
  }

  // M0 has the address of a counter or a row, and a limit for all accesses on some chips.
  bool reads_m0_for_lds() const {
    return in_.encoding == Encoding::kDs &&
           (traits_.m0_limits_lds || is_one_of(in_.op, {Op::ds_append, Op::ds_consume, Op::ds_read_addtid_b32,
                                                        Op::ds_write_addtid_b32}));
  }

  void vector() {
    const MatrixShape* const matrix = matrix_shape(in_.op);
    const WaveMatrixShape* const wave = wave_matrix_shape(in_.op);
    const bool is_matrix = matrix != nullptr || wave != nullptr;  // ignores EXEC
    if ((matrix != nullptr && matrix->is_sparse) || (wave != nullptr && wave->is_sparse))
      add(effects_.reads, in_.dst[0]);  // C
    effects_.lanes = is_matrix || uses_other_lanes(in_) ? LaneUse::kAcross : LaneUse::kApart;
    if (!implicit_.has(implicit::kIgnoresExec)) read_mask(code::kExecLo);
    if (in_.op == Op::v_swap_b32) {
      add(effects_.reads, in_.dst[0]);
      add(effects_.reads, in_.dst[1]);
    }
    effects_.writes_inactive_lanes = is_matrix || in_.op == Op::v_writelane_b32;
    if (in_.encoding == Encoding::kVintrp || in_.lds || in_.gds || reads_m0_for_lds() ||
        accesses_block(in_.op))
      effects_.reads.scalars.set(code::kM0);
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
  const ImplicitEffects implicit_;
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
