#include "backends/gfx10/device_code.hpp"

namespace rigel::gfx10 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx10/kernels/blit.inc"
};

constexpr uint32_t kTrap101[] = {
#include "backends/gfx10/kernels/trap_gfx1010.inc"
};

constexpr uint32_t kTrapExceptions101[] = {
#include "backends/gfx10/kernels/trap_exceptions_gfx1010.inc"
};

constexpr uint32_t kTrap103[] = {
#include "backends/gfx10/kernels/trap_gfx1030.inc"
};

constexpr uint32_t kTrapExceptions103[] = {
#include "backends/gfx10/kernels/trap_exceptions_gfx1030.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

std::span<const uint32_t> trap_code(gfx::GfxVersion version, bool exceptions) {
  // waves of these chips can replay instructions, and the handler restores their state
  if (version.minor < 3) {
    if (exceptions) return kTrapExceptions101;
    return kTrap101;
  }
  if (exceptions) return kTrapExceptions103;
  return kTrap103;
}

}  // namespace rigel::gfx10
