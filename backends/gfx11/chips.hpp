// The chips of gfx11: Navi 3x and APUs with their cores.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx11 {

extern const gfx::Family kFamily;

}  // namespace rigel::gfx11
