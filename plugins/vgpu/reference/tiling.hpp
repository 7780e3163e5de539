// Addresses of texels in tiled images, computed texel by texel. Independent of images/layout.hpp;
// tiling_test.cpp compares with AMD's address library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace rigel::vgpu::exec::reference {

/// Registers of the chip that determine layouts.
struct Tiling {
  uint32_t gb_addr_config = 0;
  std::array<uint32_t, 32> tile_modes{};        ///< gfx8: GB_TILE_MODE
  std::array<uint32_t, 16> macro_tile_modes{};  ///< gfx8: GB_MACROTILE_MODE
};

/// An image with one sample per texel, as described by its resource.
struct TiledImage {
  unsigned major = 9, minor = 0;  ///< Version of the chip.
  uint64_t base = 0;
  unsigned mode = 0;  ///< SW_MODE; gfx8: TILING_INDEX
  bool volume = false;
  uint64_t element_bytes = 4, width = 1, height = 1, planes = 1, pitch = 1, levels = 1;
};

struct Texel {
  uint64_t level = 0, x = 0, y = 0, z = 0;
};

/// Returns the address of the texel's first byte; nothing for unsupported images.
std::optional<uint64_t> tiled_address(const TiledImage& image, const Tiling& chip, const Texel& texel);

/// Returns the image's size in memory, in whole blocks; nothing for unsupported images.
std::optional<uint64_t> tiled_bytes(const TiledImage& image, const Tiling& chip);

}  // namespace rigel::vgpu::exec::reference
