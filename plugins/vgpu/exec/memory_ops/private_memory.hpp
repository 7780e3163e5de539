// Bounds of a lane's private memory. FLAT and SCRATCH instructions address private memory directly. Buffer
// instructions have a descriptor of the queue's scratch, which also contains other waves' memory. Hardware
// checks neither. Here an access past the lane's memory is a fault that reports the offset.
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/memory_ops/span.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Whether each lane's access at `base + offsets[lane]` ends within its private memory. If not, the wave
/// stops with a fault that lists the offending lanes.
template <class Offset>
bool ends_in_private(Wave* wave, const Shape& shape, uint64_t base, const Offset* offsets, uint64_t lanes) {
  if constexpr (kChecked) {
    LaneAccesses accesses;
    accesses.kind = access_kind(shape.verb);
    accesses.bytes = shape.bytes;
    accesses.lanes = lanes;
    for (const unsigned lane : lanes_of(lanes)) accesses.at[lane] = base + offsets[lane];
    checks::access_private(*wave, accesses);
  }
  const auto is_inside = [&](unsigned lane) {
    return base + offsets[lane] + shape.bytes <= wave->scratch_lane_bytes;
  };
  bool all_inside = true;
  for (const unsigned lane : lanes_of(lanes)) all_inside &= is_inside(lane);
  if (all_inside) return true;
  LaneFaults& faults = wave->memory->lane_faults();
  faults.clear();
  faults.bytes = shape.bytes;
  for (const unsigned lane : lanes_of(lanes)) {
    const auto offset = static_cast<uint32_t>(base + offsets[lane]);
    if (!is_inside(lane)) faults.add(lane, uint64_t{wave->private_aperture_hi} << 32 | offset);
  }
  const Access access = shape.verb == Verb::kLoad ? Access::kRead : Access::kWrite;
  return stop_with(wave, {faults.va[first_lane(faults.lanes)], access, FaultReason::kNotPresent, 0});
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
