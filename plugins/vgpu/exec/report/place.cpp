#include "plugins/vgpu/exec/report/place.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "plugins/vgpu/exec/report/work_items.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kLinesBefore = 6, kLinesAfter = 2;

}  // namespace

std::string line(std::string_view about, std::string_view text) {
  return fmt::format("\n  {:<12} {}", about, text);
}

std::string text_of(const Triple& id) {
  return fmt::format("({}, {}, {})", id[0], id[1], id[2]);
}

std::string text_of_pc(uint64_t pc, uint64_t entry) {
  if (pc < entry) return fmt::format("pc {:#x}", pc);  // a function below the kernel, or a trap handler
  return fmt::format("pc {:#x} (entry + {:#x})", pc, pc - entry);
}

std::string lines_of(const std::vector<SourceFrame>& frames, std::string_view first) {
  std::string text;
  for (const SourceFrame& frame : frames) text += line(text.empty() ? first : "inlined into", text_of(frame));
  return text;
}

isa::DecodeStatus decode_at(const Block& block, uint32_t offset, isa::Instruction& instruction) {
  uint32_t words[isa::kMaxInstructionDwords] = {};
  const size_t available = std::min<size_t>(sizeof words, block.bytes - offset);
  std::memcpy(words, block.image + offset, available);
  return isa::decode(block.code->key().target, words, available / 4, instruction);
}

std::string instruction_at(const Block& block, uint32_t offset, uint32_t& bytes) {
  isa::Instruction instruction;
  const auto status = decode_at(block, offset, instruction);
  bytes = status == isa::DecodeStatus::kOk ? instruction.bytes : 4;
  if (status == isa::DecodeStatus::kOk) return isa::disassemble(block.code->key().target, instruction);
  uint32_t word = 0;
  std::memcpy(&word, block.image + offset, sizeof word);
  return fmt::format(".long {:#010x}  // {}", word, isa::reason(status));
}

std::string code_around(const MicroOp* op) {
  const Block& block = block_of(op);
  std::deque<std::string> lines;
  size_t after = 0;
  for (uint32_t offset = 0, bytes = 0; offset + 4 <= block.bytes && after <= kLinesAfter; offset += bytes) {
    const std::string text = instruction_at(block, offset, bytes);
    const bool is_current = offset == op->code_offset;
    lines.push_back(fmt::format("\n  {} {:#x}  {}", is_current ? "=>" : "  ", block.pc + offset, text));
    if (offset >= op->code_offset) {
      ++after;
    } else if (lines.size() > kLinesBefore) {
      lines.pop_front();
    }
  }
  std::string all;
  for (const std::string& text : lines) all += text;
  return all;
}

}  // namespace rigel::vgpu::exec
