// Text of instructions, as LLVM's disassembler prints it.
//
// *Threads:* any.
#pragma once

#include <string>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

/// Returns the mnemonic for this target, without an encoding suffix.
std::string_view mnemonic(const Target& target, const Instruction& instruction);

/// Returns text such as "v_add_f32_e32 v1, v2, v3". `instruction` must have been decoded for this target.
std::string disassemble(const Target& target, const Instruction& instruction);

}  // namespace rigel::vgpu::isa
