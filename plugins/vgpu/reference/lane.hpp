// One lane of a vector instruction: operands in, result out. Used by vector*.cpp only.
#pragma once

#include <vector>

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

struct Lane {
  Lane(const isa::Instruction& instruction, const State& before, unsigned lane)
      : in(instruction), state(before), number(lane) {}

  const isa::Instruction& in;
  const State& state;
  const unsigned number;

  uint64_t s[3] = {};        ///< As wide as their types; abs and neg, sub-dwords and lanes are done.
  uint32_t wide[3][4] = {};  ///< Registers of the operands, unmodified.
  uint64_t old = 0;          ///< What the destination held.
  bool carry_in = false;     ///< The lane's bit of a mask operand.

  uint64_t d = 0;              ///< The result, in the width of its type,
  std::vector<uint64_t> also;  ///< and what else is right where the manuals leave it open.
  bool exact_nan = false;      ///< Where the result is a NaN it is this one.
  uint32_t wide_d[4] = {};     ///< If the result is wider than 64 bits.
  bool d1 = false;             ///< The lane's bit of a mask result (carry, comparison).

  void set(uint64_t value) { d = value; }
  /// Of sums and products, and what is made of them: see soft_float.hpp about NaNs.
  void set_exactly(uint64_t value) {
    d = value;
    exact_nan = true;
  }
  void accept(uint64_t value) { also.push_back(value); }
};

/// Half, single or double; false for other types.
bool format_of(isa::Type type, Format& format);

// Each computes the operations it knows and returns false for others.
bool compute_float(Lane& lane);
bool compute_conversion(Lane& lane);
bool compute_comparison(Lane& lane);
bool compute_integer(Lane& lane);
bool compute_bytes(Lane& lane);
bool compute_packed(Lane& lane);

/// A half of source i of a packed operation, with its sign: for the upper result or for the lower one. And
/// one of the singles of gfx90a.
uint64_t packed_half(const Lane& lane, unsigned i, bool upper);
uint64_t paired_single(const Lane& lane, unsigned i, bool upper);

/// The arithmetic exceptions that the operation raises in this lane, as bits of TRAPSTS.
uint32_t exceptions_of(const Lane& lane);

/// min and max with the manuals' rules for NaNs and zeros.
uint64_t minimum(Format f, uint64_t a, uint64_t b, const State& state);
uint64_t maximum(Format f, uint64_t a, uint64_t b, const State& state);

/// Output modifier and clamp of a floating-point result.
uint64_t modified_result(Format f, uint64_t x, const isa::Instruction& in, const State& state);

}  // namespace rigel::vgpu::exec::reference
