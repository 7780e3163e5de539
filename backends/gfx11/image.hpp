// Images of gfx11: see backends/common/image.hpp.
#pragma once

#include "backends/common/image.hpp"

namespace rigel::gfx11 {

extern const gfx::ImageGeneration kImages;

}  // namespace rigel::gfx11
