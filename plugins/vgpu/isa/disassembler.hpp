// The text of an instruction, as LLVM's disassembler writes it. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

/// What the assembly of this target calls the operation of a decoded instruction, without a suffix for the
/// encoding.
std::string_view mnemonic(const Target& target, const Instruction& instruction);

/// The instruction as text, "v_add_f32_e32 v1, v2, v3". `instruction` is one that decode made for this
/// target.
std::string disassemble(const Target& target, const Instruction& instruction);

}  // namespace rigel::vgpu::isa
