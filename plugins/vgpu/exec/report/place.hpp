// A place in a kernel, in words: what every report says of one, be it of a wave that failed, trapped or runs.
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

/// A line of a report: what it is about, then that.
std::string line(std::string_view about, std::string_view text);

/// Lines: "at f(int) at a.cpp:3:7" (or another word than the first "at"), and one for each function that it was inlined
/// into; empty if nothing is known.
std::string lines_of(const std::vector<SourceFrame>& frames, std::string_view first = "at");

/// "pc 0x7f0010 (entry + 0x10)".
std::string text_of_pc(uint64_t pc, uint64_t entry);

/// The instruction at `offset` of a block.
isa::DecodeStatus decode_at(const Block& block, uint32_t offset, isa::Instruction& instruction);

/// The same as text; `bytes` is how long it is.
std::string instruction_at(const Block& block, uint32_t offset, uint32_t& bytes);

/// Lines: the instructions before and behind that of `op`, which has an arrow.
std::string code_around(const MicroOp* op);

}  // namespace rigel::vgpu::exec
