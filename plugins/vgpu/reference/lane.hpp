// One lane of a vector instruction, with its operands and result. Used by vector*.cpp only.
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

  /// Sources in the width of their types, with abs, neg, sub-dword selection and DPP applied.
  uint64_t s[3] = {};
  uint32_t wide[3][4] = {};  ///< Source registers, unmodified.
  uint64_t old = 0;          ///< The destination's old value.
  bool carry_in = false;     ///< The lane's bit of a mask source.

  uint64_t d = 0;              ///< The result, in the width of its type.
  std::vector<uint64_t> also;  ///< Other results that the manuals allow.
  bool exact_nan = false;      ///< A NaN result must have exactly these bits.
  uint32_t wide_d[4] = {};     ///< Results wider than 64 bits.
  bool d1 = false;             ///< The lane's bit of a mask result (carry, comparison).

  void set(uint64_t value) { d = value; }
  /// For additions, multiplications and operations made of them; see soft_float.hpp about NaNs.
  void set_exactly(uint64_t value) {
    d = value;
    exact_nan = true;
  }
  void accept(uint64_t value) { also.push_back(value); }
};

/// Returns half, single or double; false for other types.
bool format_of(isa::Type type, Format& format);

// Each computes the operations it supports and returns false for others.
bool compute_float(Lane& lane);
bool compute_conversion(Lane& lane);
/// Returns the value of FP8 or BF8 as RDNA 4 has them.
uint64_t single_of_ocp_byte(uint64_t byte, bool is_bf8);
bool compute_comparison(Lane& lane);
bool compute_integer(Lane& lane);
bool compute_bytes(Lane& lane);
bool compute_packed(Lane& lane);

/// Minimum and maximum with the manuals' rules for NaNs and zeros.
uint64_t minimum(Format f, uint64_t a, uint64_t b, const State& state);
uint64_t maximum(Format f, uint64_t a, uint64_t b, const State& state);
/// v_minimum and v_maximum.
uint64_t nan_or_minimum(Format f, uint64_t a, uint64_t b, const State& state);
uint64_t nan_or_maximum(Format f, uint64_t a, uint64_t b, const State& state);

/// Applies output modifier and clamp.
uint64_t modified_result(Format f, uint64_t x, const isa::Instruction& in, const State& state);

}  // namespace rigel::vgpu::exec::reference
