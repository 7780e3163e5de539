// Fields of vector micro-ops, the same at every SIMD level. Bit i of a three-bit field belongs to source i.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec {

/// Fields of MicroOp::aux.
namespace aux {
constexpr uint32_t kUniform = 1u << 0;   ///< The source is a scalar or constant, equal in all lanes.
constexpr uint32_t kConstant = 1u << 3;  ///< The source is a constant.
constexpr uint32_t kWave64 = 1u << 6;
constexpr uint32_t kQuietsNumbers = 1u << 7;  ///< Minimum and maximum quiet NaNs; MODE has no IEEE.
constexpr uint32_t kAbs = 1u << 8;
constexpr uint32_t kNeg = 1u << 11;
constexpr uint32_t kOmodShift = 14;  ///< Two bits, as in Instruction::omod
constexpr uint32_t kClamp = 1u << 16;
constexpr uint32_t kDx10Clamp = 1u << 17;
constexpr uint32_t kIeee = 1u << 18;
constexpr uint32_t kRound16Shift = 19;  ///< Two bits
constexpr uint32_t kFlushInputs16 = 1u << 21;
constexpr uint32_t kFlushResults16 = 1u << 22;
constexpr uint32_t kFlushInputs32 = 1u << 23;
constexpr uint32_t kFlushResults32 = 1u << 24;
constexpr uint32_t kHigh = 1u << 25;          ///< The source is the high half of its dword.
constexpr uint32_t kHighResult = 1u << 28;    ///< The result goes to the high half; the low half is kept.
constexpr uint32_t kKeepHigh = 1u << 29;      ///< The result goes to the low half; the high half is kept.
constexpr uint32_t kFiniteHalves = 1u << 30;  ///< Halves overflow to the largest number instead of infinity.
constexpr uint32_t kFewTurns = 1u << 31;      ///< Sine and cosine accept 256 turns in either direction.
constexpr uint32_t kPost = kClamp | 3u << kOmodShift;
}  // namespace aux

/// Fields of MicroOp::imm for packed and mixed-precision operations: op_sel, op_sel_hi, neg and neg_hi.
/// Other encodings have op_sel_hi set.
namespace packed {
constexpr uint64_t kSelect = 1;           ///< The low half is computed from the source's high half.
constexpr uint64_t kSelectHigh = 1 << 3;  ///< The high half is computed from the source's high half.
constexpr uint64_t kNeg = 1 << 6;
constexpr uint64_t kNegHigh = 1 << 9;
}  // namespace packed

}  // namespace rigel::vgpu::exec
