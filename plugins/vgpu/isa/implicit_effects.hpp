// What an arithmetic operation does besides reading and writing its operands: SCC, VCC, EXEC, M0 and MODE,
// and the flow of control. Code uses these columns instead of lists of operations.
//
// Source: LLVM's description of AMDGPU, through generate_tables.py, which lists the exceptions with their
// reasons.
//
// *Threads:* any; constants.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

/// Where control goes after an operation.
enum class Flow : uint8_t {
  kNext,           ///< To the next instruction.
  kEnd,            ///< Nowhere: the wave ends.
  kBranch,         ///< To an address relative to the instruction.
  kConditional,    ///< To the next instruction, or to an address relative to the instruction.
  kCall,           ///< To a function, which may return to the next instruction.
  kJump,           ///< To an address in registers.
  kFork,           ///< Some lanes wait while the others continue: forks, joins, loops of subvectors.
  kInterruptible,  ///< To the next instruction, unless a trap handler, the wave's end or new code intervenes.
};

/// The result's bit as a function of a bit of each source: bit 2 * first + second. The second source of
/// s_*_saveexec and s_*_wrexec is EXEC, which also receives the result.
enum class Logic : uint8_t {
  kNone = 0,  ///< Another operation.
  kMov = 0b1100,
  kNot = 0b0011,
  kAnd = 0b1000,
  kNand = 0b0111,
  kOr = 0b1110,
  kNor = 0b0001,
  kXor = 0b0110,
  kXnor = 0b1001,
  kAndn1 = 0b0010,
  kAndn2 = 0b0100,
  kOrn1 = 0b1011,
  kOrn2 = 0b1101,
};

/// Known values of a source's bit.
enum class Bit : uint8_t { kZero = 0b01, kOne = 0b10, kAny = 0b11 };

/// Whether the result's bit is `value` for all values that the sources' bits may have; false for other
/// operations.
constexpr bool is_always(bool value, Logic logic, Bit first, Bit second) {
  for (unsigned i = 0; i != 4; ++i) {
    const bool is_possible = (static_cast<unsigned>(first) >> (i / 2) & 1) != 0 &&
                             (static_cast<unsigned>(second) >> (i % 2) & 1) != 0;
    if (is_possible && (static_cast<unsigned>(logic) >> i & 1) != (value ? 1 : 0)) return false;
  }
  return logic != Logic::kNone;
}

namespace implicit {
constexpr uint16_t kReadsScc = 1u << 0, kWritesScc = 1u << 1, kReadsVcc = 1u << 2;
constexpr uint16_t kReadsExec = 1u << 3, kWritesExec = 1u << 4;  // Scalar operations.
constexpr uint16_t kIgnoresExec = 1u << 5;                       // Other vector operations read EXEC.
constexpr uint16_t kReturnsNewExec = 1u << 6;  // s_*_wrexec: the first destination is EXEC's copy.
constexpr uint16_t kReadsM0 = 1u << 7, kWritesM0 = 1u << 8, kWritesMode = 1u << 9;
constexpr uint16_t kAnyRegister = 1u << 10;  // May read and write every register.
}  // namespace implicit

struct ImplicitEffects {
  Flow flow = Flow::kNext;
  Logic logic = Logic::kNone;
  uint16_t flags = 0;

  constexpr bool has(uint16_t flag) const { return (flags & flag) != 0; }
};

namespace detail {
constexpr auto kImplicitEffects = [] {
  std::array<ImplicitEffects, kOpCount> table{};
#define RIGEL_IMPLICIT(op, flow, logic, flags) \
  table[static_cast<size_t>(Op::op)] = {Flow::flow, Logic::logic, flags};
#include "plugins/vgpu/isa/implicit_effects.inc"
#undef RIGEL_IMPLICIT
  return table;
}();
}  // namespace detail

/// Returns an operation's effects without operands. Memory operations and interpolation are not described.
constexpr ImplicitEffects implicit_effects(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount ? detail::kImplicitEffects[index] : ImplicitEffects{};
}

/// Whether an operation is s_branch or s_cbranch with SCC, VCC or EXEC. Debuggers' branches do not count:
/// their conditions are not registers.
constexpr bool is_branch(Op op) {
  const ImplicitEffects effects = implicit_effects(op);
  return effects.flow == Flow::kBranch ||
         (effects.flow == Flow::kConditional &&
          effects.has(implicit::kReadsScc | implicit::kReadsVcc | implicit::kReadsExec));
}

}  // namespace rigel::vgpu::isa
