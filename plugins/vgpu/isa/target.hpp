// Which chip: the family decides encodings, the features which instructions exist.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::isa {

/// A gfx target by its version: 8.0.3 is {8, 0, 3}, gfx90a {9, 0, 10}.
struct Target {
  uint8_t major = 9, minor = 0, stepping = 0;

  constexpr Family family() const {
    return major == 8 ? Family::kGfx8 : major == 9 ? Family::kGfx9 : Family::kGfx10;
  }
};

}  // namespace rigel::vgpu::isa
