// Images of gfx12: see backends/common/image.hpp.
#pragma once

#include "backends/common/image.hpp"

namespace rigel::gfx12 {

extern const gfx::ImageGeneration kImages;

}  // namespace rigel::gfx12
