// Random pipe and bank configurations, and images with every supported tiling.
#include "plugins/vgpu/reference/aim.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

constexpr uint32_t kMostBytes = 512 * 1024;

/// Draws a mode of GB_TILE_MODE and GB_MACROTILE_MODE into the image's row of both tables.
void draw_tables(Draw& draw, TiledImage& image, Tiling& chip) {
  constexpr uint32_t kLinearAligned = 8, kLinearGeneral = 31, kGfx8Config = 0x22011003;
  chip.gb_addr_config = kGfx8Config;
  do image.mode = draw.below(32);
  while (image.mode == kLinearAligned || image.mode == kLinearGeneral);
  constexpr uint32_t kPipeConfigs[] = {0, 5, 12, 17};
  const uint32_t array_mode = draw.one_in(4) ? 2 : 4;  // 1D_TILED_THIN1, 2D_TILED_THIN1
  chip.tile_modes[image.mode] = array_mode << 2 | kPipeConfigs[draw.below(4)] << 6 | draw.below(2) << 22;
  for (uint32_t& macro : chip.macro_tile_modes) macro = draw.below(256);
}

}  // namespace

uint32_t draw_tiling(Draw& draw, TiledImage& image, Tiling& chip) {
  if (image.major == 8) {
    draw_tables(draw, image, chip);
  } else {
    image.mode = 1 + draw.below(image.major == 12 ? 7 : 31);
    // Pipes, packers, banks, shader engines.
    chip.gb_addr_config = draw.below(5) | draw.below(5) << 8 | draw.below(5) << 12 | draw.below(4) << 19;
    constexpr uint32_t kNavi3[] = {0x202, 0x404, 0x505};
    if (image.major == 11 && draw.one_in(2)) chip.gb_addr_config = kNavi3[draw.below(3)];
  }
  const auto bytes = tiled_bytes(image, chip);
  if (!bytes || *bytes > kMostBytes) return 0;
  // Blocks distributed over pipes and banks may start at any of them, selected by low address bits.
  constexpr uint32_t kLine = 256;
  const bool spread = image.major == 8 || (image.major == 12 ? image.mode > 1 : image.mode >= 16);
  const uint32_t lines = image.major == 12                                         ? 16
                         : image.major == 8 || image.mode >= 24 || image.mode < 20 ? 256
                                                                                   : 16;
  if (spread && draw.one_in(2)) image.base = draw.below(lines) * kLine;
  return static_cast<uint32_t>(*bytes);
}

}  // namespace rigel::vgpu::exec::reference
