// Branches, calls, barriers and ends.
#include <bit>

#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::scalar {
namespace {

using isa::Op;
using u32 = uint32_t;
using u64 = uint64_t;

// Branches
// ---------------------------------------------------------------------------------------------------

// The slow path of a branch: an unresolved link, or the end of the time slice.
[[gnu::noinline]] void branch_slowly(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  Link* const link = reinterpret_cast<Link*>(op->imm);
  const MicroOp* next = link->target.load(std::memory_order_acquire);
  if (next == nullptr) next = follow(op, link);
  wave->budget -= link->cost;
  if (slice_is_over(wave)) RIGEL_LEAVE(next, wave);
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

// src[0]: mask of the wave's lanes.
template <auto kTaken>
void branch(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u64 vcc = at<u64>(registers, scalar_offset(kVcc)) & op->src[0].constant;
  if (!kTaken(*wave, vcc, exec)) RIGEL_NEXT(op + 1, wave, registers, exec);
  Link* const link = reinterpret_cast<Link*>(op->imm);
  const MicroOp* const next = link->target.load(std::memory_order_acquire);
  const int64_t left = wave->budget - link->cost;
  if (next == nullptr || left < 0) [[unlikely]]
    RIGEL_NEXT_SLOW(branch_slowly, op, wave, registers, exec);
  wave->budget = left;
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

void emit_branch(Handler handler, uint64_t target, const LoweringContext& context, Emitter& out) {
  Link* const link = out.link(target);
  MicroOp& op = out.emit(handler);
  op.imm = reinterpret_cast<u64>(link);
  op.src[0].constant = context.layout.wave_size == 64 ? ~u64{0} : 0xffffffffu;
}

uint64_t branch_target(const isa::Instruction& instruction, const LoweringContext& context) {
  return context.pc + 4 + static_cast<u64>(int64_t{static_cast<int16_t>(instruction.simm16)} * 4);
}

// Jumps to addresses in registers
// ---------------------------------------------------------------------------------------------------

// imm: instructions since the start of the block.
template <bool kCalls>
void jump_to(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u64 pc = at<u64>(registers, op->src[0].offset) & ~u64{3};
  const MicroOp* const next = kCalls ? find_function(wave, op, pc) : find_code(wave, op, pc);
  wave->budget -= static_cast<int64_t>(op->imm);
  if (slice_is_over(wave) || (kCalls && wave->stop == Stop::kBudget)) RIGEL_LEAVE(next, wave);
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

void copy_address(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  at<u64>(registers, op->dst) = at<u64>(registers, op->src[0].offset);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_address(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const bool reads = instruction.op == Op::s_setpc_b64 || instruction.op == Op::s_swappc_b64;
  const bool calls = instruction.op == Op::s_call_b64 || instruction.op == Op::s_swappc_b64;
  uint32_t target = scalar_offset(kScalarTemporary + 4);
  if (reads) {
    const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
    if (!a.ok || a.place.is_constant) return "program counter operand is not a register";
    if (instruction.op == Op::s_swappc_b64) {  // The destination may overlap the source.
      MicroOp& copy = out.emit(copy_address);
      copy.src[0] = a.place.source;
      copy.dst = target;
    } else {
      target = a.place.source.offset;
    }
  }
  if (instruction.op != Op::s_setpc_b64) {
    uint32_t dst = 0;
    if (!destination_offset(instruction.dst[0], context, dst)) return "destination is not a register";
    MicroOp& op = out.emit(put_constant);
    op.dst = dst;
    op.src[0].constant = context.pc + instruction.bytes;
    if (touches_exec(dst, 2)) emit_take_exec(out);
  }
  if (instruction.op == Op::s_call_b64) {
    MicroOp& op = out.emit(put_constant);
    op.dst = target;
    op.src[0].constant = branch_target(instruction, context);
  }
  if (calls || reads) {
    MicroOp& op = out.emit(calls ? jump_to<true> : jump_to<false>);
    op.src[0].offset = target;
    op.imm = context.position + 1;
    context.ends_block = true;
  }
  return {};
}

// gfx8, gfx9: forks and joins
// ---------------------------------------------------------------------------------------------------

// A fork continues on one path with some lanes. It pushes the other lanes and their address to a stack of
// entries of four SGPRs. CSP in MODE is the number of entries.
constexpr u32 kCspShift = 29;

uint32_t* top_entry(Wave* wave) {
  return wave->scalars() + (wave->mode >> kCspShift) * 4;
}

// src[0]: lanes that branch; src[1]: target; src[2]: address of the next instruction; imm: as in jump_to().
void fork(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u64 mask = at<u64>(registers, op->src[0].offset);
  const u64 target = at<u64>(registers, op->src[1].offset);
  const u64 next_pc = op->src[2].constant;
  const u64 pass = exec & mask, fail = exec & ~mask;
  u64 pc = target;
  if (pass != exec && fail == exec) {
    pc = next_pc;
  } else if (pass != exec) {
    // The smaller part runs first, which limits the depth of the stack.
    const bool fails_first = std::popcount(fail) < std::popcount(pass);
    const u64 later[2] = {fails_first ? pass : fail, fails_first ? target : next_pc};
    std::memcpy(top_entry(wave), later, sizeof later);
    wave->mode += 1u << kCspShift;
    at<u64>(registers, scalar_offset(kExec)) = fails_first ? fail : pass;
    pc = fails_first ? next_pc : target;
  }
  wave->budget -= static_cast<int64_t>(op->imm);
  const MicroOp* const next = find_code(wave, op, pc & ~u64{3});
  if (slice_is_over(wave)) RIGEL_LEAVE(next, wave);
  RIGEL_NEXT_BLOCK(next, wave, registers, wave->exec());
}

// src[0]: CSP before the fork; imm: as in fork().
void join(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (wave->mode >> kCspShift == (at<u32>(registers, op->src[0].offset) & 7)) {
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
  wave->mode -= 1u << kCspShift;
  u64 later[2];
  std::memcpy(later, top_entry(wave), sizeof later);
  at<u64>(registers, scalar_offset(kExec)) = later[0];
  wave->budget -= static_cast<int64_t>(op->imm);
  const MicroOp* const next = find_code(wave, op, later[1] & ~u64{3});
  if (slice_is_over(wave)) RIGEL_LEAVE(next, wave);
  RIGEL_NEXT_BLOCK(next, wave, registers, wave->exec());
}

Refusal lower_fork(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const bool immediate = instruction.op == Op::s_cbranch_i_fork;
  const isa::Operand& lanes = instruction.src[0].exists() ? instruction.src[0] : instruction.dst[0];
  const PlaceOf mask = register_place(source_place(lanes, instruction, context, out, 0), out, 0);
  PlaceOf target;
  target.place.is_constant = true;
  target.place.source.constant = branch_target(instruction, context);
  if (!immediate) target = source_place(instruction.src[1], instruction, context, out, 2);
  target = register_place(target, out, 2);
  if (!mask.ok || !target.ok) return "source operand does not exist on this GPU";
  MicroOp& op = out.emit(fork);
  op.src[0] = mask.place.source;
  op.src[1] = target.place.source;
  op.src[2].constant = context.pc + instruction.bytes;
  op.imm = context.position + 1;
  context.ends_block = true;
  return {};
}

Refusal lower_join(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const PlaceOf saved =
      register_place(source_place(instruction.src[0], instruction, context, out, 0), out, 0);
  if (!saved.ok) return "source operand does not exist on this GPU";
  MicroOp& op = out.emit(join);
  op.src[0] = saved.place.source;
  op.imm = context.position + 1;
  return {};
}

// gfx10: subvector loops run the two halves of a wave of 64 one after the other
// ---------------------------------------------------------------------------------------------------

void subvector_begin(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  u32& low = at<u32>(registers, scalar_offset(kExec));
  u32& high = at<u32>(registers, scalar_offset(kExec + 1));
  if (exec == 0) RIGEL_NEXT_SLOW(branch_slowly, op, wave, registers, exec);
  if (low == 0) {
    at<u32>(registers, op->dst) = 0;
  } else {
    at<u32>(registers, op->dst) = high;
    high = 0;
  }
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

void subvector_end(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  u32& low = at<u32>(registers, scalar_offset(kExec));
  u32& high = at<u32>(registers, scalar_offset(kExec + 1));
  u32& saved = at<u32>(registers, op->dst);
  if (high != 0) {
    low = saved;
  } else if (saved != 0) {
    high = saved;
    saved = low;
    low = 0;
    RIGEL_NEXT_SLOW(branch_slowly, op, wave, registers, wave->exec());
  }
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

// Returning to the scheduler
// ---------------------------------------------------------------------------------------------------

void end_program(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->budget -= static_cast<int64_t>(op->imm);
  wave->stop = Stop::kEnd;
  RIGEL_LEAVE(op, wave);
}

constexpr uint16_t kBarrierOfGroup = 0xffff;
constexpr Refusal kRefuseBarrier = "barriers other than that of the work-group are not supported";

// SCC: no wave has signalled before.
template <bool kReportsFirst>
void signal_barrier(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  WorkGroup& group = *wave->group;
  if constexpr (kReportsFirst) wave->scc = group.signalled == 0 ? 1 : 0;
  group.signalled |= 1u << wave->id_in_group;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void barrier(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kBarrier;
  RIGEL_LEAVE(op + 1, wave);
}

}  // namespace

// Changes of the variant
// ---------------------------------------------------------------------------------------------------

void change_variant(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->budget -= static_cast<int64_t>(op->imm);
  const MicroOp* const next = find_code(wave, op, op->src[0].constant);
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

void emit_change_variant(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  MicroOp& op = out.emit(change_variant);
  op.src[0].constant = context.pc + instruction.bytes;
  op.imm = context.position + 1;
  context.ends_block = true;
}

Refusal lower_control(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const auto conditional = [&](Handler handler) -> Refusal {
    emit_branch(handler, branch_target(instruction, context), context, out);
    return {};
  };
  switch (instruction.op) {
    case Op::s_branch:
      context.ends_block = true;
      return conditional(branch<([](const Wave&, u64, u64) { return true; })>);
    case Op::s_cbranch_scc0:
      return conditional(branch<([](const Wave& wave, u64, u64) { return wave.scc == 0; })>);
    case Op::s_cbranch_scc1:
      return conditional(branch<([](const Wave& wave, u64, u64) { return wave.scc != 0; })>);
    case Op::s_cbranch_vccz:
      return conditional(branch<([](const Wave&, u64 vcc, u64) { return vcc == 0; })>);
    case Op::s_cbranch_vccnz:
      return conditional(branch<([](const Wave&, u64 vcc, u64) { return vcc != 0; })>);
    case Op::s_cbranch_execz:
      return conditional(branch<([](const Wave&, u64, u64 exec) { return exec == 0; })>);
    case Op::s_cbranch_execnz:
      return conditional(branch<([](const Wave&, u64, u64 exec) { return exec != 0; })>);
    case Op::s_cbranch_cdbgsys:
    case Op::s_cbranch_cdbguser:
    case Op::s_cbranch_cdbgsys_or_user:
    case Op::s_cbranch_cdbgsys_and_user:
      return {};  // the debugger's conditions are never set
    case Op::s_cbranch_g_fork:
    case Op::s_cbranch_i_fork:
      return lower_fork(instruction, context, out);
    case Op::s_cbranch_join:
      return lower_join(instruction, context, out);
    case Op::s_getpc_b64:
    case Op::s_setpc_b64:
    case Op::s_swappc_b64:
    case Op::s_call_b64:
      return lower_address(instruction, context, out);
    case Op::s_subvector_loop_begin:
    case Op::s_subvector_loop_end: {
      uint32_t dst = 0;
      const isa::Operand& saved = instruction.dst[0].exists() ? instruction.dst[0] : instruction.src[0];
      if (!destination_offset(saved, context, dst)) return "destination is not a register";
      if (context.layout.wave_size != 64) return "subvector loop in a wave of 32 lanes";
      Link* const link = out.link(branch_target(instruction, context));
      MicroOp& op = out.emit(instruction.op == Op::s_subvector_loop_begin ? subvector_begin : subvector_end);
      op.imm = reinterpret_cast<u64>(link);
      op.dst = dst;
      return {};
    }
    case Op::s_setkill:
      if ((instruction.simm16 & 1) == 0) return {};
      [[fallthrough]];
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
      out.emit(end_program).imm = context.position + 1;
      context.ends_block = true;
      return {};
    case Op::s_barrier:
      out.emit(barrier);
      return {};
    case Op::s_barrier_wait:
      if (instruction.simm16 != kBarrierOfGroup) return kRefuseBarrier;
      out.emit(barrier);
      return {};
    case Op::s_barrier_signal:
    case Op::s_barrier_signal_isfirst: {
      constexpr uint16_t kOfGroup = isa::code::kZero + 65;  // the constant -1
      if (instruction.src[0].code != kOfGroup) return kRefuseBarrier;
      out.emit(instruction.op == Op::s_barrier_signal ? signal_barrier<false> : signal_barrier<true>);
      return {};
    }
    case Op::s_barrier_init:
    case Op::s_barrier_join:
    case Op::s_barrier_leave:
    case Op::s_wakeup_barrier:
    case Op::s_get_barrier_state:
      return kRefuseBarrier;
    default:
      return kNotMine;
  }
}

}  // namespace rigel::vgpu::exec::scalar
