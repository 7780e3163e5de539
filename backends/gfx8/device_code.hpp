// Code for gfx8, as words.
#pragma once

#include <cstdint>
#include <span>

namespace rigel::gfx8 {

std::span<const uint32_t> blit_code();

/// The handler of common/trap.hpp. Its data is a TrapDataGfx8.
std::span<const uint32_t> trap_code();

}  // namespace rigel::gfx8
