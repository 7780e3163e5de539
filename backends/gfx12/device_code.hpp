// Code for gfx12, as words.
#pragma once

#include <cstdint>
#include <span>

#include "backends/common/node_facts.hpp"

namespace rigel::gfx12 {

std::span<const uint32_t> blit_code();

/// The handler of common/trap.hpp. `exceptions`: the driver receives errors of waves from its interrupts; the
/// handler has no data then.
std::span<const uint32_t> trap_code(gfx::GfxVersion version, bool exceptions);

}  // namespace rigel::gfx12
