// The table of gfx10.
#pragma once

#include "backends/common/generation.hpp"

namespace rigel::gfx10 {

extern const gfx::Generation kGeneration;

}  // namespace rigel::gfx10
