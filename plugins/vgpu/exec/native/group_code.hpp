// Native code of a whole work-group: kernels that do something to each element of a vector. What such a
// kernel does before it accesses memory is the same for all waves but for the number of their first lane, and
// as numbers go it takes longer than the rest. So it is done once for all lanes of the work-group.
//
// A value of a lane is here one of two things: a ramp, which is `base + stride * lane` with the work-group's
// lanes counted through, or a row, of which nothing is known. Ramps are scalar arithmetic, done once; rows
// are done by vectors as in any native code (lanes.hpp), between the loads and stores of these lanes.
//
// Conditions are checked where the code is compiled (straight from the first instruction to s_endpgm; loads
// and stores of dwords at ramps or in one place; no load behind a store; nothing that needs to know its wave)
// and, what depends on numbers, before anything is stored: no address wraps, comparisons that decide who goes
// on say the same for all lanes, and memory is where each instruction found it the last time. Where one does
// not hold the work-group starts once more, by waves.
//
// In which order? Waves of a work-group may run in any, and here each instruction of one is done before the
// next one's: 64 lanes load all they load before they store anything, whatever overlaps.
#pragma once

#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::native {

/// Code for the kernel whose block is `request`, with the work-item's number in v0; nothing if it is none of
/// those. Compile before compile(), which changes handlers.
GroupCode compile_group(const Request& request, CodeMemory& memory);

}  // namespace rigel::vgpu::exec::native
