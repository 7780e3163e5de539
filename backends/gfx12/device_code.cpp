#include "backends/gfx12/device_code.hpp"

namespace rigel::gfx12 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx12/kernels/blit.inc"
};

constexpr uint32_t kTrap[] = {
#include "backends/gfx12/kernels/trap.inc"
};

constexpr uint32_t kTrapExceptions[] = {
#include "backends/gfx12/kernels/trap_exceptions.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

std::span<const uint32_t> trap_code(gfx::GfxVersion, bool exceptions) {
  if (exceptions) return kTrapExceptions;
  return kTrap;
}

}  // namespace rigel::gfx12
