#include "plugins/vgpu/reference/control.hpp"

#include <bit>

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Family;
using isa::Op;

// STATUS
constexpr uint32_t kPriv = 1u << 5, kTrapEn = 1u << 6, kExecz = 1u << 9, kVccz = 1u << 10, kHalt = 1u << 13,
                   kValid = 1u << 16;
// MODE of gfx8 and gfx9
constexpr uint32_t kGprIdxEn = 1u << 27, kVskip = 1u << 28;
constexpr unsigned kCsp = 29;

class Control {
 public:
  Control(const isa::Instruction& in, State& state, Hardware& hardware)
      : in_(in), state_(state), hardware_(hardware), behind_(state.pc + in.bytes) {}

  bool run(Next& next) {
    next = Next::kContinues;
    uint64_t to = behind_;
    switch (in_.op) {
      case Op::s_branch:
        to = target();
        break;
      case Op::s_cbranch_scc0:
        if (state_.scc == 0) to = target();
        break;
      case Op::s_cbranch_scc1:
        if (state_.scc == 1) to = target();
        break;
      case Op::s_cbranch_vccz:
        if (state_.mask_at(isa::code::kVccLo) == 0) to = target();
        break;
      case Op::s_cbranch_vccnz:
        if (state_.mask_at(isa::code::kVccLo) != 0) to = target();
        break;
      case Op::s_cbranch_execz:
        if (state_.exec() == 0) to = target();
        break;
      case Op::s_cbranch_execnz:
        if (state_.exec() != 0) to = target();
        break;
      // Debugger conditions: there is no debugger.
      case Op::s_cbranch_cdbgsys:
      case Op::s_cbranch_cdbguser:
      case Op::s_cbranch_cdbgsys_or_user:
      case Op::s_cbranch_cdbgsys_and_user:
        break;
      case Op::s_setpc_b64:
        to = source(0);
        break;
      case Op::s_swappc_b64:
        to = source(0);
        write_scalar(in_.dst[0], behind_, state_);
        break;
      case Op::s_call_b64:
        to = target();
        write_scalar(in_.dst[0], behind_, state_);
        break;
      case Op::s_cbranch_g_fork:
        to = fork(source(0), source(1));
        break;
      case Op::s_cbranch_i_fork:
        to = fork(register_value(2), target());
        break;
      case Op::s_cbranch_join:
        to = join();
        break;
      case Op::s_subvector_loop_begin:
        to = subvector_begin();
        break;
      case Op::s_subvector_loop_end:
        to = subvector_end();
        break;

      case Op::s_rfe_b64:
      case Op::s_rfe_restore_b64:
        to = source(0) & 0xffffffffffff;
        hardware_.status &= ~kPriv;
        if ((hardware_.status & kHalt) != 0) next = Next::kHalts;
        break;
      case Op::s_trap:
        to = trap(next);
        break;

      case Op::s_endpgm:
      case Op::s_endpgm_saved:
        next = Next::kEnds;
        break;
      case Op::s_setkill:
        if ((in_.simm16 & 1) != 0) next = Next::kEnds;
        break;
      case Op::s_barrier_wait:  // Of the work-group.
        if (in_.simm16 != 0xffff) return false;
        next = Next::kBarrier;
        break;
      case Op::s_barrier_signal_isfirst:  // No other wave has signalled.
        if (in_.src[0].code != 193) return false;
        state_.scc = 1;
        break;
      case Op::s_barrier_signal:
        if (in_.src[0].code != 193) return false;
        break;
      case Op::s_barrier:
        next = Next::kBarrier;
        break;
      case Op::s_sleep_var:
      case Op::s_sleep:
        next = Next::kSleeps;
        break;
      case Op::s_sethalt:
        if ((in_.simm16 & 1) != 0) next = halt();
        break;
      case Op::s_sendmsg:
        send();
        break;
      case Op::s_sendmsg_rtn_b32:
      case Op::s_sendmsg_rtn_b64:
        if (!get()) return false;
        break;
      case Op::s_sendmsghalt:
        send();
        next = halt();
        break;
      case Op::s_wakeup:
      case Op::s_icache_inv:
      case Op::s_incperflevel:
      case Op::s_decperflevel:
      case Op::s_ttracedata:
      case Op::s_ttracedata_imm:
        break;

      case Op::s_getreg_b32:
        write_scalar(in_.dst[0], hardware_register() >> offset() & width_mask(), state_);
        break;
      case Op::s_setreg_b32:
        set_hardware_register(register_value(1));
        break;
      case Op::s_setreg_imm32_b32:
        set_hardware_register(in_.literal);
        break;
      case Op::s_round_mode:
        state_.mode = (state_.mode & ~0xfu) | (in_.simm16 & 0xfu);
        break;
      case Op::s_denorm_mode:
        state_.mode = (state_.mode & ~0xf0u) | (in_.simm16 & 0xfu) << 4;
        break;
      case Op::s_setvskip:
        state_.mode = (source(0) >> (source(1) & 31) & 1) != 0 ? state_.mode | kVskip : state_.mode & ~kVskip;
        break;
      case Op::s_set_gpr_idx_on:
        set_m0(0xff, static_cast<uint32_t>(source(0)));
        set_m0(0xf000, uint32_t{in_.simm16} << 12);
        state_.mode |= kGprIdxEn;
        break;
      case Op::s_set_gpr_idx_off:
        state_.mode &= ~kGprIdxEn;
        break;
      case Op::s_set_gpr_idx_mode:
        set_m0(0xf000, uint32_t{in_.simm16} << 12);
        break;
      case Op::s_set_gpr_idx_idx:
        set_m0(0xff, static_cast<uint32_t>(source(0)));
        break;
      default:
        return false;
    }
    state_.pc = to & ~uint64_t{3};
    return true;
  }

 private:
  uint64_t source(unsigned i) const { return scalar_value(in_.src[i], in_, state_); }
  // SOPK's register, listed as source or destination.
  uint64_t register_value(unsigned dwords) const {
    const isa::Operand& operand = in_.src[0].exists() && !in_.src[0].is_literal() ? in_.src[0] : in_.dst[0];
    return dwords == 2 ? state_.pair(operand.code) : scalar_value(operand, in_, state_);
  }
  uint64_t target() const {
    return behind_ + static_cast<uint64_t>(int64_t{static_cast<int16_t>(in_.simm16)} * 4);
  }
  void set_m0(uint32_t mask, uint32_t value) {
    uint32_t& m0 = state_.scalar[isa::code::kM0];
    m0 = (m0 & ~mask) | (value & mask);
  }

  uint64_t fork(uint64_t lanes, uint64_t to) {
    const uint64_t pass = lanes & state_.exec(), fail = ~lanes & state_.exec();
    if (pass == state_.exec()) return to;
    if (fail == state_.exec()) return behind_;
    const bool fails_first = std::popcount(fail) < std::popcount(pass);
    const unsigned top = (state_.mode >> kCsp) * 4;
    state_.set_pair(top, fails_first ? pass : fail);
    state_.set_pair(top + 2, fails_first ? to : behind_);
    state_.mode += 1u << kCsp;
    state_.set_pair(isa::code::kExecLo, fails_first ? fail : pass);
    return fails_first ? behind_ : to;
  }

  uint64_t join() {
    if (state_.mode >> kCsp == (source(0) & 7)) return behind_;
    state_.mode -= 1u << kCsp;
    const unsigned top = (state_.mode >> kCsp) * 4;
    const uint64_t to = state_.pair(top + 2);
    state_.set_pair(isa::code::kExecLo, state_.pair(top));
    return to;
  }

  uint32_t& saved_half() { return state_.scalar[in_.dst[0].exists() ? in_.dst[0].code : in_.src[0].code]; }

  // Runs the lower half first if it has active lanes; the register keeps the upper half meanwhile.
  uint64_t subvector_begin() {
    uint32_t &low = state_.scalar[isa::code::kExecLo], &high = state_.scalar[isa::code::kExecHi];
    if (low == 0 && high == 0) return target();
    if (low == 0) {
      saved_half() = 0;
    } else {
      saved_half() = high;
      high = 0;
    }
    return behind_;
  }
  uint64_t subvector_end() {
    uint32_t &low = state_.scalar[isa::code::kExecLo], &high = state_.scalar[isa::code::kExecHi];
    uint32_t& saved = saved_half();
    if (high != 0) {
      low = saved;
      return behind_;
    }
    if (saved == 0) return behind_;
    high = saved;
    saved = low;
    low = 0;
    return target();
  }

  Next halt() {
    // A trap handler is halted when it returns.
    if ((hardware_.status & kPriv) == 0) return Next::kHalts;
    hardware_.status |= kHalt;
    return Next::kContinues;
  }

  // s_sendmsg_rtn; false for a message that is not modelled.
  bool get() {
    const bool wide = in_.dst[0].dwords == 2;
    uint64_t value;
    switch (in_.simm16) {
      case 128:
        value = hardware_.doorbell & 0x3ff;
        break;
      case 130:
        value = hardware_.trap_data;
        break;
      case 133:
        value = hardware_.trap_code;
        break;
      default:
        return false;
    }
    write_scalar(in_.dst[0], wide ? value : value & 0xffffffff, state_);
    return true;
  }

  void send() {
    if (state_.target.family() >= Family::kGfx11) {
      if ((in_.simm16 & 255) == 1) hardware_.interrupts.push_back(state_.scalar[isa::code::kM0]);
      return;
    }
    if ((in_.simm16 & 15) == 1) hardware_.interrupts.push_back(state_.scalar[isa::code::kM0]);
    if ((in_.simm16 & 15) == 10) state_.scalar[isa::code::kExecLo] = hardware_.doorbell & 0x3ff;
  }

  // TTMP0 and TTMP1 have the PC and the trap number. STATUS and the handler's data are where amdkfd's
  // first-level handler puts them.
  uint64_t trap(Next& next) {
    if ((hardware_.status & kPriv) != 0) {
      next = Next::kTraps;
      return state_.pc;
    }
    if (hardware_.trap_code == 0 || (hardware_.status & kTrapEn) == 0) return behind_;
    const bool gfx8 = state_.target.family() == Family::kGfx8,
               gfx12 = state_.target.family() == Family::kGfx12;
    const unsigned ttmp = gfx8 ? 112 : 108;
    const uint32_t status = gfx12 ? private_state() : status_register();
    const uint64_t number = gfx12 ? uint64_t{in_.simm16 & 0xfu} << 60 : uint64_t{in_.simm16 & 0xffu} << 48;
    state_.set_pair(ttmp, (state_.pc & 0xffffffffffff) | number);
    state_.scalar[ttmp + (gfx8 ? 4 : 12)] = status;
    state_.set_pair(ttmp + (gfx8 ? 10 : 14), hardware_.trap_data);
    hardware_.status |= kPriv;
    return hardware_.trap_code;
  }

  // SIMM16: register number (6 bits), first bit (5), width minus 1 (5).
  unsigned offset() const { return in_.simm16 >> 6 & 31; }
  uint64_t width_mask() const { return (uint64_t{2} << (in_.simm16 >> 11 & 31)) - 1; }

  uint32_t status_register() const {
    return state_.scc | hardware_.status | (state_.exec() == 0 ? kExecz : 0) |
           (state_.mask_at(isa::code::kVccLo) == 0 ? kVccz : 0) | kValid;
  }

  // RDNA 4: STATE_PRIV has SCC and HALT.
  uint32_t private_state() const {
    return state_.scc << 9 | ((hardware_.status & kHalt) != 0 ? 1u << 14 : 0);
  }

  uint64_t register_of_gfx12() const {
    switch (in_.simm16 & 63) {
      case 1:
        return state_.mode & 0x018000ff;
      case 2:
        return status_register() & ~(kHalt | 1u);
      case 4:
        return private_state();
      case 5:
        return uint64_t{hardware_.vgprs / (state_.wave_size == 32 ? 8 : 4) - 1} << 12;
      case 6:
        return (hardware_.lds_bytes + 511) / 512 << 12;
      case 18:
        return hardware_.trap_status;
      case 19:  // TRAP_CTRL
        return state_.mode >> 12 & 0x7f;
      case 20:
      case 21:
        return hardware_.flat_scratch[(in_.simm16 & 63) - 20];
      default:
        return 0;
    }
  }

  uint64_t hardware_register() const {
    if (state_.target.family() == Family::kGfx12) return register_of_gfx12();
    switch (in_.simm16 & 63) {
      case 1:
        return state_.mode;
      case 2:
        return status_register();
      case 3:
        return hardware_.trap_status;
      case 5:  // VGPR_SIZE
        return (hardware_.vgprs / (state_.wave_size == 32 ? 8 : 4) - 1) << 8;
      case 6:  // LDS_SIZE
        return (hardware_.lds_bytes + 511) / 512 << 12;
      case 15:
        return state_.world.private_aperture_hi >> 16 | state_.world.shared_aperture_hi >> 16 << 16;
      case 16:
        return hardware_.trap_code >> 8 & 0xffffffff;
      case 17:
        return hardware_.trap_code >> 40;
      case 18:
        return hardware_.trap_data >> 8 & 0xffffffff;
      case 19:
        return hardware_.trap_data >> 40;
      case 20:
      case 21:
        if (state_.is_gfx942()) return 0;  // XCC_ID
        return hardware_.flat_scratch[(in_.simm16 & 63) - 20];
      default:
        return 0;
    }
  }

  void set_hardware_register(uint64_t value) {
    const auto mask = static_cast<uint32_t>(width_mask() << offset());
    const auto bits = static_cast<uint32_t>(value << offset());
    const auto put = [&](uint32_t& to, uint32_t writable) {
      to = (to & ~(mask & writable)) | (bits & mask & writable);
    };
    const bool gfx12 = state_.target.family() == Family::kGfx12;
    if (gfx12) {
      uint32_t other = 0;
      switch (in_.simm16 & 63) {
        case 1:
          put(state_.mode, 0x018000ff);
          break;
        case 4:
          if ((hardware_.status & kPriv) == 0) break;
          other = private_state();
          put(other, 1u << 9 | 1u << 14);
          state_.scc = other >> 9 & 1;
          hardware_.status = (hardware_.status & ~kHalt) | ((other >> 14 & 1) != 0 ? kHalt : 0);
          break;
        case 18:
          put(hardware_.trap_status, ~0u);
          break;
        case 19:
          other = state_.mode >> 12 & 0x7f;
          put(other, 0x7f);
          state_.mode = (state_.mode & ~0x7f000u) | other << 12;
          break;
        case 20:
        case 21:
          put(hardware_.flat_scratch[(in_.simm16 & 63) - 20], ~0u);
          break;
        default:
          break;
      }
      return;
    }
    switch (in_.simm16 & 63) {
      case 1:  // Higher bits control indexing, VSKIP and forks, which gfx10 lacks.
        put(state_.mode, state_.target.family() >= Family::kGfx10 ? 0x07ffffff : ~0u);
        break;
      case 2:
        if ((hardware_.status & kPriv) == 0) break;
        put(state_.scc, 1);
        put(hardware_.status, kHalt);
        break;
      case 3:
        put(hardware_.trap_status, ~0u);
        break;
      case 20:
      case 21:
        if (state_.is_gfx942()) break;
        put(hardware_.flat_scratch[(in_.simm16 & 63) - 20], ~0u);
        break;
      default:
        break;
    }
  }

  const isa::Instruction& in_;
  State& state_;
  Hardware& hardware_;
  const uint64_t behind_;
};

}  // namespace

Outcome execute_control(const isa::Instruction& instruction, State& state, Hardware& hardware, Next& next) {
  return Control(instruction, state, hardware).run(next) ? Outcome::kDone : Outcome::kNotModelled;
}

}  // namespace rigel::vgpu::exec::reference
