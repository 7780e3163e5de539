#include "tools/vgpu-exec/instruction_tracer.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::runner {
namespace {

std::string scalar_name(uint32_t slot) {
  constexpr const char* kNamed[] = {"m0", "null", "exec_lo", "exec_hi"};
  if (slot == 106 || slot == 107) return slot == 106 ? "vcc_lo" : "vcc_hi";
  if (slot >= 124) return kNamed[slot - 124];
  return fmt::format("{}{}", slot >= 108 ? "ttmp" : "s", slot >= 108 ? slot - 108 : slot);
}

std::string disassembled(const isa::Target& target, MemoryBus& memory, uint64_t pc) {
  uint32_t words[isa::kMaxInstructionDwords] = {};
  const Translation code = memory.translate(pc, sizeof words, Access::kExecute);
  if (code.host == nullptr) return "?";
  std::memcpy(words, code.host, code.bytes);
  isa::Instruction instruction;
  const auto status = isa::decode(target, words, code.bytes / 4, instruction);
  return status == isa::DecodeStatus::kOk ? isa::disassemble(target, instruction)
                                          : std::string(isa::reason(status));
}

}  // namespace

void InstructionTracer::before(exec::Wave& wave, uint64_t pc) {
  Snapshot& snapshot = waves_[&wave];
  // Work-groups reuse the memory of waves. If another wave has it, the changes of the last instruction are
  // unknown.
  const bool same = snapshot.pc != 0 && snapshot.id == wave.id_in_group &&
                    std::equal(std::begin(snapshot.group), std::end(snapshot.group), wave.group->id);
  if (snapshot.pc != 0) write(snapshot, same ? &wave : nullptr);
  snapshot.pc = pc;
  snapshot.scc = wave.scc;
  snapshot.id = wave.id_in_group;
  std::copy(std::begin(wave.group->id), std::end(wave.group->id), snapshot.group);
  snapshot.layout = wave.layout;
  snapshot.registers.resize(wave.layout.vgpr_offset(wave.layout.vgprs) / 4);
  std::memcpy(snapshot.registers.data(), wave.registers, snapshot.registers.size() * 4);
}

void InstructionTracer::finish() {
  for (const auto& [wave, snapshot] : waves_) {
    if (snapshot.pc != 0) write(snapshot, nullptr);
  }
  waves_.clear();
}

void InstructionTracer::write(const Snapshot& snapshot, const exec::Wave* current) {
  isa::Target target = target_;
  target.wave32 = snapshot.layout.wave_size == 32;
  std::string text =
      fmt::format("({},{},{}).{} {:#x}  {}", snapshot.group[0], snapshot.group[1], snapshot.group[2],
                  snapshot.id, snapshot.pc, disassembled(target, memory_, snapshot.pc));
  if (current != nullptr) {
    std::vector<uint32_t> present(snapshot.registers.size());
    std::memcpy(present.data(), current->registers, present.size() * 4);
    for (uint32_t i = 0; i < 128; ++i) {
      if (present[i] != snapshot.registers[i])
        text += fmt::format("\n    {} = {:08x}", scalar_name(i), present[i]);
    }
    if (current->scc != snapshot.scc) text += fmt::format("\n    scc = {}", current->scc);
    const uint32_t lanes = snapshot.layout.wave_size;
    for (uint32_t v = 0; v < snapshot.layout.vgprs; ++v) {
      const uint32_t* const before = snapshot.registers.data() + snapshot.layout.vgpr_offset(v) / 4;
      const uint32_t* const after = present.data() + snapshot.layout.vgpr_offset(v) / 4;
      if (std::equal(before, before + lanes, after)) continue;
      text += fmt::format("\n    v{} =", v);
      if (std::all_of(after, after + lanes, [&](uint32_t x) { return x == after[0]; })) {
        text += fmt::format(" {:08x} in all lanes", after[0]);
      } else {
        for (uint32_t lane = 0; lane < lanes; ++lane) text += fmt::format(" {:08x}", after[lane]);
      }
    }
  }
  std::fprintf(out_, "%s\n", text.c_str());
}

}  // namespace rigel::vgpu::runner
