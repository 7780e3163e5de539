// Affine vector registers. A shape describes how the lanes of a register differ. Lane i holds, modulo 2^32,
//
//   base + offsets[i] + pitch × pitches[i]
//
// `offsets` and `pitches` are constants of the compiled code. `base` and `pitch` are scalars that the code
// computes. Work-item ids and the addresses made from them are affine. A pitch appears when row numbers are
// multiplied with an unknown scalar, such as the width of a matrix. A shape is uniform if all lanes have the
// same offset and the same number of pitches.
//
// *Threads:* any; values and functions without state.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::exec::compiler {

struct Shape {
  std::array<uint32_t, 64> offsets{};
  std::array<uint8_t, 64> pitches{};  ///< Multiples of the pitch; all 0 if the register has no pitch.
  std::optional<uint32_t> base;       ///< The base, if it is a constant. Never set together with a pitch.
  unsigned zeros = 0;                 ///< Number of low bits of the base that are known to be 0.

  static constexpr uint8_t kMostPitches = 63;
  /// The pitch must be below this if minimum and maximum are needed; guards check it.
  static constexpr uint32_t kMostPitch = 1 << 24;

  bool is_uniform(unsigned lanes) const;
  bool has_pitch() const;
  /// Two lanes of which the second has one pitch more. Every shape with a pitch has such lanes, no other has.
  std::optional<std::array<unsigned, 2>> lanes_one_pitch_apart(unsigned lanes) const;
  /// The lanes with the minimum and the maximum value for every pitch; nothing if that depends on the pitch.
  std::optional<std::array<unsigned, 2>> extreme_lanes(unsigned lanes) const;
  /// Minimum and maximum offset, as signed numbers.
  int32_t minimum_offset(unsigned lanes) const;
  int32_t maximum_offset(unsigned lanes) const;
  /// Whether extreme_lanes() exist and offsets are small enough that 32-bit additions cannot reverse their
  /// order.
  bool is_near(unsigned lanes) const;
  friend bool operator==(const Shape&, const Shape&) = default;
};
using ShapePointer = std::shared_ptr<const Shape>;  ///< Null: nothing is known.

/// Returns the canonical form, so that equal values have equal shapes: a base whose bits are all known to be
/// 0 is the constant 0, and a constant base absorbs the first lane's offset.
ShapePointer normalized(Shape shape);

/// Shapes of results, without unknown bases. Null if a source is null, or if the result is not affine.
ShapePointer constant_shape(uint32_t value);
/// A uniform value of which only the number of low zero bits is known.
const ShapePointer& scalar_shape(unsigned zeros = 0);
/// v_mbcnt: for each lane, the number of lanes below it among `from` and the 31 lanes after it.
ShapePointer lanes_below(uint64_t from);
ShapePointer sum_of(const ShapePointer& a, const ShapePointer& b);
ShapePointer difference_of(const ShapePointer& a, const ShapePointer& b);
ShapePointer shifted_left(const ShapePointer& a, uint32_t by);
ShapePointer shifted_right(const Shape& a, uint32_t by, unsigned lanes);
ShapePointer product_of(const Shape& a, const Shape& b, unsigned lanes);
/// If all sources are constants.
ShapePointer folded_shape(isa::Op op, const std::array<ShapePointer, 3>& sources);
/// Drops what is known about the base.
ShapePointer offsets_alone(const Shape& shape);
/// Returns the shape that holds on both of two paths that join.
ShapePointer meet(const ShapePointer& a, const ShapePointer& b);

/// Returns the number of low bits in which lanes differ, or which are set in offsets whose base is unknown.
/// 32 if an offset is negative; more if the shape has a pitch.
unsigned offset_bits(const Shape& a, const Shape& b, unsigned lanes);
constexpr uint32_t low_bits(unsigned count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}
/// Returns the shape with offsets of only these low bits and a base without them; null if they overlap.
ShapePointer disjoint(const Shape& shape, unsigned bits);

/// Applies the bitwise `f` to each lane. `keeps_zeros`: a result bit is 0 if either source bit is 0.
template <class F>
ShapePointer bitwise_of(const Shape& a, const Shape& b, unsigned bits, F f, bool keeps_zeros) {
  const ShapePointer x = disjoint(a, bits), y = disjoint(b, bits);
  if (x == nullptr || y == nullptr) return nullptr;
  Shape made;
  for (unsigned i = 0; i < 64; ++i) made.offsets[i] = f(x->offsets[i], y->offsets[i]);
  made.zeros = keeps_zeros ? std::max(x->zeros, y->zeros) : std::min(x->zeros, y->zeros);
  return normalized(made);
}

}  // namespace rigel::vgpu::exec::compiler
