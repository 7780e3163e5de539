// What is known of vector registers before a kernel runs, at each place of its code: how their lanes differ (lane_shape.hpp).
//
// That is found here, going through the code until nothing changes any more; the numbers that lanes have in common are
// scalars that the compiled code computes (kernel_rules.cpp), by the same rules (lane_rules.hpp). Where a rule holds only for some
// values, the code looks, and leaves the wave to the interpreter otherwise: addresses that cross 4 GiB in the middle of a
// wave, say.
//
// Threads: functions without state; any.
#pragma once

#include <array>
#include <bitset>
#include <vector>

#include "plugins/vgpu/compiler/lane_shape.hpp"
#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// At one place.
struct Shapes {
  std::array<ShapePointer, 256> rows;
  /// Of those that lack there: what is known of the lanes that are active, until EXEC may have become wider.
  std::array<ShapePointer, 256> active;
  /// Lane masks that active lanes have in common, by scalar code: within a block only.
  std::bitset<128> uniform_masks;
  /// Scalars (of waves of 64: the lower halves of pairs) that have a bit for each lane of the wave, EXEC among them.
  std::bitset<128> full;
  /// At least that many of each scalar's low bits are 0.
  std::array<uint8_t, 128> scalar_zeros{};

  /// Of active lanes, at least.
  const ShapePointer& known(uint32_t row) const { return rows[row] != nullptr ? rows[row] : active[row]; }
  bool all_active() const { return full[isa::code::kExecLo]; }
};

/// What the instruction does to `shapes`, which become those behind it. True: by a rule, so that its result's number in common
/// is to be computed by that rule; false: lane by lane.
bool apply(const Plan& plan, uint32_t node, Shapes& shapes);

/// At the beginning of each block, from what the plan knows of the VGPRs that waves start with.
std::vector<Shapes> find_shapes(const Plan& plan);

// For the rules.

/// What the instruction does, if a rule may know it; null: there is none for it, or it has modifiers.
const Step* rule_step(const Plan& plan, uint32_t node);
/// Whether nobody wants what the instruction makes of these scalars.
bool is_dead(const Plan& plan, uint32_t node, const isa::Operand& scalars);
/// What the instruction is to those who want nothing of its carry: chips without sums that have none (gfx8) use the others.
isa::Op without_dead_carry(const Plan& plan, uint32_t node);
/// Whether nobody wants the upper half of what the instruction adds up, nor the carry.
bool is_low_half_alone(const Plan& plan, uint32_t node);

}  // namespace rigel::vgpu::exec::compiler
