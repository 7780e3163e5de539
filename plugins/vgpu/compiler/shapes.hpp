// Shape analysis: finds the shape of each vector register (lane_shape.hpp) at each place of a kernel, before
// the kernel runs.
//
// find_shapes() iterates over the code to a fixed point. The bases of shapes are scalars that compiled code
// computes (kernel_rules.cpp), by the same rules (lane_rules.hpp). Some rules hold only for some values, for
// example if no address crosses 4 GiB within the wave. The code then has a guard, and returns the wave to the
// interpreter if the guard fails.
//
// *Threads:* any; functions without state.
#pragma once

#include <array>
#include <bitset>
#include <vector>

#include "plugins/vgpu/exec/native/lane_shape.hpp"
#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// What is known at one place of the code.
struct Shapes {
  std::array<ShapePointer, 256> rows;
  /// Shapes of the active lanes only, for registers without an entry in `rows`. Valid until EXEC may widen.
  std::array<ShapePointer, 256> active;
  /// Lane masks, by scalar, that are all active lanes or none. Valid within a block.
  std::bitset<128> uniform_masks;
  /// Scalars with a bit for each lane of the wave, EXEC among them. For waves of 64, the lower halves of
  /// pairs.
  std::bitset<128> full;
  /// Minimum number of low bits of each scalar that are 0.
  std::array<uint8_t, 128> scalar_zeros{};

  /// Returns a shape that holds for the active lanes at least.
  const ShapePointer& of_active(uint32_t row) const { return rows[row] != nullptr ? rows[row] : active[row]; }
  bool all_active() const { return full[isa::code::kExecLo]; }
};

/// Updates `shapes` from before the instruction to after it. Returns true if a rule applies, so that code
/// generation computes the result's base by that rule; false if the result is computed lane by lane. For
/// VOPD, true if a rule applies to a half.
bool apply(const Plan& plan, uint32_t node, Shapes& shapes);

/// Returns the shapes at the start of each block, given the plan's initial id registers.
std::vector<Shapes> find_shapes(const Plan& plan);

// For the rules:

/// Returns 2 for VOPD, to whose halves rules apply independently, otherwise 1.
unsigned half_count(const isa::Instruction& instruction);
/// Returns a half of VOPD, or the whole of another instruction.
isa::Instruction half_of(const isa::Instruction& instruction, unsigned half);
/// Returns the step of a half if a rule may apply to it; null otherwise, for example with modifiers.
const Step* rule_step(const Plan& plan, uint32_t node, unsigned half);
/// Whether no later instruction reads these result scalars.
bool is_dead(const Plan& plan, uint32_t node, const isa::Operand& scalars);
/// Returns the operation, or its form without carry if the carry is dead. gfx8 has only the forms with carry.
isa::Op without_dead_carry(const Plan& plan, uint32_t node, const isa::Instruction& in);
/// Whether the upper half of a 64-bit addition and its carry are dead.
bool is_low_half_alone(const Plan& plan, uint32_t node);

}  // namespace rigel::vgpu::exec::compiler
