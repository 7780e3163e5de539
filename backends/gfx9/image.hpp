// Images of gfx9: see backends/common/image.hpp.
#pragma once

#include "backends/common/image.hpp"

namespace rigel::gfx9 {

extern const gfx::ImageGeneration kImages;

}  // namespace rigel::gfx9
