// Sets of lanes as bit masks.
#pragma once

#include <bit>
#include <cstdint>

namespace rigel::vgpu::exec {

constexpr uint64_t bit_of(uint32_t lane) {
  return uint64_t{1} << lane;
}

template <class Visit>
void for_each_lane(uint64_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<uint32_t>(std::countr_zero(lanes)));
}

}  // namespace rigel::vgpu::exec
