// The decoder of machine code.
//
// *Threads:* any; it does not allocate memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

enum class DecodeStatus : uint8_t {
  kOk,
  kTruncated,      ///< The instruction is longer than the given code.
  kIllegal,        ///< The chip has no such instruction.
  kBadOperand,     ///< An operand or modifier is reserved.
  kUnknownTarget,  ///< The tables do not have the chip.
};

/// Returns a description of the status.
std::string_view reason(DecodeStatus status);

/// Length of the longest instruction in dwords: an image instruction with three dwords of additional
/// addresses.
constexpr size_t kMaxInstructionDwords = 5;

/// Decodes the instruction at `words`, of which `count` may be read. If it succeeds, `instruction.bytes` is
/// the length; otherwise `instruction` is unspecified.
DecodeStatus decode(const Target& target, const uint32_t* words, size_t count, Instruction& instruction);

}  // namespace rigel::vgpu::isa
