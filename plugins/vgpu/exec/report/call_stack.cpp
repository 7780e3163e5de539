#include "plugins/vgpu/exec/report/call_stack.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <map>
#include <utility>

#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/effects.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr uint32_t kReturn = 30, kStackPointer = 32, kFramePointer = 33;
constexpr uint32_t kBytesOfCall = 4;
constexpr size_t kMaxCalls = 64;

bool decode_in(const Function& function, uint64_t pc, const isa::Target& target,
               isa::Instruction& instruction) {
  uint32_t words[isa::kMaxInstructionDwords] = {};
  const size_t available = std::min(sizeof words, function.code.size() - (pc - function.begin));
  std::memcpy(words, function.code.data() + (pc - function.begin), available);
  return isa::decode(target, words, available / 4, instruction) == isa::DecodeStatus::kOk;
}

// Locations of the SGPR values that a function was called with, at one point of the function.
struct SavedRegisters {
  struct Lane {
    uint32_t vgpr = 0, lane = 0;
  };
  struct Stored {
    int32_t offset = 0;      // from the stack pointer
    bool all_lanes = false;  // stored for all lanes, not only for those of EXEC
  };
  std::array<int, kAllSgprs> sources;  // by SGPR: the SGPR whose initial value it has; -1: another value
  std::map<uint32_t, Lane> lanes;      // by SGPR
  std::map<uint32_t, Stored> stored;   // by VGPR
  std::bitset<256> written;            // VGPRs that have changed
  bool all_lanes = false;              // EXEC has all lanes

  SavedRegisters() {
    for (size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<int>(i);
  }

  int source_of(const isa::Operand& operand) const {
    return operand.exists() && operand.code < kAllSgprs ? sources[operand.code] : -1;
  }

  void update(const isa::Instruction& instruction, const isa::Target& target, uint32_t wave_size) {
    const isa::Registers writes = isa::effects_of(instruction, target, wave_size).writes;
    if (writes.scalars.test(isa::code::kExecLo)) all_lanes = is_all_lanes(instruction);
    if (instruction.op == isa::Op::s_mov_b32 || instruction.op == isa::Op::s_mov_b64) {
      move(instruction);
      return;
    }
    if (instruction.op == isa::Op::v_writelane_b32) save_in_lane(instruction, wave_size);
    if (instruction.op == isa::Op::buffer_store_dword) store(instruction);
    for (size_t i = 0; i < sources.size(); ++i) {
      if (writes.scalars.test(i)) sources[i] = -1;
    }
    written |= writes.vgprs;
  }

  // Whether the instruction is s_or_saveexec s[4:5], -1, or s_mov exec, -1.
  static bool is_all_lanes(const isa::Instruction& instruction) {
    constexpr uint16_t kMinusOne = isa::code::kZero + 65;
    return instruction.src[0].code == kMinusOne &&
           is_always(true, isa::implicit_effects(instruction.op).logic, isa::Bit::kOne, isa::Bit::kAny);
  }

  void move(const isa::Instruction& instruction) {
    const uint32_t to = instruction.dst[0].code, from = instruction.src[0].code;
    std::array<int, 2> moved{-1, -1};
    const uint32_t dwords = instruction.op == isa::Op::s_mov_b64 ? 2 : 1;
    for (uint32_t i = 0; i < dwords; ++i) moved[i] = from + i < kAllSgprs ? sources[from + i] : -1;
    for (uint32_t i = 0; i < dwords && to + i < kAllSgprs; ++i) sources[to + i] = moved[i];
  }

  void save_in_lane(const isa::Instruction& instruction, uint32_t wave_size) {
    const int value = source_of(instruction.src[0]);
    const uint32_t lane = instruction.src[1].code - isa::code::kZero;  // an inline constant
    if (value < 0 || lane >= wave_size || !instruction.dst[0].is_vgpr()) return;
    lanes.try_emplace(static_cast<uint32_t>(value), Lane{instruction.dst[0].vgpr(), lane});
  }

  void store(const isa::Instruction& instruction) {
    const bool is_at_stack_pointer = source_of(instruction.soffset) == static_cast<int>(kStackPointer);
    if (!is_at_stack_pointer || instruction.offen || instruction.idxen || !instruction.vdata.is_vgpr())
      return;
    const uint32_t vgpr = instruction.vdata.vgpr();
    if (!written.test(vgpr)) stored.try_emplace(vgpr, Stored{instruction.offset, all_lanes});
  }
};

class Unwinder {
 public:
  Unwinder(const StoppedWave& wave, const StackSources& sources)
      : wave_(wave),
        sources_(sources),
        stack_pointer_(wave.scalar(kStackPointer)),
        frame_pointer_(wave.scalar(kFramePointer)),
        scratch_(wave.scalar(0) | uint64_t{wave.scalar(1) & 0xffff} << 32) {}

  /// Leaves the function that contains `pc`. Returns its return address, which is in the caller.
  std::optional<uint64_t> leave_function(const Function& function, uint64_t pc) {
    SavedRegisters saved;
    for (uint64_t at = function.begin; at < pc;) {
      isa::Instruction instruction;
      if (!decode_in(function, at, wave_.target, instruction)) return std::nullopt;
      saved.update(instruction, wave_.target, wave_.layout.wave_size);
      at += instruction.bytes;
    }
    const auto low = value_at_call(saved, kReturn), high = value_at_call(saved, kReturn + 1);
    const auto frame_pointer = value_at_call(saved, kFramePointer);
    const auto stack_pointer = value_at_call(saved, kStackPointer);
    for (const auto& [vgpr, stored] : saved.stored) {
      // A lane's dwords are `wave_size` dwords apart; the stack pointer counts the bytes of all lanes.
      std::optional<uint64_t> row;
      const uint64_t offset = uint64_t{static_cast<uint32_t>(stored.offset)} * wave_.layout.wave_size;
      if (stack_pointer) row = scratch_ + *stack_pointer + offset;
      for (uint32_t lane = 0; lane < wave_.layout.wave_size; ++lane) {
        // The store skipped inactive lanes, whose values are still in the register.
        if (stored.all_lanes || (wave_.exec >> lane & 1) != 0) in_scratch_[{vgpr, lane}] = row;
      }
    }
    stack_pointer_ = stack_pointer;
    frame_pointer_ = frame_pointer;
    is_innermost_ = false;
    if (!low || !high) return std::nullopt;
    return *low | uint64_t{*high} << 32;
  }

 private:
  std::optional<uint32_t> value_at_call(const SavedRegisters& saved, uint32_t sgpr) const {
    for (uint32_t i = 0; i < saved.sources.size(); ++i) {
      if (saved.sources[i] != static_cast<int>(sgpr)) continue;
      if (const auto value = current_value(i)) return value;
    }
    const auto saved_lane = saved.lanes.find(sgpr);
    return saved_lane == saved.lanes.end() ? std::nullopt : current_value(saved_lane->second);
  }

  // Returns the value of an SGPR in the current function. Calls preserve the stack and frame pointers only.
  std::optional<uint32_t> current_value(uint32_t sgpr) const {
    if (sgpr == kStackPointer) return stack_pointer_;
    if (sgpr == kFramePointer) return frame_pointer_;
    if (!is_innermost_) return std::nullopt;
    return wave_.scalar(sgpr);
  }

  std::optional<uint32_t> current_value(const SavedRegisters::Lane& lane) const {
    if (const auto stored = in_scratch_.find({lane.vgpr, lane.lane}); stored != in_scratch_.end()) {
      return stored->second ? sources_.read(*stored->second + lane.lane * 4) : std::nullopt;
    }
    if (lane.vgpr >= wave_.layout.vgprs) return std::nullopt;
    return wave_.vgpr(lane.vgpr, lane.lane);
  }

  const StoppedWave& wave_;
  const StackSources& sources_;
  std::optional<uint32_t> stack_pointer_, frame_pointer_;  // of the current function
  // Addresses of the rows in which called functions stored VGPR lanes of the current function.
  std::map<std::pair<uint32_t, uint32_t>, std::optional<uint64_t>> in_scratch_;
  const uint64_t scratch_;
  bool is_innermost_ = true;
};

}  // namespace

StoppedWave::StoppedWave(const Wave& wave, const isa::Target& of_code, uint64_t exec_of_it)
    : target(of_code),
      exec(exec_of_it),
      layout(wave.layout),
      registers(wave.registers, wave.registers + wave.layout.bytes()) {}

uint32_t StoppedWave::scalar(uint32_t code) const {
  uint32_t value = 0;
  std::memcpy(&value, registers.data() + scalar_offset(code), sizeof value);
  return value;
}

uint32_t StoppedWave::vgpr(uint32_t index, uint32_t lane) const {
  uint32_t value = 0;
  std::memcpy(&value, registers.data() + layout.vgpr_offset(index) + lane * 4, sizeof value);
  return value;
}

std::vector<uint64_t> calls_to(uint64_t pc, uint64_t entry, const StoppedWave& wave,
                               const StackSources& sources) {
  std::vector<uint64_t> calls;
  if (wave.registers.empty()) return calls;
  Unwinder unwinder(wave, sources);
  auto function = sources.function_at(pc);
  while (function && function->begin != entry && calls.size() < kMaxCalls) {
    const auto return_address = unwinder.leave_function(*function, pc);
    if (!return_address || *return_address < kBytesOfCall) break;
    const uint64_t call = *return_address - kBytesOfCall;
    function = sources.function_at(call);
    isa::Instruction instruction;
    if (!function || !decode_in(*function, call, wave.target, instruction) ||
        instruction.op != isa::Op::s_swappc_b64 || instruction.dst[0].code != kReturn) {
      break;
    }
    calls.push_back(call);
    pc = *return_address;
  }
  return calls;
}

}  // namespace rigel::vgpu::exec
