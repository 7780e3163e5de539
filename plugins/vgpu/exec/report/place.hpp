// Text parts that reports of failures, traps and running waves share: a place in a kernel.
//
// Threads: any; blocks do not change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"
#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::exec {

/// Returns a line of a report: a label, then the text.
std::string line(std::string_view about, std::string_view text);

/// Returns lines such as "at f(int) at a.cpp:3:7", where `first` is the first word, and one for each
/// function that the code was inlined into. Empty for no frames.
std::string lines_of(const std::vector<SourceFrame>& frames, std::string_view first = "at");

/// "pc 0x7f0010 (entry + 0x10)".
std::string text_of_pc(uint64_t pc, uint64_t entry);

isa::DecodeStatus decode_at(const Block& block, uint32_t offset, isa::Instruction& instruction);

/// Disassembles the instruction at `offset` of a block. `bytes` is its length.
std::string instruction_at(const Block& block, uint32_t offset, uint32_t& bytes);

/// Returns lines with the instructions around that of `op`, which is marked by an arrow.
std::string code_around(const MicroOp* op);

}  // namespace rigel::vgpu::exec
