// The private segment's memory of a queue: how much a dispatch needs, and how the hardware is told. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

struct ScratchPlan {
  uint64_t wave_bytes = 0;  ///< of one wave, in whole granules
  uint32_t waves = 0;       ///< that can have it at a time, the same number for each shader engine
  uint64_t bytes() const { return wave_bytes * waves; }
  /// Of one lane, as if the wave had 64: what amd_queue_t states.
  uint32_t lane_bytes() const { return static_cast<uint32_t>(wave_bytes / 64); }
};

constexpr uint64_t kScratchGranule = 1024;  ///< bytes of a wave's share: 256 dwords

/// For `private_bytes` a work-item in waves of `lanes`. Waves are as many as the chip can have in flight.
/// No waves: no register can say so much.
ScratchPlan plan_scratch(const NodeFacts& facts, uint64_t private_bytes, uint32_t lanes);

/// The plan with half of the waves, or none if that is not one for each engine.
ScratchPlan halved(const NodeFacts& facts, const ScratchPlan& plan);

/// COMPUTE_TMPRING_SIZE.
uint32_t tmpring_size(const ScratchPlan& plan);

/// The buffer descriptor by which kernels address it. `major` is that of the gfx version.
std::array<uint32_t, 4> scratch_descriptor(uint32_t major, uint64_t address, uint64_t bytes);

}  // namespace rigel::gfx
