#include "plugins/vgpu/exec/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/code.hpp"
#include "plugins/vgpu/exec/group.hpp"
#include "plugins/vgpu/exec/kernel_name.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kLinesBefore = 6, kLinesAfter = 2;

const isa::Target& target_of(const Block& block) {
  return block.code->key().target;
}

// The instruction at `offset` of a block, as text; `bytes` is how long it is.
std::string instruction_at(const Block& block, uint32_t offset, uint32_t& bytes) {
  uint32_t words[isa::kMaxInstructionDwords] = {};
  const size_t available = std::min<size_t>(sizeof words, block.bytes - offset);
  std::memcpy(words, block.image + offset, available);
  isa::Instruction instruction;
  const auto status = isa::decode(target_of(block), words, available / 4, instruction);
  bytes = status == isa::DecodeStatus::kOk ? instruction.bytes : 4;
  if (status != isa::DecodeStatus::kOk)
    return fmt::format(".long {:#010x}  // {}", words[0], isa::reason(status));
  return isa::disassemble(target_of(block), instruction);
}

std::string code_around(const MicroOp* op) {
  const Block& block = block_of(op);
  std::deque<std::string> lines;
  size_t after = 0;
  for (uint32_t offset = 0, bytes = 0; offset + 4 <= block.bytes && after <= kLinesAfter; offset += bytes) {
    const std::string text = instruction_at(block, offset, bytes);
    const bool here = offset == op->code_offset;
    lines.push_back(fmt::format("\n  {} {:#x}  {}", here ? "=>" : "  ", block.pc + offset, text));
    if (offset >= op->code_offset) {
      ++after;
    } else if (lines.size() > kLinesBefore) {
      lines.pop_front();
    }
  }
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

void append_rows(std::string& text, char letter, uint32_t count, auto&& value) {
  constexpr uint32_t kPerLine = 8;
  for (uint32_t first = 0; first < count; first += kPerLine) {
    text += fmt::format("\n  {}{:<3}", letter, first);
    for (uint32_t i = first; i < std::min(first + kPerLine, count); ++i)
      text += fmt::format(" {:08x}", value(i));
  }
}

std::string registers_of(const Wave& wave) {
  const auto* const s = reinterpret_cast<const uint32_t*>(wave.registers);
  const auto pair = [&](uint32_t i) { return s[i] | uint64_t{s[i + 1]} << 32; };
  const uint64_t exec = pair(126);
  std::string text = fmt::format("\n  exec {:016x}  vcc {:016x}  scc {}  m0 {:08x}  mode {:08x}", exec,
                                 pair(106), wave.scc, s[124], wave.mode);
  append_rows(text, 's', 104, [&](uint32_t i) { return s[i]; });
  const uint32_t lane = exec == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(exec)) % wave.layout.wave_size;
  text += fmt::format("\n  lane {}", lane);
  append_rows(text, 'v', wave.layout.vgprs, [&](uint32_t i) {
    return reinterpret_cast<const uint32_t*>(wave.registers + wave.layout.vgpr_offset(i))[lane];
  });
  return text;
}

std::string_view access_name(uint8_t access) {
  constexpr std::string_view kNames[] = {"reading", "writing", "executing"};
  return kNames[std::min<size_t>(access, 2)];
}

}  // namespace

DispatchResult describe_failure(const Group& group, Memory& memory) {
  const Wave& wave = group.failed_wave();
  const Dispatch& dispatch = group.launch().dispatch();
  const uint64_t pc = pc_of(wave.op);
  const Block& block = block_of(wave.op);
  DispatchResult result;
  std::string what;
  switch (wave.stop) {
    case Stop::kFault:
      result.kind = DispatchResult::Kind::kFault;
      result.fault.va = wave.fault_va;
      result.fault.access = static_cast<Access>(wave.fault_access);
      result.fault.reason = static_cast<FaultReason>(wave.fault_reason);
      result.fault.queue_id = dispatch.queue_id;
      what = fmt::format("memory fault {} {:#x}", access_name(wave.fault_access), wave.fault_va);
      break;
    case Stop::kTrap:
      result.kind = DispatchResult::Kind::kError;
      result.error = QueueError::kTrap;
      what = fmt::format("trap {} in the trap handler", wave.trap_id);
      break;
    default: {
      result.kind = DispatchResult::Kind::kError;
      result.error = QueueError::kIllegalInstruction;
      uint32_t bytes = 0;
      what = fmt::format(
          "{}: {}", wave.illegal_reason == nullptr ? "illegal instruction" : wave.illegal_reason,
          wave.op->code_offset + 4 <= block.bytes ? instruction_at(block, wave.op->code_offset, bytes)
                                                  : std::string("no code"));
      break;
    }
  }
  const std::string name = kernel_name(memory, dispatch.kernel_object_va);
  result.reason =
      fmt::format("{}\nkernel {}, work-group ({}, {}, {}), wave {}, pc {:#x} (entry + {:#x}){}{}{}", what,
                  name.empty() ? "without a name" : name, wave.group->id[0], wave.group->id[1],
                  wave.group->id[2], wave.id_in_group, pc, pc - dispatch.entry_va,
                  wave.left_in_handler ? " or a little later" : "", code_around(wave.op), registers_of(wave));
  return result;
}

std::string describe_end(const Launch& launch) {
  return fmt::format("dispatch {} of queue {} ended: {} work-groups, {} instructions{}",
                     launch.dispatch().packet_id, launch.dispatch().queue_id, launch.groups(),
                     launch.instructions(), launch.stopped() ? ", stopped" : "");
}

std::string describe_halt(const Group& group) {
  const Dispatch& dispatch = group.launch().dispatch();
  return fmt::format("dispatch {} of queue {}: the waves of work-group {} that are left have been halted",
                     dispatch.packet_id, dispatch.queue_id, group.index());
}

}  // namespace rigel::vgpu::exec
