// The chips of gfx10: Navi 1x and 2x and APUs with their cores.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx10 {

extern const gfx::Family kFamily;

}  // namespace rigel::gfx10
