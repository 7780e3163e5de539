// The table of gfx9.
#pragma once

#include "backends/common/generation.hpp"

namespace rigel::gfx9 {

extern const gfx::Generation kGeneration;

}  // namespace rigel::gfx9
