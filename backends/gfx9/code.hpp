// Code for gfx9, as words.
#pragma once

#include <cstdint>
#include <span>

namespace rigel::gfx9 {

/// The kernels of common/blit.hpp.
std::span<const uint32_t> blit_code();

}  // namespace rigel::gfx9
