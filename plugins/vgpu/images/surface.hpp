// Layout of an image's texels in memory. Resource words are decoded into a Surface (resource.hpp). This
// file has the layout of surfaces in rows; layout.hpp has tiled layouts.
//
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::images {

/// Generation of the texture unit, which determines resource words and layouts.
using Generation = isa::ImageGeneration;

/// Whether resources and layouts are those of RDNA: gfx10, gfx11 and gfx12.
constexpr bool is_rdna(Generation generation) {
  return generation == Generation::kGfx10_1 || generation == Generation::kGfx10_3 ||
         generation == Generation::kGfx11 || generation == Generation::kGfx12;
}

/// Properties of the chip that layouts depend on: registers of a board, which GET_TILE_CONFIG of amdkfd
/// returns.
struct TilingConfig {
  uint32_t gb_addr_config = 0;
  uint32_t banks = 0, ranks = 0;                ///< gfx8: log2 of the memory's banks / 4 and of its ranks.
  std::array<uint32_t, 32> tile_modes{};        ///< gfx8: GB_TILE_MODE
  std::array<uint32_t, 16> macro_tile_modes{};  ///< gfx8: GB_MACROTILE_MODE

  friend bool operator==(const TilingConfig&, const TilingConfig&) = default;
};

struct Surface {
  Generation generation{};
  uint64_t base = 0;           ///< BASE_ADDRESS in bytes. The low bits may be a swizzle of pipes and banks.
  uint32_t element_bytes = 4;  ///< Texel size: 1, 2, 4, 8, 12 or 16. Block compression is not supported.
  uint32_t width = 1;          ///< Of level 0, in elements.
  uint32_t height = 1;
  uint32_t planes = 1;  ///< Depth of level 0 of a volume; number of layers or cube faces of an array.
  uint32_t pitch = 0;   ///< Distance of rows of level 0, in elements. 0: not in the resource.
  uint8_t levels = 1;   ///< All levels in memory (MAX_MIP + 1), including those the resource does not use.
  uint8_t samples = 1;
  uint8_t swizzle_mode = 0;              ///< gfx8: TILING_INDEX; later: SW_MODE.
  bool volume = false;                   ///< 3D: the depth of levels decreases, and tiles may be thick.
  bool pow2_pad = false;                 ///< gfx8: POW2_PAD
  const TilingConfig* tiling = nullptr;  ///< Null: unknown. Rows do not need it.
};

/// Position of a texel in a surface, within the extents of its level.
struct TexelPlace {
  uint32_t level = 0;
  uint32_t x = 0, y = 0;
  uint32_t z = 0;  ///< Slice of a volume, or layer of an array.
  uint32_t sample = 0;
};

/// Whether the texels of a row are contiguous: addresses in a row differ by multiples of element_bytes.
bool has_rows(const Surface& surface);

/// For a surface in rows: empty if texel_address() supports the layout, otherwise the layout's name.
std::string_view unknown_layout(const Surface& surface);

/// Returns the address of the texel's first byte. The surface is in rows, and unknown_layout() is empty.
uint64_t texel_address(const Surface& surface, const TexelPlace& place);

}  // namespace rigel::vgpu::images
