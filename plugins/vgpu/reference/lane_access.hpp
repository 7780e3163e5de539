// A lane's memory access, for the FLAT and buffer parts of the model.
#pragma once

#include <functional>

#include "plugins/vgpu/reference/element.hpp"

namespace rigel::vgpu::exec::reference {

/// Location of a lane's element.
struct ElementLocation {
  Space space = Space::kGlobal;
  /// Returns the address of byte n.
  std::function<uint64_t(unsigned)> address;
  /// Must be a multiple of an atomic's size.
  uint64_t alignment_address = 0;
  /// Whether the memory of this register of the element (0 for elements below four bytes) is in range.
  /// Otherwise it loads as 0 and is not stored. Atomics pass 0.
  std::function<bool(unsigned)> in_range = [](unsigned) { return true; };
};

/// Loads, stores or changes `vdst` and `vdata` of the lane. `before` has the old registers.
void access_lane(const isa::Instruction& in, const Element& element, const ElementLocation& location,
                 unsigned lane, const State& before, State& state);

/// Returns the float rules of atomics in GPU memory, not LDS.
Rules rules_of_memory(const Element& element);

}  // namespace rigel::vgpu::exec::reference
