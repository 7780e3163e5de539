// How the lanes of a vector register differ: each is a number that all lanes have in common plus a number of its own that never
// changes, modulo 2^32. Work-items' ids are such, and what addresses are made of. Where lanes belong to several rows of something
// whose width the kernel is told, another number in common is added, the pitch, some times for each lane.
//
// Threads: values and functions without state; any.
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

/// Of equal values there is one shape: a number in common that has to be 0 counts as known, and where it is known the first lane's offset
/// is 0.
ShapePointer normal(Shape shape);

/// What results' lanes are, but for the numbers in common: these are null where a source is, or the result is of no such kind.
ShapePointer constant_shape(uint32_t value);
/// The same in all lanes, whatever it is; that many of its low bits are 0.
const ShapePointer& scalar_shape(unsigned zeros = 0);
/// The lanes with a lower number, of `from` and the 31 behind it (v_mbcnt).
ShapePointer lanes_below(uint64_t from);
ShapePointer sum_of(const ShapePointer& a, const ShapePointer& b);
ShapePointer difference_of(const ShapePointer& a, const ShapePointer& b);
ShapePointer shifted_left(const ShapePointer& a, uint32_t by);
ShapePointer shifted_right(const Shape& a, uint32_t by, unsigned lanes);
ShapePointer product_of(const Shape& a, const Shape& b, unsigned lanes);
/// Where all is known.
ShapePointer folded_shape(isa::Op op, const std::array<ShapePointer, 3>& sources);
/// Without what is known of the number in common.
ShapePointer offsets_alone(const Shape& shape);
/// Of two ways to one place.
ShapePointer met(const ShapePointer& a, const ShapePointer& b);

/// As many low bits as lanes differ in, and offsets have of what has a number in common that is not known; 32 if some are negative, and
/// more if nobody knows.
unsigned offset_bits(const Shape& a, const Shape& b, unsigned lanes);
constexpr uint32_t low_bits(unsigned count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}
/// With offsets of these bits alone, and the number in common without them.
ShapePointer disjoint(const Shape& shape, unsigned bits);

/// f(a, b) of each lane, where f takes bits apart from each other. `keeps_zeros`: a bit is 0 where one of them has 0.
template <class F>
ShapePointer bitwise_of(const Shape& a, const Shape& b, unsigned bits, F f, bool keeps_zeros) {
  const ShapePointer x = disjoint(a, bits), y = disjoint(b, bits);
  if (x == nullptr || y == nullptr) return nullptr;
  Shape made;
  for (unsigned i = 0; i < 64; ++i) made.offsets[i] = f(x->offsets[i], y->offsets[i]);
  made.zeros = keeps_zeros ? std::max(x->zeros, y->zeros) : std::min(x->zeros, y->zeros);
  return normal(made);
}

}  // namespace rigel::vgpu::exec::compiler
