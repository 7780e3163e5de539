#include "plugins/vgpu/isa/memory_shape.hpp"

#include <array>
#include <iterator>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {
namespace {

enum Flags : unsigned {
  kSign = 1,
  kD16 = 2,
  kHigh = 4,
  kAddTid = 8,
  kPair = 16,
  kFarPair = 32,
  kReturns = 64,
  kSource2 = 128,
  kTransposes = 256,
  kBlock = 512
};

struct Row {
  Op op;
  MemoryShape shape;
};

constexpr Row row(Op op, Space space, Verb verb, Atomic atomic, uint8_t components, uint8_t bytes,
                  unsigned flags) {
  MemoryShape shape;
  shape.verb = verb;
  shape.space = space;
  shape.bytes = bytes;
  shape.components = components;
  shape.sign = (flags & kSign) != 0;
  shape.d16 = (flags & kD16) != 0;
  shape.high = (flags & kHigh) != 0;
  shape.addtid = (flags & kAddTid) != 0;
  shape.pair = (flags & kPair) != 0;
  shape.far_pair = (flags & kFarPair) != 0;
  shape.returns = (flags & kReturns) != 0;
  shape.source2 = (flags & kSource2) != 0;
  shape.transposes = (flags & kTransposes) != 0;
  shape.is_block = (flags & kBlock) != 0;
  shape.atomic = atomic;
  return {op, shape};
}

constexpr Row kRows[] = {
#define RIGEL_MOVE(op, space, verb, components, bytes, flags) \
  row(Op::op, Space::space, Verb::verb, Atomic{}, components, bytes, flags),
#define RIGEL_ATOMIC(op, space, atomic, bytes, flags) \
  row(Op::op, Space::space, Verb::kAtomic, Atomic::atomic, 0, bytes, flags),
#include "plugins/vgpu/isa/memory_shapes.inc"
#undef RIGEL_MOVE
#undef RIGEL_ATOMIC
};

// The same for chips whose D16 loads clear the other half.
constexpr auto kClearing = [] {
  std::array<MemoryShape, std::size(kRows)> shapes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    shapes[i] = kRows[i].shape;
    shapes[i].clears_half = shapes[i].d16 && shapes[i].verb == Verb::kLoad;
  }
  return shapes;
}();

// Index of each operation's row plus 1; 0: none.
constexpr auto kRowOf = [] {
  std::array<uint16_t, kOpCount> rows{};
  for (size_t i = 0; i < std::size(kRows); ++i)
    rows[static_cast<size_t>(kRows[i].op)] = static_cast<uint16_t>(i + 1);
  return rows;
}();

}  // namespace

const MemoryShape* memory_shape(Op op) {
  const auto index = static_cast<size_t>(op);
  if (index >= kOpCount || kRowOf[index] == 0) return nullptr;
  return &kRows[kRowOf[index] - 1].shape;
}

const MemoryShape* memory_shape(Op op, const Traits& traits) {
  const MemoryShape* const shape = memory_shape(op);
  if (shape == nullptr || !traits.d16_loads_clear_half || !shape->d16 || shape->verb != Verb::kLoad)
    return shape;
  return &kClearing[kRowOf[static_cast<size_t>(op)] - 1u];
}

}  // namespace rigel::vgpu::isa
