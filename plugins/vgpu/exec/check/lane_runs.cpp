#include <array>
#include <bit>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/check/lane_sets.hpp"

namespace rigel::vgpu::exec {
namespace {

// Odd factors without a pattern: a linear function with them separates the lists of offsets.
constexpr std::array<uint64_t, 64> kFactors = [] {
  std::array<uint64_t, 64> factors{};
  uint64_t state = 0;
  for (uint64_t& factor : factors) {
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    factor = mixed | 1;
  }
  return factors;
}();

template <class Offset>
uint64_t hash_of(const Offset* offsets, uint64_t lanes) {
  uint64_t hash = lanes * 0xd6e8feb86659fd93;
  if (lanes == ~uint64_t{0}) {
    for (uint32_t lane = 0; lane < 64; ++lane) hash += offsets[lane] * kFactors[lane];
  } else {
    for_each_lane(lanes, [&](uint32_t lane) { hash += offsets[lane] * kFactors[lane]; });
  }
  return hash;
}

}  // namespace

uint64_t hash_of_offsets(const uint32_t* offsets, uint64_t lanes) {
  return hash_of(offsets, lanes);
}
uint64_t hash_of_offsets(const uint64_t* offsets, uint64_t lanes) {
  return hash_of(offsets, lanes);
}

LaneRun run_from(const LaneAccesses& accesses, uint32_t first) {
  const uint64_t start = accesses.at[first], active = accesses.lanes >> first;
  const auto most = first + static_cast<uint32_t>(std::countr_one(active));
  if (first + 1 == most || accesses.bytes % 4 != 0 || start % 4 != 0) return {first + 1, accesses.bytes / 4};
  const uint64_t distance = accesses.at[first + 1] - start;
  const uint64_t step = distance == 0 || distance == 4 ? distance : accesses.bytes;
  const auto matches = [&](uint32_t lane) { return accesses.at[lane] == start + (lane - first) * step; };
  constexpr uint32_t kBlock = 8;
  uint32_t end = first + 1;
  for (; end + kBlock <= most; end += kBlock) {
    uint64_t expected[kBlock], differences = 0;  // in a form that GCC vectorizes
    for (uint32_t i = 0; i < kBlock; ++i) expected[i] = start + (end - first + i) * step;
    for (uint32_t i = 0; i < kBlock; ++i) differences |= accesses.at[end + i] ^ expected[i];
    if (differences != 0) break;
  }
  while (end < most && matches(end)) ++end;
  return {end, static_cast<uint32_t>(step / 4)};
}

}  // namespace rigel::vgpu::exec
