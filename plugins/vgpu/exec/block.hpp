// Translated code as handlers see it: blocks of micro-operations, and links between them.
//
// A *block* is the code that is translated from one address for one variant in one pass: at most 2,048
// instructions, including those that near branches reach. Its micro-operations are contiguous.
//
// A *link* is the edge of a branch. Links within a block are resolved when the block is translated, other
// links when they are first followed.
//
// A *variant* is the state for which a block is specialised (see below). Two variants of one address are two
// blocks. An instruction that changes the state ends the block.
//
// Threads: any.
// Memory order: Link::target and Block::compiled are stored with release and loaded with acquire. All else is
// immutable after translation.
// Lifetime: a block lives as long as its TranslatedCode.
#pragma once

#include <atomic>
#include <cstdint>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

class TranslatedCode;

// Bits of a variant: bits 0 to 9 of MODE (FloatMode), the operands that s_set_gpr_idx_on indexes, VSKIP and
// FP16_OVFL.
constexpr uint32_t kFloatModeBits = 0x3ff;
constexpr uint32_t kGprIndexEnable = 1u << 27;  ///< GPR_IDX_EN of MODE
constexpr uint32_t kGprIndexShift = 10;         ///< Position of M0[15:12] in a variant
constexpr uint32_t kSkipVector = 1u << 28;      ///< VSKIP of MODE (gfx8, gfx9)
constexpr uint32_t kExceptionEnableShift = 12;  ///< EXCP_EN of MODE: arithmetic exceptions, not supported
constexpr uint32_t kExceptionEnables = 0x7f << kExceptionEnableShift;
constexpr uint32_t kSkipVectorVariant = 1u << 14;
constexpr uint32_t kFiniteHalvesVariant = 1u << 15;
constexpr uint32_t kIndexingVariant = 1u << 16;  ///< GPR_IDX_EN is set: writes to M0 change the variant.

/// Returns the part of a variant that follows from MODE alone: all but register indexing and VSKIP.
constexpr uint32_t variant_of_mode(uint32_t mode) {
  return (mode & kFloatModeBits) | ((mode & kFiniteHalves) != 0 ? kFiniteHalvesVariant : 0);
}
/// Returns the bits of MODE that a variant determines.
constexpr uint32_t mode_of_variant(uint32_t variant) {
  return (variant & kFloatModeBits) | ((variant & kFiniteHalvesVariant) != 0 ? kFiniteHalves : 0);
}

/// Returns the variant of code that the wave's present state requires.
inline uint32_t variant_of(Wave& wave) {
  uint32_t variant = variant_of_mode(wave.mode);
  if ((wave.mode & kGprIndexEnable) != 0)
    variant |= kIndexingVariant | (wave.scalars()[124] >> 12 & 0xf) << kGprIndexShift;
  if ((wave.mode & kSkipVector) != 0) variant |= kSkipVectorVariant;
  return variant;
}

struct Block {
  TranslatedCode* code = nullptr;
  uint64_t pc = 0;     ///< GPU address of the first instruction
  uint32_t bytes = 0;  ///< From the first instruction to the end of the last one
  uint32_t variant = 0;
  const MicroOp* ops = nullptr;
  uint32_t op_count = 0;
  const std::byte* image = nullptr;  ///< The bytes that were translated
  /// Compiled entry for waves that arrive from the interpreter, or null.
  mutable std::atomic<const MicroOp*> compiled{nullptr};
  mutable std::atomic<bool> is_called{false};  ///< An interpreted wave has called it as a function.
};

struct Link {
  std::atomic<const MicroOp*> target{nullptr};
  uint64_t pc = 0;
  /// Instructions charged to Wave::budget when the branch is taken: index of the branch + 1 - index of its
  /// target in the block (0 in another block). Budgets are exact although micro-operations do not count.
  int64_t cost = 0;
};

inline const Block& block_of(const MicroOp* op) {
  return *static_cast<const Block*>(op->block);
}

inline uint64_t pc_of(const MicroOp* op) {
  return block_of(op).pc + op->code_offset;
}

// Functions that find code. `from` is a micro-operation of the calling code. They never return null: code
// that cannot be fetched or decoded is a micro-operation that stops the wave.

/// Returns the target of a link of `from`'s block. Translates it if necessary, and resolves the link.
const MicroOp* follow(const MicroOp* from, Link* link);

/// Returns the code at `pc` for the wave's variant: compiled if it has an entry point there.
const MicroOp* find_code(Wave* wave, const MicroOp* from, uint64_t pc);
/// As find_code(), for a function call. Registers the function to be compiled with its kernel. Sets
/// Wave::stop to kBudget if the wave must leave first, so that the function can be compiled.
const MicroOp* find_function(Wave* wave, const MicroOp* from, uint64_t pc);
/// As find_code(), always interpreted.
const MicroOp* find_interpreted(Wave* wave, const MicroOp* from, uint64_t pc);

}  // namespace rigel::vgpu::exec
