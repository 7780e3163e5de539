// The chips of gfx12: Navi 4x.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx12 {

extern const gfx::Family kFamily;

}  // namespace rigel::gfx12
