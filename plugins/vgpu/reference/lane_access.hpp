// One lane's access to memory by a vector memory instruction: registers on one side, bytes on the other. Used
// by the parts of the model for FLAT and for buffers.
#pragma once

#include <functional>

#include "plugins/vgpu/reference/element.hpp"

namespace rigel::vgpu::exec::reference {

/// Where the bytes of a lane's element lie.
struct Placed {
  Space space = Space::kGlobal;
  /// The address of byte n.
  std::function<uint64_t(unsigned)> address;
  /// What must be a multiple of an atomic operation's size.
  uint64_t own_address = 0;
  /// Whether the piece of memory of this register of the element (0 for those below four bytes) may be
  /// accessed; others load as 0 and are not stored. Atomics ask for register 0 alone.
  std::function<bool(unsigned)> in_range = [](unsigned) { return true; };
};

/// Loads, stores or changes what `vdst` and `vdata` of the lane say. `before` has the registers as they were.
void access_lane(const isa::Instruction& in, const Element& element, const Placed& placed, unsigned lane,
                 const State& before, State& state);

/// How the memory of a GPU (not LDS) adds floating-point numbers.
Rules rules_of_memory(const Element& element);

}  // namespace rigel::vgpu::exec::reference
