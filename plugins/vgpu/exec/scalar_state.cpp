// Hardware registers, modes, messages, traps, waits and hints.
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/scalar.hpp"
#include "plugins/vgpu/isa/hardware_register.hpp"

namespace rigel::vgpu::exec::scalar {
namespace {

using isa::Op;
namespace hwreg = isa::hwreg;
using u32 = uint32_t;
using u64 = uint64_t;

// s_getreg, s_setreg
// ---------------------------------------------------------------------------------------------------

constexpr u32 kReadsAsZero = 0;

bool register_exists(u32 id, const isa::Traits& traits) {
  return id < 32 && (traits.hardware_registers >> id & 1) != 0;
}

// STATUS
constexpr u32 kPrivileged = 1u << 5, kTrapEnable = 1u << 6, kHalted = 1u << 13;

// Registers of Traits::has_split_status: numbers from kSplit on. Source: RDNA 4 ISA manual, and Linux's
// cwsr_trap_handler_gfx12.asm.
constexpr u32 kSplit = 64;
constexpr u32 kSccShift = 9, kHaltedPrivately = 1u << 14;  // STATE_PRIV

u32 read_register(u32 id, Wave* wave, uint64_t exec) {
  const u32* const scalars = wave->scalars();
  switch (id) {
    case hwreg::kMode:
      return wave->mode;
    case hwreg::kStatus: {
      u32 status = wave->scc | wave->status;
      if (exec == 0) status |= 1u << 9;
      if ((wave->pair(kVcc) & wave->mask()) == 0) status |= 1u << 10;
      return status | 1u << 16;  // VALID
    }
    case hwreg::kTrapStatus:
      return wave->trap_status;
    case hwreg::kHwId:
    case hwreg::kHwId1:
      return wave->core->hardware_id(*wave);
    case hwreg::kHwId2:
      return wave->core->hardware_id2(*wave);
    case hwreg::kGprAlloc: {
      const u32 granule = wave->layout.wave_size == 32 ? 8 : 4;
      return (wave->layout.vgprs / granule - 1) << 8;
    }
    case hwreg::kLdsAlloc:
      return (wave->group == nullptr ? 0 : (wave->group->lds_bytes + 511) / 512) << 12;
    case hwreg::kShMemBases:
      return wave->private_aperture_hi >> 16 | (wave->shared_aperture_hi & 0xffff0000);
    case hwreg::kTbaLo:
      return static_cast<u32>(wave->core->trap_handler().code_va >> 8);
    case hwreg::kTbaHi:
      return static_cast<u32>(wave->core->trap_handler().code_va >> 40);
    case hwreg::kTmaLo:
      return static_cast<u32>(wave->core->trap_handler().data_va >> 8);
    case hwreg::kTmaHi:
      return static_cast<u32>(wave->core->trap_handler().data_va >> 40);
    case hwreg::kFlatScratchLo:
      return scalars[kFlatScratchSlot];
    case hwreg::kFlatScratchHi:
      return scalars[kFlatScratchSlot + 1];
    case hwreg::kShaderCycles:
      return static_cast<u32>(wave->core->shader_clock()) & 0xfffff;
    case kSplit + hwreg::kStatus:
      return read_register(hwreg::kStatus, wave, exec) & ~(kHalted | 1u);
    case kSplit + hwreg::kStatePrivate:
      return wave->scc << kSccShift | ((wave->status & kHalted) != 0 ? kHaltedPrivately : 0);
    case kSplit + hwreg::kUserExceptions:
      return wave->trap_status;
    case kSplit + hwreg::kTrapControl:
      return (wave->mode & kExceptionEnables) >> kExceptionEnableShift;
    case kSplit + hwreg::kGprAlloc:
      return read_register(hwreg::kGprAlloc, wave, exec) << 4;
    case kSplit + hwreg::kShaderCycles:
      return static_cast<u32>(wave->core->shader_clock());
    case kSplit + hwreg::kShaderCyclesHi:
      return static_cast<u32>(wave->core->shader_clock() >> 32);
    default:
      return 0;  // IB_STS, XNACK_MASK and others: no operation is outstanding
  }
}

// aux: the register; src[1].constant: bit offset; src[2].constant: mask of the field's width.
void get_register(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  at<u32>(registers, op->dst) =
      read_register(op->aux, wave, exec) >> op->src[1].constant & static_cast<u32>(op->src[2].constant);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void put_register(u32 id, Wave* wave, u32 value, u32 mask) {
  switch (id) {
    case hwreg::kMode:
      wave->mode = (wave->mode & ~mask) | (value & mask);
      set_mxcsr(mxcsr_of(wave->mode));
      if ((value & mask & kExceptionEnables) != 0) wave->core->exceptions_enabled(*wave);
      break;
    case hwreg::kStatus:
      if ((wave->status & kPrivileged) == 0) break;
      if ((mask & 1) != 0) wave->scc = value & 1;
      if ((mask & kHalted) != 0) wave->status = (wave->status & ~kHalted) | (value & kHalted);
      break;
    case hwreg::kTrapStatus:
      wave->trap_status = (wave->trap_status & ~mask) | (value & mask);
      break;
    case hwreg::kFlatScratchLo:
    case hwreg::kFlatScratchHi: {
      u32& half = wave->scalars()[kFlatScratchSlot + id - hwreg::kFlatScratchLo];
      half = (half & ~mask) | (value & mask);
      break;
    }
    case kSplit + hwreg::kStatePrivate:
      if ((wave->status & kPrivileged) == 0) break;
      if ((mask >> kSccShift & 1) != 0) wave->scc = value >> kSccShift & 1;
      if ((mask & kHaltedPrivately) != 0)
        wave->status = (wave->status & ~kHalted) | ((value & kHaltedPrivately) != 0 ? kHalted : 0);
      break;
    case kSplit + hwreg::kUserExceptions:
      wave->trap_status = (wave->trap_status & ~mask) | (value & mask);
      break;
    case kSplit + hwreg::kTrapControl:
      put_register(hwreg::kMode, wave, value << kExceptionEnableShift,
                   mask << kExceptionEnableShift & kExceptionEnables);
      break;
    default:
      break;  // The others are read-only outside of trap handlers.
  }
}

void set_register(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 shift = static_cast<u32>(op->src[1].constant);
  const u32 mask = static_cast<u32>(op->src[2].constant) << shift;
  put_register(op->aux, wave, at<u32>(registers, op->src[0].offset) << shift, mask);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Returns the number of a register of which gfx12 has another one under the same number.
u32 split_register(u32 id) {
  switch (id) {
    case hwreg::kMode:
    case hwreg::kLdsAlloc:
    case hwreg::kHwId1:
    case hwreg::kHwId2:
    case hwreg::kFlatScratchLo:  // SCRATCH_BASE
    case hwreg::kFlatScratchHi:
      return id;
    default:
      return kSplit + id;
  }
}

Refusal lower_register(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  auto [id, shift, mask] = isa::register_field(instruction);
  if (!register_exists(id, context.traits())) return "hardware register does not exist on this GPU";
  // XCC_ID has the number of FLAT_SCRATCH. All XCCs execute as one, number 0.
  if (id == hwreg::kXccId && context.traits().has_xcc_id) id = kReadsAsZero;
  if (context.traits().has_split_status) id = split_register(id);
  // MODE has further bits for the emulator, which do not exist on the chip.
  if (id == hwreg::kMode) mask &= context.traits().mode_bits >> shift;
  if (instruction.op == Op::s_getreg_b32) {
    uint32_t dst = 0;
    if (!destination_offset(instruction.dst[0], context, dst)) return "destination is not a register";
    MicroOp& op = out.emit(get_register);
    op.dst = dst;
    op.aux = id;
    op.src[1].constant = shift;
    op.src[2].constant = mask;
    if (touches_exec(dst, 1)) emit_take_exec(out);
    return {};
  }
  PlaceOf a;
  if (instruction.op == Op::s_setreg_imm32_b32) {
    a.place.is_constant = true;
    a.place.source.constant = instruction.literal;
  } else {
    const isa::Operand& source = instruction.src[0].exists() ? instruction.src[0] : instruction.dst[0];
    a = source_place(source, instruction, context, out, 0);
    if (!a.ok) return "source operand does not exist on this GPU";
  }
  a = register_place(a, out, 0);
  MicroOp& op = out.emit(set_register);
  op.src[0] = a.place.source;
  op.src[1].constant = shift;
  op.src[2].constant = mask;
  op.aux = id;
  if (id == hwreg::kMode) emit_change_variant(instruction, context, out);
  return {};
}

// s_round_mode, s_denorm_mode. src[0].constant: bits; src[1].constant: their mask.
void set_mode_bits(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  put_register(hwreg::kMode, wave, static_cast<u32>(op->src[0].constant),
               static_cast<u32>(op->src[1].constant));
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// VSKIP = S0[S1[4:0]]
void set_skip_vector(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const u32 bits = at<u32>(registers, op->src[0].offset), bit = at<u32>(registers, op->src[1].offset);
  wave->mode = (bits >> (bit & 31) & 1) != 0 ? wave->mode | kSkipVector : wave->mode & ~kSkipVector;
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_skip_vector(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const PlaceOf a = register_place(source_place(instruction.src[0], instruction, context, out, 0), out, 0);
  const PlaceOf b = register_place(source_place(instruction.src[1], instruction, context, out, 2), out, 2);
  if (!a.ok || !b.ok) return "source operand does not exist on this GPU";
  MicroOp& op = out.emit(set_skip_vector);
  op.src[0] = a.place.source;
  op.src[1] = b.place.source;
  emit_change_variant(instruction, context, out);
  return {};
}

// Messages, waits
// ---------------------------------------------------------------------------------------------------

void send_message(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->core->send_interrupt(*wave, wave->scalars()[kM0]);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// The result is returned in EXEC_LO.
void get_doorbell(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  at<u32>(registers, scalar_offset(kExec)) = wave->core->doorbell_index(*wave) & 0x3ff;
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

Refusal lower_message(const isa::Instruction& instruction, const LoweringContext& context, Emitter& out) {
  constexpr u32 kInterrupt = 1, kSaveWave = 4, kGetDoorbell = 10, kOrderedDone = 9, kEarlyPrimsDone = 8;
  const bool has_returned = context.traits().has_returned_messages;
  const u32 message = instruction.simm16 & (has_returned ? 0xff : 0xf);
  if (message == kInterrupt) {
    out.emit(send_message);
    return {};
  }
  if (message == kSaveWave && !has_returned) return {};
  if (message == kGetDoorbell && context.traits().has_get_doorbell) {
    out.emit(get_doorbell);
    return {};
  }
  if (has_returned) {
    constexpr u32 kReleaseVgprs = 3;  // The wave does not use them afterwards.
    if (message == kReleaseVgprs) return {};
    return "message is not available to compute waves";
  }
  if (message == kOrderedDone || message == kEarlyPrimsDone || message == 2 || message == 3) {
    return "graphics messages are not supported";
  }
  return "message is not available to compute waves";
}

// s_sendmsg_rtn: the result is in dst. aux: the message.
enum ReturnedMessage : u32 {
  kReturnDoorbell = 128,
  kReturnTma = 130,
  kReturnRealtime = 131,
  kReturnTba = 133
};

void get_message(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  u64 value = 0;
  switch (op->aux) {
    case kReturnDoorbell:
      value = wave->core->doorbell_index(*wave) & 0x3ff;
      break;
    case kReturnTma:
      value = wave->core->trap_handler().data_va;
      break;
    case kReturnTba:
      value = wave->core->trap_handler().code_va;
      break;
    default:
      value = wave->core->reference_clock();
      break;
  }
  if (op->dst2 == 2) {
    at<u64>(registers, op->dst) = value;
  } else {
    at<u32>(registers, op->dst) = static_cast<u32>(value);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_returned_message(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const u32 message = instruction.simm16;
  if (message != kReturnDoorbell && message != kReturnTma && message != kReturnRealtime &&
      message != kReturnTba)
    return "message is not available to compute waves";
  uint32_t dst = 0;
  if (!destination_offset(instruction.dst[0], context, dst)) return "destination is not a register";
  MicroOp& op = out.emit(get_message);
  op.aux = message;
  op.dst = dst;
  op.dst2 = instruction.dst[0].dwords;
  if (touches_exec(dst, instruction.dst[0].dwords)) emit_take_exec(out);
  return {};
}

void sleep_wave(const MicroOp* op, Wave* wave, std::byte*, uint64_t) {
  wave->stop = Stop::kSleep;
  RIGEL_LEAVE(op + 1, wave);
}

// In a trap handler the wave halts when the handler returns.
void halt(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if ((wave->status & kPrivileged) != 0) {
    wave->status |= kHalted;
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
  wave->stop = Stop::kHalt;
  RIGEL_LEAVE(op + 1, wave);
}

void invalidate_instructions(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->core->invalidate_instructions(*wave);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Traps
// ---------------------------------------------------------------------------------------------------

/// Whether the wave takes traps in its present state.
bool takes_traps(const Wave& wave, const Core::TrapHandler& handler) {
  return handler.code_va != 0 && (wave.status & (kTrapEnable | kPrivileged)) == kTrapEnable;
}

// Writes the TTMP registers and returns the handler's code. Offsets of the registers: dst: TTMP0 and TTMP1,
// which receive `pc`; dst2: the one for STATUS, whose number is src[2].constant; src[0].constant: the one for
// the address of the handler's data; src[1].constant: the first bit of the trap's number in TTMP1. On
// hardware, amdkfd's first-level handler writes the last two for the program's handler. imm: instructions
// since the start of the block. `flags`: bits of TTMP1 besides the address.
const MicroOp* enter_trap_handler(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec,
                                  const Core::TrapHandler& handler, u64 pc, u32 flags) {
  at<u32>(registers, op->dst) = static_cast<u32>(pc);
  at<u32>(registers, op->dst + 4) = static_cast<u32>(pc >> 32 & 0xffff) | flags;
  at<u32>(registers, op->dst2) = read_register(static_cast<u32>(op->src[2].constant), wave, exec);
  at<u64>(registers, static_cast<u32>(op->src[0].constant)) = handler.data_va;
  wave->status |= kPrivileged;
  wave->budget -= static_cast<int64_t>(op->imm);
  return find_code(wave, op, handler.code_va);
}

void place_trap_registers(MicroOp& op, const LoweringContext& context) {
  const isa::TrapRegisters& trap = context.traits().trap;
  op.imm = context.position + 1;
  op.dst = scalar_offset(trap.first);
  op.dst2 = op.dst + trap.status * 4u;
  op.src[0].constant = op.dst + trap.data * 4u;
  op.src[1].constant = trap.id_shift;
  op.src[2].constant = context.traits().has_split_status ? kSplit + hwreg::kStatePrivate : hwreg::kStatus;
}

// s_trap. aux: trap number. Does nothing if STATUS.TRAP_EN is 0: the manuals of RDNA3 and later specify this,
// the older ones imply it. Does nothing if the program has no trap handler, because amdkfd's handler
// continues after the instruction. In a trap handler, which the manuals do not define, stops the wave.
void trap(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const Core::TrapHandler handler = wave->core->trap_handler();
  if ((wave->status & kPrivileged) != 0) {
    wave->stop = Stop::kTrap;
    wave->trap_id = static_cast<uint8_t>(op->aux);
    RIGEL_LEAVE(op, wave);
  }
  if (!takes_traps(*wave, handler)) {
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
  const bool waits = wave->core->trap_taken(*wave, op->aux, pc_of(op), exec);
  const MicroOp* const next =
      enter_trap_handler(op, wave, registers, exec, handler, pc_of(op), op->aux << op->src[1].constant);
  if (waits) {
    wave->stop = Stop::kBudget;
    RIGEL_LEAVE(next, wave);
  }
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

void return_from_trap(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->status &= ~kPrivileged;
  wave->budget -= static_cast<int64_t>(op->imm);
  const MicroOp* const next = find_code(wave, op, at<u64>(registers, op->src[0].offset) & 0xfffffffffffc);
  if ((wave->status & kHalted) != 0) {
    wave->stop = Stop::kHalt;
    RIGEL_LEAVE(next, wave);
  }
  if (slice_is_over(wave)) RIGEL_LEAVE(next, wave);  // Handlers may return to the same trap endlessly.
  RIGEL_NEXT_BLOCK(next, wave, registers, exec);
}

// Whether waits need a fence to keep a wave's loads and stores in order (wave_memory.hpp).
#if defined(__x86_64__)
constexpr bool kWaitsAreFences = false;
#else
constexpr bool kWaitsAreFences = true;
#endif

// Accesses are complete in this thread; the fence orders them for other threads.
[[maybe_unused]] void wait_for_accesses(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

}  // namespace

Refusal lower_state(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  switch (instruction.op) {
    case Op::s_getreg_b32:
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32:
      return lower_register(instruction, context, out);
    case Op::s_round_mode:
    case Op::s_denorm_mode: {
      const u32 shift = instruction.op == Op::s_round_mode ? 0 : 4;
      MicroOp& op = out.emit(set_mode_bits);
      op.src[0].constant = u64{instruction.simm16 & 0xfu} << shift;
      op.src[1].constant = u64{0xf} << shift;
      emit_change_variant(instruction, context, out);
      return {};
    }

    // Memory operations complete before the next instruction. A wait orders them for other threads.
    case Op::s_waitcnt:
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_wait_idle:
    case Op::s_wait_loadcnt:
    case Op::s_wait_storecnt:
    case Op::s_wait_dscnt:
    case Op::s_wait_kmcnt:
    case Op::s_wait_loadcnt_dscnt:
    case Op::s_wait_storecnt_dscnt:
      if constexpr (kWaitsAreFences) out.emit(wait_for_accesses);
      return {};
    case Op::s_wait_samplecnt:
    case Op::s_wait_bvhcnt:
    case Op::s_wait_expcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_waitcnt_depctr:
    case Op::s_wait_event:
    case Op::s_delay_alu:
    case Op::s_singleuse_vdst:
    case Op::s_nop:
    case Op::s_clause:
    case Op::s_inst_prefetch:
    case Op::s_version:
    case Op::s_setprio:
    case Op::s_wakeup:
    case Op::s_incperflevel:
    case Op::s_decperflevel:
    case Op::s_ttracedata:
    case Op::s_ttracedata_imm:
      return {};
    case Op::s_icache_inv:
      out.emit(invalidate_instructions);
      emit_change_variant(instruction, context, out);
      return {};
    case Op::s_sleep_var:
    case Op::s_sleep:
      out.emit(sleep_wave);
      return {};
    case Op::s_sethalt:
      if ((instruction.simm16 & 1) != 0) out.emit(halt);
      return {};
    case Op::s_sendmsg:
      return lower_message(instruction, context, out);
    case Op::s_sendmsghalt: {
      const Refusal refusal = lower_message(instruction, context, out);
      if (refusal.empty()) out.emit(halt);
      return refusal;
    }
    case Op::s_sendmsg_rtn_b32:
    case Op::s_sendmsg_rtn_b64:
      return lower_returned_message(instruction, context, out);
    case Op::s_trap: {
      MicroOp& op = out.emit(trap);
      op.aux = instruction.simm16 & 0xff;
      place_trap_registers(op, context);
      return {};
    }
    case Op::s_setvskip:
      return lower_skip_vector(instruction, context, out);
    // The second operand restores a mode of address translation. There is only one mode.
    case Op::s_rfe_restore_b64:
    case Op::s_rfe_b64: {
      const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
      if (!a.ok || a.place.is_constant) return "program counter operand is not a register";
      MicroOp& op = out.emit(return_from_trap);
      op.src[0] = a.place.source;
      op.imm = context.position + 1;
      context.ends_block = true;
      return {};
    }
    case Op::s_code_end:
      return "end of the code";
    case Op::s_endpgm_ordered_ps_done:
      return "graphics instructions are not supported";
    default:
      return kNotMine;
  }
}

}  // namespace rigel::vgpu::exec::scalar
