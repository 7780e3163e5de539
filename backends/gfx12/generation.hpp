// The table of gfx12.
#pragma once

#include "backends/common/generation.hpp"

namespace rigel::gfx12 {

extern const gfx::Generation kGeneration;

}  // namespace rigel::gfx12
