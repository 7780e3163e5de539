#include "backends/gfx10/code.hpp"

namespace rigel::gfx10 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx10/kernels/blit.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

}  // namespace rigel::gfx10
