// Where the texels of images lie that do not lie in rows, one texel at a time: numbers, not the tables of
// images/layout.hpp, with which nothing is shared. tiling_test.cpp holds both to AMD's library of addresses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace rigel::vgpu::exec::reference {

/// Registers of the chip.
struct Tiling {
  uint32_t gb_addr_config = 0;
  std::array<uint32_t, 32> tile_modes{};        ///< gfx8: GB_TILE_MODE
  std::array<uint32_t, 16> macro_tile_modes{};  ///< gfx8: GB_MACROTILE_MODE
};

/// An image of one sample a texel, as its resource has it.
struct TiledImage {
  unsigned major = 9, minor = 0;  ///< gfx9.0: the chip
  uint64_t base = 0;
  unsigned mode = 0;  ///< SW_MODE; gfx8: TILING_INDEX
  bool volume = false;
  uint64_t element_bytes = 4, width = 1, height = 1, planes = 1, pitch = 1, levels = 1;
};

struct Texel {
  uint64_t level = 0, x = 0, y = 0, z = 0;
};

/// The address of the texel's first byte. Nothing: of such an image the model does not know it.
std::optional<uint64_t> tiled_address(const TiledImage& image, const Tiling& chip, const Texel& texel);

/// What the image takes of memory, whole blocks. Nothing, as above.
std::optional<uint64_t> tiled_bytes(const TiledImage& image, const Tiling& chip);

}  // namespace rigel::vgpu::exec::reference
