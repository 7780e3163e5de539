// Images of gfx10: see backends/common/image.hpp.
#pragma once

#include "backends/common/image.hpp"

namespace rigel::gfx10 {

extern const gfx::ImageGeneration kImages;

}  // namespace rigel::gfx10
