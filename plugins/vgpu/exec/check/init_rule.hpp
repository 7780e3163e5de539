// How one instruction passes on undefined bits of registers, and which of its operands decide: the rules of
// the check `init` (docs/guide/checking.md). init_checker.hpp applies them.
//
// *Threads:* any; functions without state.
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/check/undefined_bits.hpp"
#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec {

/// A part of an operand: `width` bits from bit `shift` on.
struct RulePart {
  uint8_t shift = 0;
  uint8_t width = 32;
  bool is_signed = false;  ///< The part is sign-extended.
};

/// Where an operand is.
struct RuleOperand {
  enum class File : uint8_t {
    kNone,
    kConstant,
    kScalars,
    kRows,
    kMask,  ///< A bit for each lane, in one or two scalars
    kScc,
  };
  File file = File::kNone;
  uint8_t dwords = 1;
  uint32_t index_mask = 0;  ///< These bits of M0 are added to the number of the row.
  uint16_t number = 0;      ///< Of the first scalar or row; AGPRs follow the VGPRs.
  RulePart part;
  uint64_t constant = 0;

  bool exists() const { return file != File::kNone; }
};

/// Lanes from which the first source is read (DPP, ds_swizzle).
struct LaneMap {
  uint8_t source[64] = {};
  uint64_t available = 0;   ///< Lanes that have a source
  uint64_t writes = 0;      ///< Lanes that may be written
  bool reads_zero = false;  ///< A lane without a source reads 0; otherwise it is not written.
  bool reads_inactive = false;
};

struct InitRule {
  enum class Kind : uint8_t {
    kNone,         ///< It changes nothing that is tracked.
    kLanes,        ///< Each active lane by `bits`
    kScalar,       ///< The wave's scalars by `bits`
    kReadLane,     ///< One lane of sources[0] to a scalar; sources[1]: the lane; absent: the first active one
    kWriteLane,    ///< A scalar to one lane; sources[1]: the lane
    kPermuteRows,  ///< v_permlane16 (sources[1], sources[2]: selectors)
    kPermute,      ///< ds_permute: lanes push; sources[1]: addresses
    kPermuteBack,  ///< ds_bpermute: lanes pull
    kSwap,         ///< Exchanges results[0] and sources[0].
    kBranch,       ///< sources[0] decides.
    kJump,         ///< sources[0] is the address of code.
    kMemory,       ///< sources: addresses; results[0]: loaded data
    kForget,       ///< Anything may be written: all registers count as defined from now on.
  };
  enum class Scc : uint8_t {
    kStays,
    kOfResult,  ///< It depends on all bits of the result.
    kNonzero,   ///< Whether the result is not 0
    kLowestBit,
    kDefined,
  };

  Kind kind = Kind::kNone;
  BitRule bits = BitRule::kAny;
  Scc scc = Scc::kStays;
  uint8_t width = 32;  ///< Bits in which the result is computed
  /// Each half of the result is computed separately. `high`: the parts of the sources for the high half.
  bool is_packed = false;
  bool is_pair = false;            ///< The low half depends on sources[0], the high half on sources[1].
  bool has_equal_results = false;  ///< The second result is the new EXEC too (s_andn2_wrexec).
  bool counts_below = false;       ///< Only bits of sources[0] below the lane's count (v_mbcnt).
  uint8_t first_lane = 0;          ///< v_mbcnt: the lane of bit 0
  bool within_halves = false;      ///< ds_permute of waves of 64 stays within 32 lanes.
  bool reads_other_row = false;    ///< v_permlanex16
  bool reads_inactive = false;     ///< v_permlane16: inactive lanes are read.
  bool reads_zero = false;         ///< v_permlane16: lanes without a source read 0.
  bool changes_sign = false;       ///< kSelect: modifiers of the sources
  bool keeps_rest = false;         ///< results[0]: the bits outside of its part stay.
  bool is_block = false;           ///< results[0]: bit n of M0 selects register n. Others stay.
  uint32_t offset = 0;             ///< ds_permute: bytes added to the addresses
  RulePart high[3];
  RuleOperand sources[4];
  /// The second result is a mask that depends on all bits of the sources (kLanes), or is defined (kScalar).
  RuleOperand results[2];
  const LaneMap* lanes = nullptr;  ///< Of sources[mapped]; null: each lane reads its own value.
  uint8_t mapped = 0;
};

/// Returns the rule of an instruction whose registers exist (register_bounds.hpp).
InitRule init_rule(const isa::Instruction& instruction, const LoweringContext& context);

/// Returns the lanes between which a micro-operation of DPP or ds_swizzle moves data. `wave_size`: as in its
/// layout.
LaneMap lanes_moved_by(const MicroOp& op, const isa::Instruction& instruction, uint32_t wave_size);

}  // namespace rigel::vgpu::exec
