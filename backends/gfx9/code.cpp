#include "backends/gfx9/code.hpp"

namespace rigel::gfx9 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx9/kernels/blit.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

}  // namespace rigel::gfx9
