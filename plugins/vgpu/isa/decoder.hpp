// Machine code in, instructions out. Any thread; nothing is allocated, nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

enum class DecodeStatus : uint8_t {
  kOk,
  kTruncated,      ///< The instruction is longer than what was given.
  kIllegal,        ///< No instruction of the chip looks like this.
  kBadOperand,     ///< The instruction exists, but one of its operands or modifiers is reserved.
  kUnknownTarget,  ///< The tables don't know the chip.
};

/// What is wrong, in words.
std::string_view reason(DecodeStatus status);

/// The longest instruction, in dwords: an image instruction with three dwords of further addresses.
constexpr size_t kMaxInstructionDwords = 5;

/// Decodes the instruction at `words`, of which `count` may be read. On success `instruction` is filled in
/// and its `bytes` say how far to go on; otherwise its contents are unspecified.
DecodeStatus decode(const Target& target, const uint32_t* words, size_t count, Instruction& instruction);

}  // namespace rigel::vgpu::isa
