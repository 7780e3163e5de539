// Where the texels of an image lie in memory. Resource words are decoded into a Surface (resource.hpp), whose rows are
// laid out here; tiled layouts are those of layout.hpp.
//
// Pure functions of their arguments; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::images {

/// Which resource words and which layouts: those of the chips' texture units.
using Generation = isa::ImageGeneration;

/// What layouts depend on beside the resource: registers of the chip, as a board and amdkfd's GET_TILE_CONFIG have them.
struct TilingConfig {
  uint32_t gb_addr_config = 0;
  uint32_t banks = 0, ranks = 0;                ///< gfx8: log2 of the memory's banks / 4 and of its ranks.
  std::array<uint32_t, 32> tile_modes{};        ///< gfx8: GB_TILE_MODE
  std::array<uint32_t, 16> macro_tile_modes{};  ///< gfx8: GB_MACROTILE_MODE

  friend bool operator==(const TilingConfig&, const TilingConfig&) = default;
};

struct Surface {
  Generation generation{};
  uint64_t base =
      0;  ///< BASE_ADDRESS in bytes; the low bits of its field may be a swizzle of pipes and banks.
  uint32_t element_bytes =
      4;               ///< 1, 2, 4, 8, 12 or 16. An element is a texel: block-compressed formats are refused.
  uint32_t width = 1;  ///< Of level 0, in elements
  uint32_t height = 1;
  uint32_t planes =
      1;  ///< Depth of level 0 of a volume; layers of an array, faces of its cubes counted one by one.
  uint32_t pitch = 0;  ///< From row to row of level 0, in elements; 0: the resource does not tell.
  uint8_t levels = 1;  ///< All that lie in memory (MAX_MIP + 1), whichever the resource shows.
  uint8_t samples = 1;
  uint8_t swizzle_mode = 0;              ///< gfx8: TILING_INDEX; later: SW_MODE
  bool volume = false;                   ///< 3D: levels have less depth, and tiles may be thick.
  bool pow2_pad = false;                 ///< gfx8: POW2_PAD
  const TilingConfig* tiling = nullptr;  ///< nullptr: unknown, which rows do not need.
};

/// A texel's place in a surface; all within the extents of the level.
struct TexelPlace {
  uint32_t level = 0;
  uint32_t x = 0, y = 0;
  uint32_t z = 0;  ///< Slice of a volume, or layer of an array.
  uint32_t sample = 0;
};

/// Whether the texels of each row of a level lie one after the other, so that an address in a row is the first one
/// and a multiple of element_bytes.
bool has_rows(const Surface& surface);

/// Of a surface in rows: empty if texel_address() knows the layout, else its name.
std::string_view unknown_layout(const Surface& surface);

/// The address of the texel's first byte. For surfaces in rows, of which unknown_layout() is empty.
uint64_t texel_address(const Surface& surface, const TexelPlace& place);

}  // namespace rigel::vgpu::images
