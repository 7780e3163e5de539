#include "backends/common/scratch.hpp"

#include <algorithm>

namespace rigel::gfx {
namespace {

constexpr uint32_t kMostWaves = 0xfff;        // 12 bits of COMPUTE_TMPRING_SIZE
constexpr uint64_t kMostGranules = 0x1fff;    // 13 bits

constexpr uint32_t bits(uint32_t value, unsigned low) {
  return value << low;
}

}  // namespace

ScratchPlan plan_scratch(const NodeFacts& facts, uint64_t private_bytes, uint32_t lanes) {
  ScratchPlan plan;
  plan.wave_bytes = (private_bytes * lanes + kScratchGranule - 1) / kScratchGranule * kScratchGranule;
  if (plan.wave_bytes / kScratchGranule > kMostGranules) return plan;
  const uint32_t engines = std::max(facts.engines(), 1u);
  const uint32_t slots = facts.max_scratch_slots_per_cu != 0 ? facts.max_scratch_slots_per_cu : 32;
  plan.waves = std::min(facts.compute_units() * slots, kMostWaves) / engines * engines;
  return plan;
}

ScratchPlan halved(const NodeFacts& facts, const ScratchPlan& plan) {
  const uint32_t engines = std::max(facts.engines(), 1u);
  return {plan.wave_bytes, plan.waves / 2 / engines * engines};
}

uint32_t tmpring_size(const ScratchPlan& plan) {
  return plan.waves | static_cast<uint32_t>(plan.wave_bytes / kScratchGranule) << 12;
}

std::array<uint32_t, 4> scratch_descriptor(uint32_t major, uint64_t address, uint64_t bytes) {
  constexpr uint32_t kSwizzle = 1u << 31;
  constexpr uint32_t kSelectXyzw = 4 | bits(5, 3) | bits(6, 6) | bits(7, 9);
  constexpr uint32_t kAddThreadId = 1u << 23;
  // Lane by lane in words of four bytes, across 64 lanes.
  constexpr uint32_t kUint = 4, kData32 = 4, kFourBytes = 1, kStride64 = 3;
  constexpr uint32_t kBefore10 =
      kSelectXyzw | bits(kUint, 12) | bits(kData32, 15) | bits(kFourBytes, 19) | bits(kStride64, 21) | kAddThreadId;
  // From gfx10 on the processor fills in the stride by the kernel's wave size.
  constexpr uint32_t kFormat32Uint = 20, kNoBoundsOnSwizzled = 2, kResourceLevel = 1;
  constexpr uint32_t k10 = kSelectXyzw | bits(kFormat32Uint, 12) | kAddThreadId | bits(kResourceLevel, 24) |
                           bits(kNoBoundsOnSwizzled, 28);
  return {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32 & 0xffff) | kSwizzle,
          static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)), major < 10 ? kBefore10 : k10};
}

}  // namespace rigel::gfx
