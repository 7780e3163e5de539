#include "plugins/vgpu/images/surface.hpp"

#include <algorithm>

namespace rigel::vgpu::images {
namespace {

constexpr uint32_t kRowAlignment = 256;  // bytes; rows of gfx9 and later
// Rows of gfx12's arrays, volumes and levels, whose slices are as large as with kRowAlignment.
constexpr uint32_t kNarrowRowAlignment = 128;

// gfx8's modes are in a table that the driver fills. The rows for linear modes are the same on all chips.
constexpr uint8_t kLinearGeneral = 31, kLinearAligned = 8;
constexpr uint8_t kLinear = 0;

uint32_t aligned_pitch(const Surface& surface, uint32_t width, uint32_t alignment = kRowAlignment) {
  const uint32_t elements = std::max(alignment / surface.element_bytes, 1u);
  return (width + elements - 1) / elements * elements;
}

uint32_t pitch_of(const Surface& surface, uint32_t level) {
  const bool levels_have_pitch = is_rdna(surface.generation);
  if (surface.levels == 1)
    return std::max(surface.pitch, levels_have_pitch ? aligned_pitch(surface, surface.width) : 1);
  // gfx10's levels have their own pitch; gfx9's have that of the first level.
  return aligned_pitch(surface, levels_have_pitch ? ((surface.width - 1) >> level) + 1 : surface.width);
}

// Distance of a level's rows. That of slices follows from pitch_of.
uint32_t row_distance(const Surface& surface, uint32_t level) {
  if (surface.generation != Generation::kGfx12) return pitch_of(surface, level);
  if (surface.levels == 1 && surface.pitch != 0) return surface.pitch;
  return aligned_pitch(surface, ((surface.width - 1) >> level) + 1, kNarrowRowAlignment);
}

// Rows of a level in memory: halved extents are rounded up.
uint32_t rows_of(const Surface& surface, uint32_t level) {
  return ((surface.height - 1) >> level) + 1;
}

uint64_t row_address(const Surface& surface, const TexelPlace& place) {
  // Each slice has all levels. The first level is at the start on gfx9 and at the end on gfx10.
  uint64_t slice_bytes = 0, preceding_bytes = 0;
  const bool is_gfx9 = surface.generation == Generation::kGfx9;
  for (uint32_t level = 0; level < surface.levels; ++level) {
    const uint64_t bytes =
        uint64_t{pitch_of(surface, level)} * rows_of(surface, level) * surface.element_bytes;
    slice_bytes += bytes;
    if (is_gfx9 ? level < place.level : level > place.level) preceding_bytes += bytes;
  }
  const uint64_t texel = uint64_t{row_distance(surface, place.level)} * place.y + place.x;
  return surface.base + slice_bytes * place.z + preceding_bytes + texel * surface.element_bytes;
}

}  // namespace

bool has_rows(const Surface& surface) {
  if (surface.generation != Generation::kGfx8) return surface.swizzle_mode == kLinear;
  return surface.swizzle_mode == kLinearAligned || surface.swizzle_mode == kLinearGeneral;
}

std::string_view unknown_layout(const Surface& surface) {
  if (surface.samples != 1) return "multisampled image";
  if (surface.levels != 1 && surface.generation == Generation::kGfx8)
    return "linear image with mip levels on gfx8";
  return {};
}

uint64_t texel_address(const Surface& surface, const TexelPlace& place) {
  return row_address(surface, place);
}

}  // namespace rigel::vgpu::images
