// The table of gfx11.
#pragma once

#include "backends/common/generation.hpp"

namespace rigel::gfx11 {

extern const gfx::Generation kGeneration;

}  // namespace rigel::gfx11
