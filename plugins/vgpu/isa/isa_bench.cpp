// Speed of decoding and disassembling, for every instruction of the tables.
#include <benchmark/benchmark.h>

#include <vector>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"

namespace rigel::vgpu::isa {
namespace {

/// Returns code with an instruction of each row of the target that decodes with these register fields.
std::vector<uint32_t> program_of_rows(const Target& target) {
  std::vector<uint32_t> code;
  uint64_t seed = 1;
  for (size_t i = 0; i != tables::rows().size(); ++i) {
    const tables::Row& row = tables::rows()[i];
    const tables::Shape& shape = tables::shapes()[row.shape];
    if (!row.chips.intersects(chip_set(target))) continue;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t bits = row.value | (seed & shape.live & 0x0000070707000707u);
    const uint32_t words[] = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32), 0, 0, 0};
    Instruction instruction;
    if (decode(target, words, 5, instruction) != DecodeStatus::kOk) continue;
    code.insert(code.end(), words, words + instruction.bytes / 4);
  }
  return code;
}

/// Typical compiler output: 33 gfx900 instructions of a tiled matrix product.
std::vector<uint32_t> matrix_loop() {
  return {0xc00a0301, 0x00000000, 0x7e020280, 0xd1c30004, 0x040e0501, 0x24060682, 0xd1fd0005,
          0x04090901, 0xdc508000, 0x037f0002, 0xdc508040, 0x067f0004, 0xbf8c0f70, 0xd81a0000,
          0x00000300, 0xd81a0400, 0x00000600, 0xbf8cc07f, 0xbf8a0000, 0xd86e1000, 0x08000004,
          0xd9fe0800, 0x0c000005, 0xbf8cc07f, 0xd1cb0001, 0x04061908, 0xd1cb0001, 0x04061b09,
          0x2c021f0e, 0x3204040c, 0x38060680, 0x7d920902, 0x000e0501, 0xd0c40004, 0x0002000e,
          0xbe862004, 0xbf880002, 0x87fe067e, 0x80088108, 0xbf07ff08, 0x00001234, 0xbf85ffe0,
          0xe0701000, 0x04000102, 0xdc708000, 0x007f0102, 0x7e0a02fa, 0xff011101, 0xbf810000};
}

void decode_all(benchmark::State& state, const Target& target, const std::vector<uint32_t>& code) {
  int64_t instructions = 0;
  Instruction instruction;
  for (auto _ : state) {
    for (size_t at = 0; at < code.size();) {
      if (decode(target, code.data() + at, code.size() - at, instruction) != DecodeStatus::kOk) {
        state.SkipWithError("does not decode");
        return;
      }
      benchmark::DoNotOptimize(instruction);
      at += instruction.bytes / 4;
      ++instructions;
    }
  }
  state.SetItemsProcessed(instructions);
}

void BM_DecodeCommon(benchmark::State& state) {
  decode_all(state, {9, 0, 0}, matrix_loop());
}
void BM_DecodeTables(benchmark::State& state) {
  const Target target = state.range(0) == 8   ? Target{8, 0, 3}
                        : state.range(0) == 9 ? Target{9, 0, 0}
                                              : Target{10, 3, 0};
  decode_all(state, target, program_of_rows(target));
}
void BM_DisassembleTables(benchmark::State& state) {
  const Target target{9, 0, 0};
  const auto code = program_of_rows(target);
  int64_t instructions = 0;
  for (auto _ : state) {
    for (size_t at = 0; at < code.size();) {
      Instruction instruction;
      (void)decode(target, code.data() + at, code.size() - at, instruction);
      benchmark::DoNotOptimize(disassemble(target, instruction));
      at += instruction.bytes / 4;
      ++instructions;
    }
  }
  state.SetItemsProcessed(instructions);
}

BENCHMARK(BM_DecodeCommon);
BENCHMARK(BM_DecodeTables)->Arg(8)->Arg(9)->Arg(10);
BENCHMARK(BM_DisassembleTables);

}  // namespace
}  // namespace rigel::vgpu::isa
