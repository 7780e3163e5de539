// Decodes arbitrary bytes for all targets. The decoder must not read past the end, must return the same
// result twice, and every decoded instruction must have a text.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace {

using namespace rigel::vgpu::isa;

constexpr Target kTargets[] = {{8, 0, 3},  {8, 1, 0},  {9, 0, 0},        {9, 0, 4},
                               {9, 0, 6},  {9, 0, 8},  {9, 0, 10},       {10, 1, 0, true},
                               {10, 1, 1}, {10, 1, 3}, {10, 3, 0, true}, {10, 3, 0}};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_one(const Target& target, const uint32_t* words, size_t count, const Instruction& instruction) {
  const size_t dwords = instruction.bytes / 4;
  require(instruction.bytes % 4 == 0 && dwords >= 1 && dwords <= count && dwords <= kMaxInstructionDwords);
  require(exists_on(instruction.op, target.family()));

  // Decodes the instruction alone, in a buffer of exactly its size.
  const std::vector<uint32_t> words_alone(words, words + dwords);
  Instruction again;
  require(decode(target, words_alone.data(), dwords, again) == DecodeStatus::kOk);
  const std::string text = disassemble(target, instruction);
  require(again.op == instruction.op && again.row == instruction.row && again.bytes == instruction.bytes);
  require(text == disassemble(target, again));
  require(text.starts_with(mnemonic(target, instruction)));

  for (const Operand* operand :
       {&instruction.dst[0], &instruction.dst[1], &instruction.src[0], &instruction.src[1],
        &instruction.src[2], &instruction.vaddr, &instruction.vdata, &instruction.vdata2, &instruction.vdst,
        &instruction.saddr, &instruction.soffset}) {
    if (!operand->exists()) continue;
    require(operand->dwords != 0 && operand->type != Type::kNone);
    if (operand->is_vgpr()) require(operand->code + operand->dwords <= code::kVgpr + 256);
    if (operand->is_agpr()) require(operand->code + operand->dwords <= code::kAgpr + 256);
    if (operand->is_scalar_register()) require(operand->code + operand->dwords <= 128);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const Target& target = kTargets[data[0] % std::size(kTargets)];
  std::vector<uint32_t> words((size - 1) / 4);
  if (!words.empty()) std::memcpy(words.data(), data + 1, words.size() * 4);
  for (size_t at = 0; at < words.size();) {
    Instruction instruction;
    const DecodeStatus status = decode(target, words.data() + at, words.size() - at, instruction);
    require(!reason(status).empty());
    if (status == DecodeStatus::kOk) {
      check_one(target, words.data() + at, words.size() - at, instruction);
      at += instruction.bytes / 4;
    } else {
      ++at;
    }
  }
  return 0;
}
