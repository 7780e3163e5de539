// Ids of the work-items that the lanes of a wave execute.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace rigel::vgpu::exec {

using Triple = std::array<uint32_t, 3>;

/// Properties of a wave that determine its work-item ids. Reports copy them, because the wave may continue.
struct WorkItems {
  Triple group{};                   ///< Id of the work-group.
  Triple group_size{1, 1, 1};       ///< As dispatched.
  Triple this_group_size{1, 1, 1};  ///< Smaller at the upper ends of the grid.
  uint32_t wave = 0;                ///< Index in the work-group.
  uint32_t wave_size = 64;

  Triple local(unsigned lane) const {
    const uint64_t flat = uint64_t{wave} * wave_size + lane;
    const uint64_t row = flat / this_group_size[0];
    return {static_cast<uint32_t>(flat % this_group_size[0]), static_cast<uint32_t>(row % this_group_size[1]),
            static_cast<uint32_t>(row / this_group_size[1])};
  }
  Triple global(unsigned lane) const {
    Triple id = local(lane);
    for (size_t i = 0; i < 3; ++i) id[i] += group[i] * group_size[i];
    return id;
  }
};

std::string text_of(const Triple& id);

}  // namespace rigel::vgpu::exec
