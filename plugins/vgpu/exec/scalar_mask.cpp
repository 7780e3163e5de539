// Scalar operations that modify EXEC, that read their destination, or that select registers at run time.
#include <span>

#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::scalar {

namespace {

using isa::Op;
using u32 = uint32_t;
using u64 = uint64_t;

void take_exec(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

// D = EXEC; EXEC = S0 op EXEC; SCC = EXEC != 0. The wrexec forms write the new EXEC to D.
// ---------------------------------------------------------------------------------------------------

template <class T, auto Fn, bool kConstant, bool kReturnsNew>
void save_exec(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  T& slot = at<T>(registers, scalar_offset(kExec));
  const T old_exec = slot;
  const T new_exec = Fn(read<T, kConstant>(op, 0, registers), old_exec);
  slot = new_exec;
  at<T>(registers, op->dst) = kReturnsNew ? new_exec : old_exec;
  wave->scc = new_exec != 0;
  // A write of 32 bits in a wave of 64 keeps the upper lanes.
  RIGEL_NEXT(op + 1, wave, registers, sizeof(T) == 8 ? u64{new_exec} & op->imm : wave->exec());
}

// The kernel compiler finds this type by name.
struct SavesExec {
  Op op;
  uint8_t dwords = 1;
  Handler handlers[2] = {};  // for a source in registers, for a constant
};

template <auto Fn, bool kReturnsNew = false>
constexpr SavesExec saves_exec(Op b32, Op b64) {
  using T = decltype(Fn(0, 0));
  return {by_size<T>(b32, b64),
          sizeof(T) / 4,
          {save_exec<T, Fn, false, kReturnsNew>, save_exec<T, Fn, true, kReturnsNew>}};
}

template <class T>  // u32, u64
constexpr SavesExec kSaveExecs[] = {
    saves_exec<([](T a, T exec) { return a & exec; })>(Op::s_and_saveexec_b32, Op::s_and_saveexec_b64),
    saves_exec<([](T a, T exec) { return a | exec; })>(Op::s_or_saveexec_b32, Op::s_or_saveexec_b64),
    saves_exec<([](T a, T exec) { return a ^ exec; })>(Op::s_xor_saveexec_b32, Op::s_xor_saveexec_b64),
    saves_exec<([](T a, T exec) { return a & ~exec; })>(Op::s_andn2_saveexec_b32, Op::s_andn2_saveexec_b64),
    saves_exec<([](T a, T exec) { return a | ~exec; })>(Op::s_orn2_saveexec_b32, Op::s_orn2_saveexec_b64),
    saves_exec<([](T a, T exec) { return ~(a & exec); })>(Op::s_nand_saveexec_b32, Op::s_nand_saveexec_b64),
    saves_exec<([](T a, T exec) { return ~(a | exec); })>(Op::s_nor_saveexec_b32, Op::s_nor_saveexec_b64),
    saves_exec<([](T a, T exec) { return ~(a ^ exec); })>(Op::s_xnor_saveexec_b32, Op::s_xnor_saveexec_b64),
    saves_exec<([](T a, T exec) { return ~a & exec; })>(Op::s_andn1_saveexec_b32, Op::s_andn1_saveexec_b64),
    saves_exec<([](T a, T exec) { return ~a | exec; })>(Op::s_orn1_saveexec_b32, Op::s_orn1_saveexec_b64),
    saves_exec<([](T a, T exec) { return ~a & exec; }), true>(Op::s_andn1_wrexec_b32, Op::s_andn1_wrexec_b64),
    saves_exec<([](T a, T exec) { return a & ~exec; }), true>(Op::s_andn2_wrexec_b32, Op::s_andn2_wrexec_b64),
};

constexpr std::span<const SavesExec> kTables[] = {kSaveExecs<u32>, kSaveExecs<u64>};

const SavesExec* find_save_exec(Op op) {
  for (const std::span<const SavesExec> table : kTables) {
    for (const SavesExec& saves : table) {
      if (saves.op == op) return &saves;
    }
  }
  return nullptr;
}

Refusal lower_save_exec(const SavesExec& saves, const isa::Instruction& instruction, LoweringContext& context,
                        Emitter& out) {
  const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
  uint32_t dst = 0;
  if (!a.ok || !destination_offset(instruction.dst[0], context, dst))
    return "operand does not exist on this GPU";
  if (touches_exec(dst, saves.dwords)) return "EXEC cannot be saved in EXEC";
  const uint8_t slot = a.place.is_constant ? 1 : 0;
  MicroOp& op = out.emit(saves.handlers[slot]);
  out.identify({.kind = KnownOperation::Kind::kSaveExec, .slot = slot, .op = saves.op});
  op.src[0] = a.place.source;
  op.dst = dst;
  op.imm = context.layout.wave_size == 64 ? ~u64{0} : 0xffffffffu;
  return {};
}

// Operations that read their destination
// ---------------------------------------------------------------------------------------------------

template <class T>
void conditional_move(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (wave->scc != 0) at<T>(registers, op->dst) = at<T>(registers, op->src[0].offset);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <class T, T kBit>
void set_bit(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 index = at<u32>(registers, op->src[0].offset) & (sizeof(T) * 8 - 1);
  T& slot = at<T>(registers, op->dst);
  slot = static_cast<T>((slot & ~(T{1} << index)) | kBit << index);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_in_place(const isa::Instruction& instruction, LoweringContext& context, Emitter& out,
                       uint32_t dwords, Handler handler) {
  PlaceOf a;
  if (instruction.encoding == isa::Encoding::kSopk) {
    a.place.is_constant = true;
    a.place.source.constant = static_cast<u32>(int32_t{static_cast<int16_t>(instruction.simm16)});
  } else {
    a = source_place(instruction.src[0], instruction, context, out, 0);
  }
  uint32_t dst = 0;
  if (!a.ok || !destination_offset(instruction.dst[0], context, dst))
    return "operand does not exist on this GPU";
  a = register_place(a, out, 0);
  MicroOp& op = out.emit(handler);
  op.src[0] = a.place.source;
  op.dst = dst;
  if (touches_exec(dst, dwords)) emit_take_exec(out);
  return {};
}

// Registers selected by M0. An index past the wave's registers reads s0 and writes nothing.
// ---------------------------------------------------------------------------------------------------

template <class T>
u32 indexed_offset(const MicroOp* op, u32 offset, u32 index, u32 fallback) {
  const u64 code = u64{offset} / 4 + index;
  return code + sizeof(T) / 4 > op->aux ? fallback : static_cast<u32>(code) * 4;
}
template <class T>
u32 relative_source(const MicroOp* op, u32 index) {
  return indexed_offset<T>(op, op->src[0].offset, index, 0);
}
template <class T>
u32 relative_destination(const MicroOp* op, u32 index) {
  return indexed_offset<T>(op, op->dst, index, scalar_offset(kSinkSlot));
}

template <class T>
void move_relative_source(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 from = relative_source<T>(op, wave->scalars()[kM0]);
  at<T>(registers, op->dst) = at<T>(registers, from);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <class T>
void move_relative_destination(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 to = relative_destination<T>(op, wave->scalars()[kM0]);
  at<T>(registers, to) = at<T>(registers, op->src[0].offset);
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
                            Handler handler, bool takes_constants) {
  PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
  uint32_t dst = 0;
  if (!a.ok || !destination_offset(instruction.dst[0], context, dst))
    return "operand does not exist on this GPU";
  if (a.place.is_constant && !takes_constants) return "base of a relative source is a constant";
  a = register_place(a, out, 0);
  MicroOp& op = out.emit(handler);
  op.src[0] = a.place.source;
  op.dst = dst;
  // If a wave has all SGPRs, VCC follows them and is in range.
  op.aux = context.layout.sgprs < kFlatScratchSgpr ? context.layout.sgprs : kAllSgprs + 2;
  if (touches_exec(dst, 2)) emit_take_exec(out);
  return {};
}

// VGPR indexing (gfx8, gfx9): M0[7:0] is the index, M0[15:12] selects the operands.
// ---------------------------------------------------------------------------------------------------

// src[0]: index; src[1]: bits of M0 to replace; src[2]: operand selection for M0; aux: bits to set in MODE.
void gpr_index(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 mask = static_cast<u32>(op->src[1].constant);
  const u32 index = at<u32>(registers, op->src[0].offset) & mask & 0xff;
  u32& m0 = wave->scalars()[kM0];
  m0 = (m0 & ~mask) | index | static_cast<u32>(op->src[2].constant);
  wave->mode |= op->aux;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void gpr_index_off(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->mode &= ~kGprIndexEnable;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_gpr_index(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  if (instruction.op == Op::s_set_gpr_idx_off) {
    out.emit(gpr_index_off);
    emit_change_variant(instruction, context, out);
    return {};
  }
  const bool has_index = instruction.op != Op::s_set_gpr_idx_mode;
  const bool has_mode = instruction.op != Op::s_set_gpr_idx_idx;
  PlaceOf a;
  if (has_index) a = register_place(source_place(instruction.src[0], instruction, context, out, 0), out, 0);
  if (!a.ok) return "operand does not exist on this GPU";
  MicroOp& op = out.emit(gpr_index);
  op.src[0] = a.place.source;
  op.src[1].constant = (has_index ? 0xffu : 0u) | (has_mode ? 0xf000u : 0u);
  op.src[2].constant = has_mode ? (instruction.simm16 & 15u) << 12 : 0u;
  op.aux = instruction.op == Op::s_set_gpr_idx_on ? kGprIndexEnable : 0;
  if (has_mode) emit_change_variant(instruction, context, out);
  return {};
}

}  // namespace

void emit_take_exec(Emitter& out) {
  out.emit(take_exec);
  out.identify({.kind = KnownOperation::Kind::kTakeExec});
}

Refusal lower_mask(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const isa::Instruction& i = instruction;
  if (const SavesExec* const saves = find_save_exec(i.op)) return lower_save_exec(*saves, i, context, out);
  switch (i.op) {
    case Op::s_cmov_b32:
    case Op::s_cmovk_i32:
      return lower_in_place(i, context, out, 1, conditional_move<u32>);
    case Op::s_cmov_b64:
      return lower_in_place(i, context, out, 2, conditional_move<u64>);
    case Op::s_bitset0_b32:
      return lower_in_place(i, context, out, 1, set_bit<u32, 0>);
    case Op::s_bitset1_b32:
      return lower_in_place(i, context, out, 1, set_bit<u32, 1>);
    case Op::s_bitset0_b64:
      return lower_in_place(i, context, out, 2, set_bit<u64, 0>);
    case Op::s_bitset1_b64:
      return lower_in_place(i, context, out, 2, set_bit<u64, 1>);

    case Op::s_movrels_b32:
      return lower_move_relative(i, context, out, move_relative_source<u32>, false);
    case Op::s_movrels_b64:
      return lower_move_relative(i, context, out, move_relative_source<u64>, false);
    case Op::s_movreld_b32:
      return lower_move_relative(i, context, out, move_relative_destination<u32>, true);
    case Op::s_movreld_b64:
      return lower_move_relative(i, context, out, move_relative_destination<u64>, true);
    case Op::s_movrelsd_2_b32:
      return lower_move_relative(i, context, out, move_relative_both, false);

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
