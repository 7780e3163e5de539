// The table of gfx8.
#pragma once

#include "backends/common/generation.hpp"

namespace rigel::gfx8 {

extern const gfx::Generation kGeneration;

}  // namespace rigel::gfx8
