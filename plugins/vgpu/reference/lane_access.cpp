#include "plugins/vgpu/reference/lane_access.hpp"

namespace rigel::vgpu::exec::reference {

Rules rules_of_memory(const Element& element) {
  // Single-precision adders in caches flush denormals; others keep them.
  const bool flushes = element.change == Change::kFloatAdd && element.bytes == 4;
  return {0, !flushes, !flushes};
}

void access_lane(const isa::Instruction& in, const Element& element, const ElementLocation& location,
                 unsigned lane, const State& before, State& state) {
  using Kind = Element::Kind;
  World& world = state.world;
  const auto held = [&](const isa::Operand& operand, unsigned n) {
    return before.vgpr[operand.vgpr() + n][lane];
  };
  const auto result = [&](unsigned n) -> uint32_t& { return state.vgpr[in.vdst.vgpr() + n][lane]; };
  const auto load = [&](unsigned first, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i)
      value |= world.read(location.space, location.address(first + i), 1) << 8 * i;
    return value;
  };
  const auto store = [&](unsigned first, unsigned count, uint64_t value) {
    for (unsigned i = 0; i < count; ++i)
      world.write(location.space, location.address(first + i), 1, value >> 8 * i & 0xff);
  };
  const unsigned bytes = element.bytes;
  switch (element.kind) {
    case Kind::kLoad:
      if (bytes < 4) {
        const auto loaded = location.in_range(0) ? static_cast<uint32_t>(load(0, bytes)) : 0;
        result(0) = narrow_loaded(element, loaded, held(in.vdst, 0), state.target);
        return;
      }
      for (unsigned n = 0; n < bytes / 4; ++n)
        result(n) = location.in_range(n) ? static_cast<uint32_t>(load(n * 4, 4)) : 0;
      return;
    case Kind::kStore:
      if (bytes < 4) {
        if (location.in_range(0)) store(0, bytes, narrow_stored(element, held(in.vdata, 0)));
        return;
      }
      for (unsigned n = 0; n < bytes / 4; ++n)
        if (location.in_range(n)) store(n * 4, 4, held(in.vdata, n));
      return;
    case Kind::kAtomic:
      break;
  }
  // Behaviour of misaligned atomics is not specified.
  if (location.alignment_address % bytes != 0) world.open = true;
  uint64_t old = 0;
  if (location.in_range(0)) {
    const auto operand = [&](unsigned n) {
      uint64_t value = held(in.vdata, n * (bytes / 4));
      if (bytes == 8) value |= uint64_t{held(in.vdata, n * 2 + 1)} << 32;
      return value;
    };
    const bool has_other =
        element.change == Change::kCompareSwap || element.change == Change::kFloatCompareSwap;
    const uint64_t source = operand(0), other = has_other ? operand(1) : 0;
    old = load(0, bytes);
    const Rules rules = location.space == Space::kLds ? Rules{} : rules_of_memory(element);
    const uint64_t next = changed(element.change, bytes, old, source, other, rules);
    for (unsigned i = 0; i < bytes; ++i) world.update(location.space, location.address(i), 1, next >> 8 * i);
  }
  if (!in.glc || !in.vdst.exists()) return;
  result(0) = static_cast<uint32_t>(old);
  if (bytes == 8) result(1) = static_cast<uint32_t>(old >> 32);
}

}  // namespace rigel::vgpu::exec::reference
