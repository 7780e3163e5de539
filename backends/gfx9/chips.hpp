// The chips of gfx9: Vega, Raven, Renoir, Arcturus, Aldebaran, Aqua Vanjaram.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx9 {

extern const gfx::Family kFamily;

}  // namespace rigel::gfx9
