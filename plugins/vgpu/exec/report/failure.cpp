#include "plugins/vgpu/exec/report/failure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/group.hpp"
#include "plugins/vgpu/exec/report/kernel_name.hpp"
#include "plugins/vgpu/exec/report/place.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/fidelity/run_fidelity.hpp"
#include "plugins/vgpu/isa/operand_text.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr int kMaxWorkItemsListed = 8;  // further work-items are counted
constexpr int kMaxLanesListed = 4;      // lanes whose registers are listed

// Returns the registers that the instruction reads, each once. VGPRs are listed for `lanes`.
std::string registers_read(const Wave& wave, uint64_t lanes) {
  const Block& block = block_of(wave.op);
  const auto* const s = reinterpret_cast<const uint32_t*>(wave.registers);
  std::string text =
      line("exec", fmt::format("{:016x}", s[isa::code::kExecLo] | uint64_t{s[isa::code::kExecHi]} << 32));
  isa::Instruction instruction;
  if (wave.op->code_offset + 4 > block.bytes ||
      decode_at(block, wave.op->code_offset, instruction) != isa::DecodeStatus::kOk) {
    return text;
  }
  const isa::Operand* const all[] = {&instruction.src[0], &instruction.src[1], &instruction.src[2],
                                     &instruction.vaddr,  &instruction.saddr,  &instruction.soffset,
                                     &instruction.vdata,  &instruction.vdata2};
  std::vector<std::string> shown;
  for (const isa::Operand* operand : all) {
    if (!operand->exists() || (!operand->is_vgpr() && !operand->is_scalar_register())) continue;
    std::string name;
    isa::append_operand(name, block.code->key().target, *operand, instruction.literal);
    if (std::find(shown.begin(), shown.end(), name) != shown.end()) continue;
    shown.push_back(name);
    const uint32_t dwords = std::max<uint32_t>(operand->dwords, 1);
    const auto value = [&](auto&& dword) {
      if (dwords == 2) return fmt::format("{:016x}", dword(0) | uint64_t{dword(1)} << 32);
      std::string values;
      for (uint32_t i = 0; i < dwords; ++i) values += fmt::format("{}{:08x}", i == 0 ? "" : " ", dword(i));
      return values;
    };
    if (!operand->is_vgpr()) {
      if (operand->code + dwords > kScalarSlots) continue;
      text += line(name, value([&](uint32_t i) { return s[operand->code + i]; }));
      continue;
    }
    if (operand->vgpr() + dwords > wave.layout.vgprs) continue;
    std::string lane_values;
    int count = 0;
    for (uint64_t remaining = lanes; remaining != 0 && count < kMaxLanesListed;
         remaining &= remaining - 1, ++count) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(remaining));
      lane_values += fmt::format(
          "{}lane {}: {}", count == 0 ? "" : ", ", lane, value([&](uint32_t i) {
            uint32_t dword = 0;
            std::memcpy(&dword, wave.registers + wave.layout.vgpr_offset(operand->vgpr() + i) + lane * 4,
                        sizeof dword);
            return dword;
          }));
    }
    if (!lane_values.empty()) text += line(name, lane_values);
  }
  return text;
}

std::string_view access_name(uint8_t access) {
  constexpr std::string_view kNames[] = {"reading", "writing", "executing"};
  return kNames[std::min<size_t>(access, 2)];
}

std::string_view reason_name(uint8_t reason) {
  constexpr std::string_view kNames[] = {"", "not mapped", "read-only", "not executable"};
  return kNames[std::min<size_t>(reason, 3)];
}

std::string work_item(const WorkItems& items, unsigned lane) {
  return fmt::format("{}, local {}, lane {}", text_of(items.global(lane)), text_of(items.local(lane)), lane);
}

// Describes an address that FLAT instructions find in an aperture, or a null pointer with an offset.
std::string about_address(const Wave& wave, uint64_t va) {
  constexpr uint64_t kNearNull = 0x10000;
  const auto high = static_cast<uint32_t>(va >> 32);
  if (va < kNearNull) return fmt::format("{:#x} is a null pointer plus {} bytes", va, va);
  if (high == wave.private_aperture_hi && high != 0) {
    return fmt::format("{:#x} is byte {} of a work-item's private memory (stack) of {} bytes", va,
                       static_cast<uint32_t>(va), wave.scratch_lane_bytes);
  }
  return {};
}

WorkItems items_of(const Wave& wave, const Launch& launch) {
  return launch.work_items(*wave.group, wave.id_in_group);
}

}  // namespace

std::vector<std::string> describe_work_items(const WorkItems& items, uint64_t lanes,
                                             const uint64_t* addresses) {
  std::vector<std::string> lines;
  const auto describe = [&](unsigned lane) {
    std::string text = work_item(items, lane);
    if (addresses != nullptr) text += fmt::format(": {:#x}", addresses[lane]);
    return text;
  };
  const int count = std::popcount(lanes);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (static_cast<int>(lines.size()) == kMaxWorkItemsListed - 1 && count > kMaxWorkItemsListed) {
      lines.push_back(fmt::format("and {} more, the last {}", count - kMaxWorkItemsListed + 1,
                                  describe(63 - static_cast<unsigned>(std::countl_zero(lanes)))));
      break;
    }
    lines.push_back(describe(lane));
  }
  return lines;
}

std::string describe_place(uint64_t pc, uint64_t entry, const StoppedWave& wave, DeviceBus& bus) {
  SourceLines lines(bus.code_objects());
  const auto frames_of = [&](uint64_t address) {
    std::vector<SourceFrame> frames = lines.frames(address);
    if (!frames.empty()) return frames;
    // The function is a library's; its caller's position is more useful. The kernel's name is already in
    // the report.
    if (const auto function = lines.function(address); function && function->begin != entry) {
      frames.push_back({demangled(function->name), {}});
    }
    return frames;
  };
  std::string text = lines_of(frames_of(pc));
  std::vector<uint64_t> calls;
  {
    WaveMemory memory(bus);
    const auto read = [&](uint64_t va) -> std::optional<uint32_t> {
      const WaveMemory::Scope scope(memory);
      uint32_t dword = 0;
      VmFault fault;
      if (!memory.read(va, &dword, sizeof dword, fault)) return std::nullopt;
      return dword;
    };
    calls = calls_to(pc, entry, wave, {[&](uint64_t at) { return lines.function(at); }, read});
  }
  for (const uint64_t call : calls) text += lines_of(frames_of(call), "called from");
  return text;
}

std::string kernel_of(const Dispatch& dispatch, WaveMemory& memory) {
  const std::string name = kernel_name(memory, dispatch.kernel_object_va);
  return name.empty() ? "(unnamed)" : demangled(name);
}

std::string kernel_of(const Dispatch& dispatch, DeviceBus& bus) {
  WaveMemory memory(bus);
  const WaveMemory::Scope scope(memory);
  return kernel_of(dispatch, memory);
}

Failure examine_failure(const Group& group, WaveMemory& memory) {
  const Wave& wave = group.failed_wave();
  const Launch& launch = group.launch();
  const Dispatch& dispatch = launch.dispatch();
  const Block& block = block_of(wave.op);
  Failure failure;
  DispatchResult& result = failure.result;
  failure.items = items_of(wave, launch);
  uint64_t lanes = 0;  // lanes whose registers are reported
  switch (wave.stop) {
    case Stop::kFault: {
      const LaneFaults& faults = memory.lane_faults();
      result.kind = DispatchResult::Kind::kFault;
      result.fault.va = wave.fault_va;
      result.fault.access = static_cast<Access>(wave.fault_access);
      result.fault.reason = static_cast<FaultReason>(wave.fault_reason);
      result.fault.queue_id = dispatch.queue_id;
      failure.summary = fmt::format("memory fault {}{} {:#x} ({})", access_name(wave.fault_access),
                                    faults.bytes == 0 ? "" : fmt::format(" {} bytes at", faults.bytes),
                                    wave.fault_va, reason_name(wave.fault_reason));
      lanes = faults.lanes;
      failure.work_items = describe_work_items(failure.items, lanes, faults.va);
      failure.address = about_address(wave, wave.fault_va);
      break;
    }
    case Stop::kTrap:
      result.kind = DispatchResult::Kind::kError;
      result.error = QueueError::kTrap;
      failure.summary = fmt::format("trap {} in a trap handler", wave.trap_id);
      break;
    default: {
      result.kind = DispatchResult::Kind::kError;
      result.error = QueueError::kIllegalInstruction;
      uint32_t bytes = 0;
      const std::string instruction = wave.op->code_offset + 4 <= block.bytes
                                          ? instruction_at(block, wave.op->code_offset, bytes)
                                          : std::string("no code");
      failure.summary = "illegal instruction: " + instruction;
      fidelity::RunFidelity::of_process().count(fidelity::Set::kIsa, instruction,
                                                fidelity::Degree::kUnsupported, "the wave stopped");
      if (wave.illegal_reason != nullptr && instruction.find(wave.illegal_reason) == instruction.npos)
        failure.summary += fmt::format(" ({})", wave.illegal_reason);
      lanes = const_cast<Wave&>(wave).exec();
      break;
    }
  }
  failure.kernel = kernel_of(dispatch, memory);
  failure.pc = pc_of(wave.op);
  failure.entry = dispatch.entry_va;
  failure.wave = StoppedWave(wave, block.code->key().target, const_cast<Wave&>(wave).exec());
  failure.schedule = launch.schedule().text();
  failure.pc_is_late = wave.left_in_handler;
  failure.code = code_around(wave.op);
  failure.registers = registers_read(wave, lanes);
  return failure;
}

DispatchResult describe_failure(Failure failure, DeviceBus& bus) {
  std::string& text = failure.result.reason;
  text = std::move(failure.summary);
  text += line("kernel", failure.kernel);
  text += describe_place(failure.pc, failure.entry, failure.wave, bus);
  text += line("work-group", fmt::format("{}, wave {}, {}{}", text_of(failure.items.group),
                                         failure.items.wave, text_of_pc(failure.pc, failure.entry),
                                         failure.pc_is_late ? " or a little later" : ""));
  if (!failure.schedule.empty()) text += line("schedule", failure.schedule);
  for (const std::string& item : failure.work_items) text += line("work-item", item);
  if (failure.result.kind == DispatchResult::Kind::kFault) {
    if (failure.address.empty()) failure.address = bus.describe_address(failure.result.fault.va);
    if (!failure.address.empty()) text += line("address", failure.address);
  }
  text += failure.code;
  text += failure.registers;
  return std::move(failure.result);
}

std::string describe_trap(const Trap& trap, const Launch& launch, DeviceBus& bus) {
  std::string text =
      fmt::format("trap {}{}", trap.id, trap.id == 2 ? " (abort(), assert() or __builtin_trap())" : "");
  text += line("kernel", kernel_of(launch.dispatch(), bus));
  text += describe_place(trap.pc, launch.dispatch().entry_va, trap.wave, bus);
  text += line("work-group", fmt::format("{}, wave {}, {}", text_of(trap.items.group), trap.items.wave,
                                         text_of_pc(trap.pc, launch.dispatch().entry_va)));
  if (const std::string schedule = launch.schedule().text(); !schedule.empty())
    text += line("schedule", schedule);
  for (const std::string& item : describe_work_items(trap.items, trap.wave.exec, nullptr))
    text += line("work-item", item);
  return text;
}

std::string describe_end(const Launch& launch) {
  return fmt::format("queue {}: dispatch {} completed: {} work-groups, {} instructions{}",
                     launch.dispatch().queue_id, launch.dispatch().packet_id, launch.groups(),
                     launch.instructions(), launch.stopped() ? ", stopped" : "");
}

std::string describe_halt(const Group& group) {
  const Dispatch& dispatch = group.launch().dispatch();
  return fmt::format("queue {}: dispatch {}: remaining waves of work-group {} halted", dispatch.queue_id,
                     dispatch.packet_id, group.index());
}

}  // namespace rigel::vgpu::exec
