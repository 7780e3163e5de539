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
  Seen& seen = waves_[&wave];
  // A group's memory serves the next one: the last instruction of a wave that ended changes nothing.
  const bool same = seen.pc != 0 && seen.id == wave.id_in_group &&
                    std::equal(std::begin(seen.group), std::end(seen.group), wave.group->id);
  if (seen.pc != 0) write(seen, same ? &wave : nullptr);
  seen.pc = pc;
  seen.scc = wave.scc;
  seen.id = wave.id_in_group;
  std::copy(std::begin(wave.group->id), std::end(wave.group->id), seen.group);
  seen.layout = wave.layout;
  seen.registers.resize(wave.layout.vgpr_offset(wave.layout.vgprs) / 4);
  std::memcpy(seen.registers.data(), wave.registers, seen.registers.size() * 4);
}

void InstructionTracer::finish() {
  for (const auto& [wave, seen] : waves_) {
    if (seen.pc != 0) write(seen, nullptr);
  }
  waves_.clear();
}

void InstructionTracer::write(const Seen& seen, const exec::Wave* now) {
  isa::Target target = target_;
  target.wave32 = seen.layout.wave_size == 32;
  std::string text = fmt::format("({},{},{}).{} {:#x}  {}", seen.group[0], seen.group[1], seen.group[2],
                                 seen.id, seen.pc, disassembled(target, memory_, seen.pc));
  if (now != nullptr) {
    std::vector<uint32_t> present(seen.registers.size());
    std::memcpy(present.data(), now->registers, present.size() * 4);
    for (uint32_t i = 0; i < 128; ++i) {
      if (present[i] != seen.registers[i])
        text += fmt::format("\n    {} = {:08x}", scalar_name(i), present[i]);
    }
    if (now->scc != seen.scc) text += fmt::format("\n    scc = {}", now->scc);
    const uint32_t lanes = seen.layout.wave_size;
    for (uint32_t v = 0; v < seen.layout.vgprs; ++v) {
      const uint32_t* const before = seen.registers.data() + seen.layout.vgpr_offset(v) / 4;
      const uint32_t* const after = present.data() + seen.layout.vgpr_offset(v) / 4;
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
