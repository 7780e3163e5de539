// Compares branches, calls, forks, traps, hardware registers and stops with the model, with random fields,
// operands, modes and EXEC. A wave executes one instruction in the middle of a buffer of s_endpgm. It must
// continue at the model's address with the model's registers.
//
// RIGEL_DRAWS: draws per row and target (default 60). RIGEL_SEED: seed. RIGEL_OP: a single operation.
#include "plugins/vgpu/reference/control.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>

#include "plugins/vgpu/exec/test_wave.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/expected.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Encoding;
using isa::Op;
using testing::TestWave;

constexpr uint64_t kCodeBytes = 65536;
uint32_t end_program(const isa::Target& target) {
  return target.family() >= isa::Family::kGfx11 ? 0xbfb00000 : 0xbf810000;
}

class CodeAddresses {
 public:
  CodeAddresses(Draw& draw, uint64_t va) : draw_(draw), va_(va) {}
  /// Address of the instruction: near the middle, for offsets of ±16 KiB.
  uint64_t near_middle() { return va_ + kCodeBytes / 2 - 8192 + draw_.below(4096) * 4; }
  /// A random branch target.
  uint64_t any() { return va_ + draw_.below(kCodeBytes / 4) * 4; }

 private:
  Draw& draw_;
  const uint64_t va_;
};

bool has_offset(Op op) {
  const std::string_view name = isa::name(op);
  return name.starts_with("s_branch") || name.starts_with("s_call") || name.starts_with("s_subvector") ||
         (name.starts_with("s_cbranch") && op != Op::s_cbranch_g_fork && op != Op::s_cbranch_join);
}

/// Draws a SIMM16 with which the instruction mostly has an effect.
uint16_t immediate(Draw& draw, Op op) {
  if (has_offset(op)) return static_cast<uint16_t>(static_cast<int>(draw.below(8192)) - 4096);
  const auto any = static_cast<uint16_t>(draw.bits());
  switch (op) {
    case Op::s_getreg_b32:
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32: {
      static constexpr uint16_t kKnown[] = {1, 2, 3, 4, 5, 6, 7, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
      const uint16_t id = kKnown[draw.below(std::size(kKnown))];
      return static_cast<uint16_t>((any & 0xffc0) | (draw.one_in(2) ? 1 + draw.below(3) : id));
    }
    case Op::s_barrier_wait:
      return 0xffff;
    case Op::s_sendmsg:
    case Op::s_sendmsghalt: {
      static constexpr uint16_t kKnown[] = {1, 4, 10};
      return static_cast<uint16_t>((any & 0xff80) | kKnown[draw.below(3)]);
    }
    default:
      return any;
  }
}

/// Sets registers with target addresses to addresses in the buffer.
void aim_registers(Draw& draw, CodeAddresses& addresses, const isa::Instruction& in, State& state) {
  const auto aim = [&](const isa::Operand& operand) {
    if (operand.code < 127) state.set_pair(operand.code, addresses.any() | draw.below(4));
  };
  switch (in.op) {
    case Op::s_setpc_b64:
    case Op::s_swappc_b64:
    case Op::s_rfe_b64:
    case Op::s_rfe_restore_b64:
      aim(in.src[0]);
      break;
    case Op::s_cbranch_g_fork:
      aim(in.src[1]);
      break;
    case Op::s_cbranch_join:
      for (unsigned entry = 0; entry < 8; ++entry) state.set_pair(entry * 4 + 2, addresses.any());
      break;
    default:
      break;
  }
}

/// Operands that programs do not use like this, such as apertures; a loop without a register for its lanes.
bool is_unspecified(const isa::Instruction& in) {
  for (const isa::Operand& operand : in.src) {
    if (operand.code >= isa::code::kSharedBase && operand.code <= isa::code::kPopsExitingWaveId) return true;
    if (operand.code == isa::code::kLdsDirect) return true;
  }
  const bool is_loop = in.op == Op::s_subvector_loop_begin || in.op == Op::s_subvector_loop_end;
  return is_loop && (in.dst[0].code == isa::code::kNull || in.src[0].code == isa::code::kNull);
}

struct Tally {
  unsigned compared = 0, refused = 0, wrong = 0;
  std::string refusal, first_failure;
};
using Tallies = std::map<Op, Tally>;

std::string difference(const State& expected, const Hardware& hardware, Next next, TestWave& t) {
  std::ostringstream text;
  text << std::hex;
  const Wave& wave = t.wave;
  static constexpr Stop kStops[] = {Stop::kEnd,   Stop::kEnd,  Stop::kBarrier,
                                    Stop::kSleep, Stop::kHalt, Stop::kTrap};
  if (wave.stop != kStops[static_cast<size_t>(next)])
    text << "  stops for " << static_cast<int>(wave.stop) << '\n';
  const uint64_t pc = pc_of(wave.op);
  if (next != Next::kEnds && pc != expected.pc) text << "  goes to " << pc << ", not " << expected.pc << '\n';
  for (unsigned code = 0; code < 128; ++code) {
    if (t.s(code) == expected.scalar[code]) continue;
    text << "  scalar " << std::dec << code << std::hex << " is " << t.s(code) << ", not "
         << expected.scalar[code] << '\n';
  }
  const auto compare = [&](const char* name, uint64_t actual, uint64_t expected_value) {
    if (actual != expected_value)
      text << "  " << name << " is " << actual << ", not " << expected_value << '\n';
  };
  compare("SCC", wave.scc, expected.scc);
  compare("MODE", wave.mode, expected.mode);
  compare("STATUS", wave.status, hardware.status);
  compare("TRAPSTS", wave.trap_status, hardware.trap_status);
  for (unsigned i = 0; i < 2; ++i)
    compare("FLAT_SCRATCH", t.s(kFlatScratchSlot + i), hardware.flat_scratch[i]);
  if (t.messages != hardware.interrupts) text << "  other messages\n";
  if (next == Next::kContinues && t.executed != 2)
    text << "  " << std::dec << t.executed << " instructions\n";
  return text.str();
}

/// Compares one instruction, if the row has a valid one.
void run_one(Draw& draw, const Chip& chip, uint16_t row, Tally& tally) {
  const isa::Target target = target_of(chip);
  isa::Instruction in;
  uint32_t words[5];
  if (!draw.instruction(target, row, in, words)) return;
  if (in.encoding == Encoding::kSopk || in.encoding == Encoding::kSopp) {
    const uint32_t drawn = words[0];
    const auto decodes = [&] {
      return isa::decode(target, words, std::size(words), in) == isa::DecodeStatus::kOk && in.row == row;
    };
    words[0] = (drawn & 0xffff0000) | immediate(draw, in.op);
    if (!decodes()) {  // The instruction has no SIMM16.
      words[0] = drawn;
      if (!decodes()) return;
    }
  }
  if (in.op == Op::s_sendmsg_rtn_b32 || in.op == Op::s_sendmsg_rtn_b64) {
    static constexpr uint16_t kKnown[] = {128, 130, 133};
    in.simm16 = kKnown[draw.below(3)];
    words[0] = (words[0] & ~0xffu) | in.simm16;
  }
  if (in.op == Op::s_barrier_signal || in.op == Op::s_barrier_signal_isfirst) {
    in.src[0].code = isa::code::kZero + 65;  // -1: that of the work-group
    words[0] = (words[0] & ~0xffu) | in.src[0].code;
  }
  if (is_unspecified(in)) return;

  State state = draw.state(target);
  TestWave t(target, state.wave_size);
  CodeAddresses addresses(draw, t.code_buffer.va);
  aim_registers(draw, addresses, in, state);
  state.mode |= static_cast<uint32_t>(draw.bits()) & 0x7f000;  // EXCP_EN
  if (target.family() < isa::Family::kGfx10) state.mode |= draw.below(7) << 29 | draw.below(2) << 28;
  state.pc = addresses.near_middle();

  Hardware hardware;
  hardware.status = draw.one_in(2) ? 1u << 6 : 0;
  if (in.op == Op::s_rfe_b64 || in.op == Op::s_rfe_restore_b64 || draw.one_in(3)) hardware.status |= 1u << 5;
  if (draw.one_in(4)) hardware.status |= 1u << 13;
  hardware.trap_status = draw.value();
  hardware.vgprs = 32;
  hardware.lds_bytes = 65536;
  hardware.doorbell = 5;
  if (!draw.one_in(4)) {
    hardware.trap_code = addresses.any();
    hardware.trap_data = draw.bits() & 0xffffffffff00;
    t.trap = {hardware.trap_code, hardware.trap_data};
  }
  for (uint32_t& half : hardware.flat_scratch) half = draw.value();

  t.put(std::vector<uint32_t>(kCodeBytes / 4, end_program(target)));
  t.put({words, words + in.bytes / 4}, state.pc - t.code_buffer.va);
  std::memcpy(t.wave.scalars(), state.scalar.data(), sizeof state.scalar);
  std::memcpy(t.wave.scalars() + kFlatScratchSlot, hardware.flat_scratch, sizeof hardware.flat_scratch);
  t.wave.scc = state.scc;
  t.wave.mode = state.mode;
  t.wave.status = hardware.status;
  t.wave.trap_status = hardware.trap_status;

  const State before = state;
  Next next{};
  if (execute_control(in, state, hardware, next) != Outcome::kDone) return;
  // A jump into the instruction itself.
  if (state.pc - before.pc < in.bytes && next != Next::kTraps && next != Next::kEnds) return;
  if (state.pc - t.code_buffer.va >= kCodeBytes) return;
  if (t.run_at(before.pc, 1000) == Stop::kIllegal) {
    ++tally.refused;
    tally.refusal = t.wave.illegal_reason;
    return;
  }
  ++tally.compared;
  const std::string wrong = difference(state, hardware, next, t);
  if (wrong.empty() || tally.wrong++ != 0) return;
  std::ostringstream text;
  text << chip.name << (chip.wave32 ? " wave32: " : ": ") << isa::disassemble(target, in) << std::hex
       << ", at " << before.pc << ", MODE " << before.mode << ", EXEC " << before.exec() << ", SCC "
       << before.scc << "\n"
       << wrong;
  tally.first_failure = text.str();
}

TEST(Reference, ControlInstructionsMatchModel) {
  const uint64_t draws = number_from_environment("RIGEL_DRAWS", 60);
  Tallies tallies;
  for (const Chip& chip : kChipsCompared) {
    Draw draw = draw_for(chip);
    for_each_row(chip, kScalarEncodings, [&](uint16_t row, Op op) {
      if (!is_in_list(kNotRun, op)) return;
      for (uint64_t i = 0; i < draws; ++i) run_one(draw, chip, row, tallies[op]);
    });
  }
  for (const auto& [op, tally] : tallies) {
    const bool refused = is_in_list(kRefused, op);
    if (tally.wrong != 0) {
      ADD_FAILURE() << tally.wrong << " of " << tally.compared << " runs differ. The first:\n"
                    << tally.first_failure;
    } else if (tally.compared == 0 && !refused) {
      ADD_FAILURE() << isa::name(op)
                    << " was not compared: " << (tally.refusal.empty() ? "never drawn" : tally.refusal);
    } else if (tally.compared != 0 && refused) {
      ADD_FAILURE() << isa::name(op) << " is compared now: take it off the list";
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
