// Text of operands and immediates, for the disassembler.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

void append_number(std::string& text, int64_t value);
/// Formats as 0x… or -0x….
void append_hex(std::string& text, int64_t value);

/// Formats like an inline 32-bit constant: small integers in decimal, inline floats by value.
void append_constant(std::string& text, uint32_t value);
/// Formats a register, an inline constant or the instruction's literal.
void append_operand(std::string& text, const Target& target, const Operand& operand, uint32_t literal);

// SIMM16 of certain instructions:
void append_wait_count(std::string& text, Family family, uint16_t value);
void append_message(std::string& text, Family family, uint16_t value);
void append_hardware_register(std::string& text, const Target& target, uint16_t value);
void append_dependency_counters(std::string& text, const Target& target, uint16_t value);
void append_version(std::string& text, uint16_t value);
void append_index_mode(std::string& text, uint16_t value);

/// Formats the offset of ds_swizzle_b32.
void append_swizzle(std::string& text, uint16_t value);
/// Formats a DPP_CTRL that the decoder accepts.
void append_lane_permutation(std::string& text, Family family, uint16_t control);
/// Formats " format:[…]" of a typed buffer instruction, unless it is the default.
void append_buffer_format(std::string& text, Family family, uint8_t format);
/// Formats the operand of s_delay_alu.
void append_delay(std::string& text, uint16_t value);
/// Formats the target of an export.
void append_export_target(std::string& text, Family family, uint8_t target);

}  // namespace rigel::vgpu::isa
