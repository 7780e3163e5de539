// Scalar operations that work on EXEC, or whose destination is a source as well, or is chosen at run time.
#include <algorithm>
#include <iterator>
#include <type_traits>

#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::scalar {

void take_exec(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

namespace {

using isa::Op;
using u32 = uint32_t;
using u64 = uint64_t;

// D = EXEC; EXEC = S0 op EXEC; SCC = EXEC != 0. The wrexec forms give the new EXEC to D as well.
// ---------------------------------------------------------------------------------------------------

enum class Combine : uint8_t { kAnd, kOr, kXor, kAndn2, kOrn2, kNand, kNor, kXnor, kAndn1, kOrn1 };

template <Combine kHow, class T>
T combine(T a, T exec) {
  switch (kHow) {
    case Combine::kAnd:
      return a & exec;
    case Combine::kOr:
      return a | exec;
    case Combine::kXor:
      return a ^ exec;
    case Combine::kAndn2:
      return a & static_cast<T>(~exec);
    case Combine::kOrn2:
      return a | static_cast<T>(~exec);
    case Combine::kNand:
      return ~(a & exec);
    case Combine::kNor:
      return ~(a | exec);
    case Combine::kXnor:
      return ~(a ^ exec);
    case Combine::kAndn1:
      return static_cast<T>(~a) & exec;
    case Combine::kOrn1:
      return static_cast<T>(~a) | exec;
  }
}

template <class T, Combine kHow, bool kConstant, bool kKeepNew>
void save_exec(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  T& slot = at<T>(registers, scalar_offset(kExec));
  const T old = slot;
  const T now = combine<kHow, T>(read<T, kConstant>(op, 0, registers), old);
  slot = now;
  at<T>(registers, op->dst) = kKeepNew ? now : old;
  wave->scc = now != 0;
  // 32 bits written in a wave of 64 leave the upper lanes as they are.
  RIGEL_NEXT(op + 1, wave, registers, sizeof(T) == 8 ? u64{now} & op->imm : wave->exec());
}

struct SavesExec {
  Op op;
  uint8_t dwords = 1;
  Handler handlers[2] = {};  // of a source in registers, and of a constant
};

template <class T, Combine kHow, bool kKeepNew = false>
constexpr SavesExec saves_exec(Op op) {
  return {op, sizeof(T) / 4, {save_exec<T, kHow, false, kKeepNew>, save_exec<T, kHow, true, kKeepNew>}};
}

constexpr SavesExec kSaveExecs[] = {
    saves_exec<u32, Combine::kAnd>(Op::s_and_saveexec_b32),
    saves_exec<u64, Combine::kAnd>(Op::s_and_saveexec_b64),
    saves_exec<u32, Combine::kOr>(Op::s_or_saveexec_b32),
    saves_exec<u64, Combine::kOr>(Op::s_or_saveexec_b64),
    saves_exec<u32, Combine::kXor>(Op::s_xor_saveexec_b32),
    saves_exec<u64, Combine::kXor>(Op::s_xor_saveexec_b64),
    saves_exec<u32, Combine::kAndn2>(Op::s_andn2_saveexec_b32),
    saves_exec<u64, Combine::kAndn2>(Op::s_andn2_saveexec_b64),
    saves_exec<u32, Combine::kOrn2>(Op::s_orn2_saveexec_b32),
    saves_exec<u64, Combine::kOrn2>(Op::s_orn2_saveexec_b64),
    saves_exec<u32, Combine::kNand>(Op::s_nand_saveexec_b32),
    saves_exec<u64, Combine::kNand>(Op::s_nand_saveexec_b64),
    saves_exec<u32, Combine::kNor>(Op::s_nor_saveexec_b32),
    saves_exec<u64, Combine::kNor>(Op::s_nor_saveexec_b64),
    saves_exec<u32, Combine::kXnor>(Op::s_xnor_saveexec_b32),
    saves_exec<u64, Combine::kXnor>(Op::s_xnor_saveexec_b64),
    saves_exec<u32, Combine::kAndn1>(Op::s_andn1_saveexec_b32),
    saves_exec<u64, Combine::kAndn1>(Op::s_andn1_saveexec_b64),
    saves_exec<u32, Combine::kOrn1>(Op::s_orn1_saveexec_b32),
    saves_exec<u64, Combine::kOrn1>(Op::s_orn1_saveexec_b64),
    saves_exec<u32, Combine::kAndn1, true>(Op::s_andn1_wrexec_b32),
    saves_exec<u64, Combine::kAndn1, true>(Op::s_andn1_wrexec_b64),
    saves_exec<u32, Combine::kAndn2, true>(Op::s_andn2_wrexec_b32),
    saves_exec<u64, Combine::kAndn2, true>(Op::s_andn2_wrexec_b64),
};

const SavesExec* find_save_exec(Op op) {
  const auto* const found = std::find_if(std::begin(kSaveExecs), std::end(kSaveExecs),
                                         [&](const SavesExec& s) { return s.op == op; });
  return found == std::end(kSaveExecs) ? nullptr : found;
}

Refusal lower_save_exec(const SavesExec& saves, const isa::Instruction& instruction, LoweringContext& context,
                        Emitter& out) {
  const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
  uint32_t dst = 0;
  if (!a.ok || !destination_offset(instruction.dst[0], context, dst)) return "an operand that does not exist";
  if (touches_exec(dst, saves.dwords)) return "EXEC as the place to save EXEC";
  MicroOp& op = out.emit(saves.handlers[a.place.is_constant ? 1 : 0]);
  op.src[0] = a.place.source;
  op.dst = dst;
  op.imm = context.layout.wave_size == 64 ? ~u64{0} : 0xffffffffu;
  return {};
}

// The destination as a source
// ---------------------------------------------------------------------------------------------------

template <class T, bool kConstant>
void conditional_move(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (wave->scc != 0) at<T>(registers, op->dst) = read<T, kConstant>(op, 0, registers);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <class T, T kBit, bool kConstant>
void set_bit(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 index = read<u32, kConstant>(op, 0, registers) & (sizeof(T) * 8 - 1);
  T& slot = at<T>(registers, op->dst);
  slot = static_cast<T>((slot & ~(T{1} << index)) | kBit << index);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_in_place(const isa::Instruction& instruction, LoweringContext& context, Emitter& out,
                       uint32_t dwords, Handler constant, Handler variable) {
  PlaceOf a;
  if (instruction.encoding == isa::Encoding::kSopk) {
    a.place.is_constant = true;
    a.place.source.constant = static_cast<u32>(int32_t{static_cast<int16_t>(instruction.simm16)});
  } else {
    a = source_place(instruction.src[0], instruction, context, out, 0);
  }
  uint32_t dst = 0;
  if (!a.ok || !destination_offset(instruction.dst[0], context, dst)) return "an operand that does not exist";
  MicroOp& op = out.emit(a.place.is_constant ? constant : variable);
  op.src[0] = a.place.source;
  op.dst = dst;
  if (touches_exec(dst, dwords)) out.emit(take_exec);
  return {};
}

// Registers that M0 chooses. With an index outside of the wave's registers s0 is read, and nothing written.
// ---------------------------------------------------------------------------------------------------

template <class T>
u32 relative(const MicroOp* op, u32 offset, u32 index, u32 otherwise) {
  const u64 code = u64{offset} / 4 + index;
  return code + sizeof(T) / 4 > op->aux ? otherwise : static_cast<u32>(code) * 4;
}
template <class T>
u32 relative_source(const MicroOp* op, u32 index) {
  return relative<T>(op, op->src[0].offset, index, 0);
}
template <class T>
u32 relative_destination(const MicroOp* op, u32 index) {
  return relative<T>(op, op->dst, index, scalar_offset(kSinkSlot));
}

template <class T>
void move_relative_source(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 from = relative_source<T>(op, wave->scalars()[kM0]);
  at<T>(registers, op->dst) = at<T>(registers, from);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <class T, bool kConstant>
void move_relative_destination(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 to = relative_destination<T>(op, wave->scalars()[kM0]);
  at<T>(registers, to) = read<T, kConstant>(op, 0, registers);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void move_relative_both(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 m0 = wave->scalars()[kM0];
  const u32 from = relative_source<u32>(op, m0 & 0x3ff);
  const u32 to = relative_destination<u32>(op, m0 >> 16 & 0x3ff);
  at<u32>(registers, to) = at<u32>(registers, from);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_move_relative(const isa::Instruction& instruction, LoweringContext& context, Emitter& out,
                            Handler constant, Handler variable) {
  const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
  uint32_t dst = 0;
  if (!a.ok || !destination_offset(instruction.dst[0], context, dst)) return "an operand that does not exist";
  if (a.place.is_constant && constant == nullptr) return "a constant as the base of a relative source";
  MicroOp& op = out.emit(a.place.is_constant ? constant : variable);
  op.src[0] = a.place.source;
  op.dst = dst;
  // VCC lies behind the last of all SGPRs.
  op.aux = context.layout.sgprs < kFlatScratchSgpr ? context.layout.sgprs : kAllSgprs + 2;
  if (touches_exec(dst, 2)) out.emit(take_exec);
  return {};
}

// VGPR indexing (gfx8, gfx9): M0[7:0] is the index, M0[15:12] what it applies to.
// ---------------------------------------------------------------------------------------------------

template <bool kConstant>
void gpr_index_on(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  u32& m0 = wave->scalars()[kM0];
  m0 = (m0 & ~0xf0ffu) | (read<u32, kConstant>(op, 0, registers) & 0xff) | op->aux << 12;
  wave->mode |= kGprIndexEnable;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void gpr_index_off(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->mode &= ~kGprIndexEnable;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void gpr_index_mode(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  u32& m0 = wave->scalars()[kM0];
  m0 = (m0 & ~0xf000u) | op->aux << 12;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <bool kConstant>
void gpr_index_set(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  u32& m0 = wave->scalars()[kM0];
  m0 = (m0 & ~0xffu) | (read<u32, kConstant>(op, 0, registers) & 0xff);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_gpr_index(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  switch (instruction.op) {
    case Op::s_set_gpr_idx_on: {
      const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
      if (!a.ok) return "an operand that does not exist";
      MicroOp& op = out.emit(a.place.is_constant ? gpr_index_on<true> : gpr_index_on<false>);
      op.src[0] = a.place.source;
      op.aux = instruction.simm16 & 15;
      break;
    }
    case Op::s_set_gpr_idx_idx: {
      const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
      if (!a.ok) return "an operand that does not exist";
      out.emit(a.place.is_constant ? gpr_index_set<true> : gpr_index_set<false>).src[0] = a.place.source;
      return {};
    }
    case Op::s_set_gpr_idx_off:
      out.emit(gpr_index_off);
      break;
    default:
      out.emit(gpr_index_mode).aux = instruction.simm16 & 15;
      break;
  }
  emit_change_variant(instruction, context, out);
  return {};
}

}  // namespace

int save_exec_slot(isa::Op op, Handler handler) {
  const SavesExec* const saves = find_save_exec(op);
  if (saves == nullptr) return -1;
  return handler == saves->handlers[0] ? 0 : handler == saves->handlers[1] ? 1 : -1;
}

Refusal lower_mask(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const isa::Instruction& i = instruction;
  if (const SavesExec* const saves = find_save_exec(i.op)) return lower_save_exec(*saves, i, context, out);
  switch (i.op) {
    case Op::s_cmov_b32:
    case Op::s_cmovk_i32:
      return lower_in_place(i, context, out, 1, conditional_move<u32, true>, conditional_move<u32, false>);
    case Op::s_cmov_b64:
      return lower_in_place(i, context, out, 2, conditional_move<u64, true>, conditional_move<u64, false>);
    case Op::s_bitset0_b32:
      return lower_in_place(i, context, out, 1, set_bit<u32, 0, true>, set_bit<u32, 0, false>);
    case Op::s_bitset1_b32:
      return lower_in_place(i, context, out, 1, set_bit<u32, 1, true>, set_bit<u32, 1, false>);
    case Op::s_bitset0_b64:
      return lower_in_place(i, context, out, 2, set_bit<u64, 0, true>, set_bit<u64, 0, false>);
    case Op::s_bitset1_b64:
      return lower_in_place(i, context, out, 2, set_bit<u64, 1, true>, set_bit<u64, 1, false>);

    case Op::s_movrels_b32:
      return lower_move_relative(i, context, out, nullptr, move_relative_source<u32>);
    case Op::s_movrels_b64:
      return lower_move_relative(i, context, out, nullptr, move_relative_source<u64>);
    case Op::s_movreld_b32:
      return lower_move_relative(i, context, out, move_relative_destination<u32, true>,
                                 move_relative_destination<u32, false>);
    case Op::s_movreld_b64:
      return lower_move_relative(i, context, out, move_relative_destination<u64, true>,
                                 move_relative_destination<u64, false>);
    case Op::s_movrelsd_2_b32:
      return lower_move_relative(i, context, out, nullptr, move_relative_both);

    case Op::s_set_gpr_idx_on:
    case Op::s_set_gpr_idx_off:
    case Op::s_set_gpr_idx_idx:
    case Op::s_set_gpr_idx_mode:
      return lower_gpr_index(i, context, out);
    default:
      return kNotMine;
  }
}

}  // namespace rigel::vgpu::exec::scalar
