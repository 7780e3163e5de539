// The chips of gfx8 ("VI"): Carrizo, Tonga, Fiji, Polaris, VegaM, Stoney.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx8 {

extern const gfx::Family kFamily;

}  // namespace rigel::gfx8
