#include "backends/gfx8/device_code.hpp"

namespace rigel::gfx8 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx8/kernels/blit.inc"
};

constexpr uint32_t kTrap[] = {
#include "backends/gfx8/kernels/trap.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

std::span<const uint32_t> trap_code() {
  return kTrap;
}

}  // namespace rigel::gfx8
