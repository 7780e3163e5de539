// The end of a lane's private memory. FLAT and SCRATCH instructions address private memory by itself. Buffer
// instructions have a descriptor of the queue's scratch, where the memory of other waves is as well. Hardware
// checks neither. Here an access beyond the lane's own memory is a fault, which names its offset.
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/memory_ops/span.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Whether the accesses of the lanes, each at `base + offsets[lane]` of its private memory, end within it. If
/// not, the wave stops with a fault that names the lanes whose accesses do not.
template <class Offset>
bool ends_in_private(Wave* wave, const Shape& shape, uint64_t base, const Offset* offsets, uint64_t lanes) {
  const auto ends_within = [&](unsigned lane) {
    return base + offsets[lane] + shape.bytes <= wave->scratch_lane_bytes;
  };
  bool all = true;
  for (const unsigned lane : lanes_of(lanes)) all &= ends_within(lane);
  if (all) return true;
  LaneFaults& faults = wave->memory->lane_faults();
  faults.clear();
  faults.bytes = shape.bytes;
  for (const unsigned lane : lanes_of(lanes)) {
    const auto offset = static_cast<uint32_t>(base + offsets[lane]);
    if (!ends_within(lane)) faults.add(lane, uint64_t{wave->private_aperture_hi} << 32 | offset);
  }
  const Access access = shape.verb == Verb::kLoad ? Access::kRead : Access::kWrite;
  return stop_with(wave, {faults.va[first_lane(faults.lanes)], access, FaultReason::kNotPresent, 0});
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
