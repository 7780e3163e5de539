#include "backends/gfx9/device_code.hpp"

namespace rigel::gfx9 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx9/kernels/blit.inc"
};

constexpr uint32_t kTrap[] = {
#include "backends/gfx9/kernels/trap.inc"
};

constexpr uint32_t kTrapExceptions[] = {
#include "backends/gfx9/kernels/trap_exceptions.inc"
};

constexpr uint32_t kTrap942[] = {
#include "backends/gfx9/kernels/trap_gfx942.inc"
};

constexpr uint32_t kTrapExceptions942[] = {
#include "backends/gfx9/kernels/trap_exceptions_gfx942.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

std::span<const uint32_t> trap_code(gfx::GfxVersion version, bool exceptions) {
  // In gfx9.4 amdkfd keeps the state that the handler restores in another register, and atomics have scopes.
  if (version.minor >= 4) {
    if (exceptions) return kTrapExceptions942;
    return kTrap942;
  }
  if (exceptions) return kTrapExceptions;
  return kTrap;
}

}  // namespace rigel::gfx9
