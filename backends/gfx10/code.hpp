// Code for gfx10, as words.
#pragma once

#include <cstdint>
#include <span>

namespace rigel::gfx10 {

/// The kernels of common/blit.hpp.
std::span<const uint32_t> blit_code();

}  // namespace rigel::gfx10
