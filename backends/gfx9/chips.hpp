// The chips of gfx9.0: Vega, Raven, Renoir, Arcturus, Aldebaran.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx9 {

extern const gfx::Family kFamily;

}  // namespace rigel::gfx9
