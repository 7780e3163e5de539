#include "plugins/vgpu/images/surface.hpp"

#include <algorithm>

namespace rigel::vgpu::images {
namespace {

constexpr uint32_t kRowAlignment = 256;  // bytes: of the rows of gfx9 and later

// gfx8's modes are in a table that the driver fills; it has the same modes of rows on all chips.
constexpr uint8_t kLinearGeneral = 31, kLinearAligned = 8;
constexpr uint8_t kLinear = 0;

uint32_t aligned_pitch(const Surface& surface, uint32_t width) {
  const uint32_t elements = std::max(kRowAlignment / surface.element_bytes, 1u);
  return (width + elements - 1) / elements * elements;
}

uint32_t pitch_of(const Surface& surface, uint32_t level) {
  const bool own_pitch =
      surface.generation == Generation::kGfx10_1 || surface.generation == Generation::kGfx10_3;
  if (surface.levels == 1)
    return std::max(surface.pitch, own_pitch ? aligned_pitch(surface, surface.width) : 1);
  // gfx10's levels are as wide as they have to be, gfx9's as the first.
  return aligned_pitch(surface, own_pitch ? ((surface.width - 1) >> level) + 1 : surface.width);
}

// Rows of a level as they are laid out: halves are rounded up.
uint32_t rows_of(const Surface& surface, uint32_t level) {
  return ((surface.height - 1) >> level) + 1;
}

uint64_t row_address(const Surface& surface, const TexelPlace& place) {
  // Each slice has all levels: on gfx9 the first at the beginning, on gfx10 at the end.
  uint64_t slice = 0, before = 0;
  const bool is_gfx9 = surface.generation == Generation::kGfx9;
  for (uint32_t level = 0; level < surface.levels; ++level) {
    const uint64_t bytes =
        uint64_t{pitch_of(surface, level)} * rows_of(surface, level) * surface.element_bytes;
    slice += bytes;
    if (is_gfx9 ? level < place.level : level > place.level) before += bytes;
  }
  const uint64_t texel = uint64_t{pitch_of(surface, place.level)} * place.y + place.x;
  return surface.base + slice * place.z + before + texel * surface.element_bytes;
}

}  // namespace

bool has_rows(const Surface& surface) {
  if (surface.generation != Generation::kGfx8) return surface.swizzle_mode == kLinear;
  return surface.swizzle_mode == kLinearAligned || surface.swizzle_mode == kLinearGeneral;
}

std::string_view unknown_layout(const Surface& surface) {
  if (surface.samples != 1) return "image of several samples a texel";
  if (surface.levels != 1 && surface.generation == Generation::kGfx8) return "mip levels in rows on gfx8";
  return {};
}

uint64_t texel_address(const Surface& surface, const TexelPlace& place) {
  return row_address(surface, place);
}

}  // namespace rigel::vgpu::images
