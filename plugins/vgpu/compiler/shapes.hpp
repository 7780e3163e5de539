// What is known of vector registers before a kernel runs: that the lanes of one are a number that all lanes have in common
// plus a number of each lane that never changes, modulo 2^32. Work-items' ids are such, and what addresses are made of. Where
// lanes belong to several rows of something whose width the kernel is told, another number in common is added, the pitch,
// some times for each lane.
//
// The numbers of the lanes are found here, going through the code until nothing changes any more; the numbers in common are
// scalars that the compiled code computes (kernel_rules.cpp), which takes the same rule for each instruction. Where a rule holds only
// for some values, the code looks, and leaves the wave to the interpreter otherwise: addresses that cross 4 GiB in the
// middle of a wave, say.
//
// Threads: functions without state; any.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

struct Shape {
  std::array<uint32_t, 64> offsets{};
  std::array<uint8_t, 64> pitches{};  ///< How many pitches; all 0 where there is none.
  std::optional<uint32_t> base;       ///< The number in common, if it is known as well. Never with pitches.
  unsigned zeros = 0;                 ///< That many of its low bits are 0.

  static constexpr uint8_t kMostPitches = 63;
  /// Between 0 and this each pitch has to be where the least and the greatest number are asked for.
  static constexpr uint32_t kMostPitch = 1 << 24;

  bool is_uniform(unsigned lanes) const;
  bool has_pitch() const;
  /// Two lanes, the second of which has one pitch more. A shape without pitches has none, any other has some.
  std::optional<std::array<unsigned, 2>> pitch_apart(unsigned lanes) const;
  /// The lanes whose numbers are the least and the greatest for any pitch; nothing: that depends on it.
  std::optional<std::array<unsigned, 2>> ends(unsigned lanes) const;
  /// The least and the greatest offset, as signed numbers.
  int32_t least(unsigned lanes) const;
  int32_t greatest(unsigned lanes) const;
  /// Whether it has ends that are not so far apart that sums of 32 bits could take one for the other.
  bool is_near(unsigned lanes) const;
  friend bool operator==(const Shape&, const Shape&) = default;
};
using ShapePointer = std::shared_ptr<const Shape>;  ///< Null: anything.

/// At one place.
struct Shapes {
  std::array<ShapePointer, 256> rows;
  /// Of those that lack there: what is known of the lanes that are active, until EXEC may have become wider.
  std::array<ShapePointer, 256> active;
  /// Lane masks that active lanes have in common, by scalar code: within a block only.
  std::bitset<128> uniform_masks;
  /// Scalars (of waves of 64: the lower halves of pairs) that have a bit for each lane of the wave, EXEC among them.
  std::bitset<128> full;

  /// Of active lanes, at least.
  const ShapePointer& known(uint32_t row) const { return rows[row] != nullptr ? rows[row] : active[row]; }
  bool all_active() const { return full[isa::code::kExecLo]; }
};

/// How an instruction's result follows from its sources' numbers.
enum class Rule : uint8_t {
  kNone,  ///< It does not, as far as is known.
  kSum,   ///< Of all sources: v_mov, v_add, v_add3, v_or of what shares no bits
  kDifference,
  kReverseDifference,
  kShiftSum,       ///< (src0 << src1) + src2
  kSumShift,       ///< (src0 + src1) << src2
  kShift,          ///< src1 << src0
  kWideShift,      ///< 64 bits: the upper half is the same in all lanes
  kSignShift,      ///< src1 >> src0, the same in all lanes
  kWideSignShift,  ///< 64 bits, arithmetic: the lower half is 0, the upper one's sign is the same in all lanes
  kCarryOut,       ///< A sum, and a carry that lanes have in common
  kCarryIn,        ///< A sum with such a carry, and one that nobody looks at or that lanes have in common
  kFolded,         ///< All is known.
  kBitwise,  ///< v_and, v_or, v_xor: offsets and the number in common have no bits where the other has some.
  kShiftOr,  ///< (src0 << src1) | src2, likewise
  kShiftRight,   ///< src1 >> src0, likewise
  kWideProduct,  ///< src0 * src1 + src2, of 64 bits: the factors and the upper half are the same in all lanes
  kProductSum,  ///< The low 32 bits of src0 * src1 (+ src2), where at most one factor differs from lane to lane.
  kLowProductSum,  ///< The low half of such a sum of 64 bits, of whose upper half nothing is known.
  kCountBelow,     ///< v_mbcnt of all lanes: what is known of a lane's number, plus src1
  kUniform,        ///< All sources are the same in all lanes.
};

struct Applied {
  Rule rule = Rule::kNone;
  ShapePointer result, high;  ///< `high`: of 64-bit results
};

/// What the instruction does to `shapes`, which become those behind it, and by which rule.
Applied apply(const Plan& plan, uint32_t node, Shapes& shapes);

/// At the beginning of each block, from what the plan knows of the VGPRs that waves start with.
std::vector<Shapes> find_shapes(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
