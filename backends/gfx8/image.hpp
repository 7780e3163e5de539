// Images of gfx8: see backends/common/image.hpp.
#pragma once

#include "backends/common/image.hpp"

namespace rigel::gfx8 {

extern const gfx::ImageGeneration kImages;

}  // namespace rigel::gfx8
