#include "backends/gfx8/code.hpp"

namespace rigel::gfx8 {
namespace {

constexpr uint32_t kBlit[] = {
#include "backends/gfx8/kernels/blit.inc"
};

}  // namespace

std::span<const uint32_t> blit_code() {
  return kBlit;
}

}  // namespace rigel::gfx8
