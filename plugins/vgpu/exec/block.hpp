// Translated code as handlers see it: blocks of micro-operations and the links between them.
//
// A block is what was translated in one go from one address on: a stretch of code with everything in it that
// branches inside it reach. Its micro-operations lie one after the other. Branches within a block have their
// links filled in when it is made; a link that leaves it is filled in when it is first followed, and where compiled code
// begins once there is some. Blocks are immutable otherwise, and live as long as their code (translated_code.hpp).
//
// Threads: any number of waves on any threads. A link's target, and compiled code, are stored with release and loaded with
// acquire.
#pragma once

#include <atomic>
#include <cstdint>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

class TranslatedCode;

/// What code is translated for: FloatMode's bits of MODE, what s_set_gpr_idx_on has switched on, and whether
/// vector instructions are skipped.
constexpr uint32_t kFloatModeBits = 0x3ff;
constexpr uint32_t kGprIndexEnable = 1u << 27;  ///< GPR_IDX_EN of MODE
constexpr uint32_t kGprIndexShift = 10;         ///< Where M0[15:12] stand in Block::variant.
constexpr uint32_t kSkipVector = 1u << 28;      ///< VSKIP of MODE (gfx8, gfx9)
constexpr uint32_t kSkipVectorVariant = 1u << 14;
constexpr uint32_t kFiniteHalvesVariant = 1u << 15;
constexpr uint32_t kExceptionsVariant = 1u << 16;   ///< Arithmetic exceptions are gathered: exceptions.hpp.
constexpr uint32_t kIndexingVariant = 1u << 17;     ///< GPR_IDX_EN: what writes M0 changes the variant.
constexpr uint32_t kExceptionEnables = 0x7f << 12;  ///< Of MODE: those of arithmetic.

/// What MODE alone says of the variant, but for indexing and skipping; and MODE's bits that a variant stands
/// for.
constexpr uint32_t variant_of_mode(uint32_t mode) {
  return (mode & kFloatModeBits) | ((mode & kFiniteHalves) != 0 ? kFiniteHalvesVariant : 0) |
         ((mode & kExceptionEnables) != 0 ? kExceptionsVariant : 0);
}
constexpr uint32_t mode_of_variant(uint32_t variant) {
  return (variant & kFloatModeBits) | ((variant & kFiniteHalvesVariant) != 0 ? kFiniteHalves : 0);
}

/// The variant of code that a wave executes at present.
inline uint32_t variant_of(Wave& wave) {
  uint32_t variant = variant_of_mode(wave.mode);
  if ((wave.mode & kGprIndexEnable) != 0)
    variant |= kIndexingVariant | (wave.scalars()[124] >> 12 & 0xf) << kGprIndexShift;
  if ((wave.mode & kSkipVector) != 0) variant |= kSkipVectorVariant;
  return variant;
}

struct Block {
  TranslatedCode* code = nullptr;
  uint64_t pc = 0;       ///< Of the first instruction.
  uint32_t bytes = 0;    ///< From the first to the end of the last instruction.
  uint32_t variant = 0;  ///< See variant_of().
  const MicroOp* ops = nullptr;
  uint32_t op_count = 0;
  const std::byte* image = nullptr;  ///< The bytes that were translated.
  /// Where a wave that the interpreter has had goes on instead; null: there is no such compiled code.
  mutable std::atomic<const MicroOp*> compiled{nullptr};
  mutable std::atomic<bool> is_called{false};  ///< As a function, by a wave that was interpreted.
};

struct Link {
  std::atomic<const MicroOp*> target{nullptr};
  uint64_t pc = 0;
  /// What following it takes off Wave::budget: how far the block has come, less where the target stands in
  /// it. So budgets count executed instructions exactly, without a count in each operation.
  int64_t cost = 0;
};

inline const Block& block_of(const MicroOp* op) {
  return *static_cast<const Block*>(op->block);
}

/// Address of the instruction that an operation belongs to.
inline uint64_t pc_of(const MicroOp* op) {
  return block_of(op).pc + op->code_offset;
}

/// The code that a link of `from`'s block leads to, translated if it has to be; the link remembers it. Code
/// that cannot be fetched is an operation that says so when it is executed: never null.
const MicroOp* follow(const MicroOp* from, Link* link);

/// The code at `pc` for the wave's present variant: compiled, if there is a way in.
const MicroOp* find_code(Wave* wave, const MicroOp* from, uint64_t pc);
/// … of a function that is called, which is compiled when its kernel is. Where the wave is to leave for that,
/// Wave::stop is kBudget.
const MicroOp* find_function(Wave* wave, const MicroOp* from, uint64_t pc);
/// … and not compiled.
const MicroOp* find_interpreted(Wave* wave, const MicroOp* from, uint64_t pc);

}  // namespace rigel::vgpu::exec
