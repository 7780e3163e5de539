#include "plugins/vgpu/exec/native/lane_shape.hpp"

#include <bit>
#include <tuple>

namespace rigel::vgpu::exec::compiler {

using isa::Op;

bool Shape::is_uniform(unsigned lanes) const {
  return std::all_of(offsets.begin(), offsets.begin() + lanes, [&](uint32_t o) { return o == offsets[0]; }) &&
         std::all_of(pitches.begin(), pitches.begin() + lanes, [&](uint8_t p) { return p == pitches[0]; });
}

bool Shape::has_pitch() const {
  return std::any_of(pitches.begin(), pitches.end(), [](uint8_t p) { return p != 0; });
}

std::optional<std::array<unsigned, 2>> Shape::lanes_one_pitch_apart(unsigned lanes) const {
  for (unsigned i = 1; i < lanes; ++i) {
    if (pitches[i] == pitches[0] + 1) return {{0, i}};
    if (pitches[i] == pitches[i - 1] + 1) return {{i - 1, i}};
  }
  return std::nullopt;
}

std::optional<std::array<unsigned, 2>> Shape::extreme_lanes(unsigned lanes) const {
  const auto offset = [&](unsigned lane) { return static_cast<int32_t>(offsets[lane]); };
  unsigned least = 0, greatest = 0;
  for (unsigned i = 1; i < lanes; ++i) {
    if (std::tuple(offset(i), pitches[i]) < std::tuple(offset(least), pitches[least])) least = i;
    if (std::tuple(offset(i), pitches[i]) > std::tuple(offset(greatest), pitches[greatest])) greatest = i;
  }
  for (unsigned i = 0; i < lanes; ++i) {
    if (pitches[i] < pitches[least] || pitches[i] > pitches[greatest]) return std::nullopt;
  }
  return {{least, greatest}};
}

int32_t Shape::minimum_offset(unsigned lanes) const {
  int32_t result = static_cast<int32_t>(offsets[0]);
  for (unsigned i = 1; i < lanes; ++i) result = std::min(result, static_cast<int32_t>(offsets[i]));
  return result;
}

int32_t Shape::maximum_offset(unsigned lanes) const {
  int32_t result = static_cast<int32_t>(offsets[0]);
  for (unsigned i = 1; i < lanes; ++i) result = std::max(result, static_cast<int32_t>(offsets[i]));
  return result;
}

bool Shape::is_near(unsigned lanes) const {
  constexpr int32_t kMostOffset = 1 << 24;
  return extreme_lanes(lanes) && minimum_offset(lanes) >= -kMostOffset &&
         maximum_offset(lanes) <= kMostOffset;
}

namespace {

unsigned zeros_of(uint32_t value) {
  return static_cast<unsigned>(std::countr_zero(value));
}

}  // namespace

ShapePointer normalized(Shape shape) {
  if (shape.zeros >= 32) shape.base = 0;
  if (shape.base) {
    *shape.base += shape.offsets[0];
    const uint32_t first = shape.offsets[0];
    for (uint32_t& offset : shape.offsets) offset -= first;
    shape.zeros = zeros_of(*shape.base);
  }
  return std::make_shared<const Shape>(shape);
}

namespace {

template <class F>
ShapePointer combined(const Shape& a, const Shape& b, F f) {
  Shape result;
  for (unsigned i = 0; i < 64; ++i) result.offsets[i] = f(a.offsets[i], b.offsets[i]);
  if (a.base && b.base) result.base = f(*a.base, *b.base);
  result.zeros = std::min(a.zeros, b.zeros);
  result.pitches = a.has_pitch() ? a.pitches : b.pitches;
  return normalized(result);
}

// Turns row numbers into multiples of a pitch, for a product with an unknown width.
ShapePointer pitches_from_rows(const Shape& numbers, unsigned lanes) {
  if (numbers.has_pitch()) return nullptr;
  Shape result;
  for (unsigned i = 0; i < lanes; ++i) {
    if (numbers.offsets[i] > Shape::kMostPitches) return nullptr;
    result.pitches[i] = static_cast<uint8_t>(numbers.offsets[i]);
  }
  return result.lanes_one_pitch_apart(lanes) ? std::make_shared<const Shape>(result) : nullptr;
}

unsigned bits_of(const Shape& shape, unsigned lanes) {
  if (shape.has_pitch()) return 64;
  unsigned bits = 0;
  for (unsigned i = 0; i < lanes; ++i)
    bits = std::max(bits, static_cast<unsigned>(std::bit_width(shape.offsets[i])));
  return bits;
}
std::optional<uint32_t> folded(Op op, uint32_t a, uint32_t b, uint32_t c) {
  switch (op) {
    case Op::v_and_b32:
      return a & b;
    case Op::v_or_b32:
      return a | b;
    case Op::v_xor_b32:
      return a ^ b;
    case Op::v_lshrrev_b32:
      return b >> (a & 31);
    case Op::v_lshlrev_b32:
      return b << (a & 31);
    case Op::v_mul_lo_u32:
      return a * b;
    case Op::v_mul_u32_u24:
      return (a & 0xffffff) * (b & 0xffffff);
    case Op::v_mad_u32_u24:
      return (a & 0xffffff) * (b & 0xffffff) + c;
    case Op::v_lshl_or_b32:
      return (a << (b & 31)) | c;
    case Op::v_and_or_b32:
      return (a & b) | c;
    case Op::v_bfe_u32:
      return (a >> (b & 31)) & ((1u << (c & 31)) - 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

ShapePointer constant_shape(uint32_t value) {
  auto shape = std::make_shared<Shape>();
  shape->base = value;
  shape->zeros = zeros_of(value);
  return shape;
}

const ShapePointer& scalar_shape(unsigned zeros) {
  static const auto made = [] {
    std::array<ShapePointer, 33> shapes;
    for (unsigned i = 0; i < shapes.size(); ++i) {
      Shape shape;
      shape.zeros = i;
      shapes[i] = normalized(shape);
    }
    return shapes;
  }();
  return made[zeros];
}

ShapePointer lanes_below(uint64_t from) {
  auto result = std::make_shared<Shape>();
  for (unsigned lane = 0; lane < 64; ++lane) {
    result->offsets[lane] =
        static_cast<uint32_t>(std::clamp(static_cast<int>(lane) - static_cast<int>(from), 0, 32));
  }
  result->base = 0;
  return result;
}

// A result has at most one pitch, and pitches are not subtracted.
ShapePointer sum_of(const ShapePointer& a, const ShapePointer& b) {
  if (a == nullptr || b == nullptr || (a->has_pitch() && b->has_pitch())) return nullptr;
  return combined(*a, *b, [](uint32_t x, uint32_t y) { return x + y; });
}

ShapePointer difference_of(const ShapePointer& a, const ShapePointer& b) {
  if (a == nullptr || b == nullptr || b->has_pitch()) return nullptr;
  return combined(*a, *b, [](uint32_t x, uint32_t y) { return x - y; });
}

ShapePointer shifted_left(const ShapePointer& a, uint32_t by) {
  if (a == nullptr) return nullptr;
  Shape result;
  for (unsigned i = 0; i < 64; ++i) result.offsets[i] = a->offsets[i] << by;
  if (a->base) result.base = *a->base << by;
  result.zeros = std::min(a->zeros + by, 32u);
  result.pitches = a->pitches;
  return normalized(result);
}

// Requires that offsets and base have no bits in common.
ShapePointer shifted_right(const Shape& a, uint32_t by, unsigned lanes) {
  if (a.zeros < bits_of(a, lanes)) return nullptr;
  Shape result;
  for (unsigned i = 0; i < 64; ++i) result.offsets[i] = a.offsets[i] >> by;
  result.zeros = a.zeros > by ? a.zeros - by : 0;
  return std::make_shared<const Shape>(result);
}

// At most one factor may differ between lanes.
ShapePointer product_of(const Shape& a, const Shape& b, unsigned lanes) {
  if (a.is_uniform(lanes) && b.is_uniform(lanes)) {
    if (!a.base || !b.base) return scalar_shape();
    return constant_shape((*a.base + a.offsets[0]) * (*b.base + b.offsets[0]));
  }
  const Shape& factor = a.is_uniform(lanes) ? a : b;
  const Shape& lane = &factor == &a ? b : a;
  if (!factor.is_uniform(lanes)) return nullptr;
  if (!factor.base) return pitches_from_rows(lane, lanes);
  const uint32_t by = *factor.base + factor.offsets[0];
  Shape result;
  for (unsigned i = 0; i < 64; ++i) result.offsets[i] = lane.offsets[i] * by;
  if (lane.base) result.base = *lane.base * by;
  result.zeros = lane.zeros;
  result.pitches = lane.pitches;
  return normalized(result);
}

ShapePointer disjoint(const Shape& shape, unsigned bits) {
  if (shape.has_pitch()) return nullptr;
  Shape result = shape;
  if (shape.base) {
    // The value is known: any of its bits may belong to the offsets.
    const uint32_t low = low_bits(bits);
    for (unsigned i = 0; i < 64; ++i) {
      const uint32_t value = *shape.base + shape.offsets[i];
      if ((value & ~low) != ((*shape.base + shape.offsets[0]) & ~low)) return nullptr;
      result.offsets[i] = value & low;
    }
    result.base = (*shape.base + shape.offsets[0]) & ~low;
    result.zeros = std::max(bits, zeros_of(*result.base));
    return std::make_shared<const Shape>(result);
  }
  return shape.zeros >= bits ? std::make_shared<const Shape>(result) : nullptr;
}

unsigned offset_bits(const Shape& a, const Shape& b, unsigned lanes) {
  const auto bits = [&](const Shape& shape) {
    if (!shape.base) return bits_of(shape, lanes);
    uint32_t different = 0;
    for (unsigned i = 0; i < lanes; ++i) {
      different |= (*shape.base + shape.offsets[i]) ^ (*shape.base + shape.offsets[0]);
    }
    return static_cast<unsigned>(std::bit_width(different));
  };
  return std::max(bits(a), bits(b));
}

ShapePointer folded_shape(Op op, const std::array<ShapePointer, 3>& sources) {
  Shape result;
  for (unsigned lane = 0; lane < 64; ++lane) {
    std::array<uint32_t, 3> values{};
    for (unsigned i = 0; i < 3; ++i) {
      if (sources[i] != nullptr) values[i] = *sources[i]->base + sources[i]->offsets[lane];
    }
    const auto value = folded(op, values[0], values[1], values[2]);
    if (!value) return nullptr;
    result.offsets[lane] = *value;
  }
  result.base = 0;
  return normalized(result);
}

ShapePointer offsets_alone(const Shape& shape) {
  auto result = std::make_shared<Shape>();
  result->offsets = shape.offsets;
  return result;
}

ShapePointer meet(const ShapePointer& a, const ShapePointer& b) {
  if (a == nullptr || b == nullptr) return nullptr;
  if (a == b || *a == *b) return a;
  // Equal distances between lanes, from different bases.
  Shape result;
  for (unsigned i = 0; i < 64; ++i) {
    result.offsets[i] = a->offsets[i] - a->offsets[0];
    result.pitches[i] = a->pitches[i];
    if (b->pitches[i] != a->pitches[i]) return nullptr;
    if (b->offsets[i] - b->offsets[0] != result.offsets[i]) return nullptr;
  }
  // The first offset moves into the base.
  result.zeros = std::min({a->zeros, b->zeros, zeros_of(a->offsets[0]), zeros_of(b->offsets[0])});
  return std::make_shared<const Shape>(result);
}

}  // namespace rigel::vgpu::exec::compiler
