// Tiled layouts: how ROCr's images lie in memory where they do not lie in rows.
//
// All of them have one form. A surface is cut into blocks of a power of two of bytes (macro tiles on gfx8), which
// follow each other in rows, slice after slice. Within a block, each bit of the offset is the exclusive or of some
// bits of x, y and z, so that a layout is a table: which bits of the offset a coordinate's bit inverts. Coordinates
// are those of the whole level: their bits above the block choose among pipes and banks. On gfx8, the bank is turned
// besides, by a multiple of the slice.
//
// What resource words tell of it (ROCr 5.2.3, src/image/image_manager_{kv,ai,nv}.cpp, and the same in 5.7 and 6.1):
//
//   gfx8   TILING_INDEX (word 3) is a row of the table GB_TILE_MODE that the driver fills: ROCr takes 8, rows, and of
//          the tiled ones nothing but 14, 2D_TILED_THIN1, for all geometries. The row of GB_MACROTILE_MODE follows from
//          the element's size. PITCH (word 4) is that of the padded row; heights are padded to whole macro tiles.
//   gfx9   SW_MODE (word 3): 0, rows; of images of two dimensions and their arrays SW_4KB_D_X or SW_64KB_D_X; of
//          volumes these (thin) or SW_4KB_Z_X and SW_64KB_Z_X (thick). PITCH (word 4) is that of the padded row.
//   gfx10  SW_MODE (word 3): 0; SW_256B_D or SW_4KB_D_X; of volumes SW_4KB_S_X (thick). There is no pitch of tiled rows:
//          the width is padded to whole blocks (gfx10.3's PITCH, in word 4, repeats that).
//
// Images of one dimension lie in rows from gfx9 on. ROCr makes one level and one sample, no compression, and leaves
// the low bits of BASE_ADDRESS 0. Drivers of graphics have more: the bits of the base address below a block's size are
// a swizzle, which inverts pipes and banks, and the last levels of a chain share one block, the tail.
//
// Sources: Mesa's src/amd/addrlib and ROCr's copy of it (src/image/addrlib); gfx10addrlib.cpp, gfx9addrlib.cpp and
// {ci,si,egb}addrlib.cpp, whose answers judge this file (layout_test.cpp). Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <tl/expected.hpp>

#include "plugins/vgpu/images/surface.hpp"

namespace rigel::vgpu::images {

/// The layout of one surface: made once, it answers for each texel.
class TiledLayout {
 public:
  /// The layout of a surface that does not lie in rows; or what of it is not known: "tiled image (SW_64KB_R_X)".
  static tl::expected<TiledLayout, std::string_view> of(const Surface& surface);

  /// The address of the texel's first byte. `place` is within the extents of its level.
  uint64_t address(const TexelPlace& place) const;

  /// A slice of a level. An address in it is base + (column.blocks + row.blocks) + (column.flips ^ row.flips ^ flips),
  /// of which the column's part depends on x alone, and the row's on y. Flips are of bits within a block.
  struct Plane {
    struct Side {
      uint8_t block_bits = 0;
      uint32_t block_bytes = 0;  ///< From a block to the next along this side; along x: what a block takes.
      uint8_t count = 0;         ///< Of the coordinate's bits that invert any of the offset's.
      std::array<uint8_t, 16> bits{};
      std::array<uint32_t, 16> flips{};

      uint64_t blocks_of(uint32_t at) const { return uint64_t{at >> block_bits} * block_bytes; }
    };
    uint64_t base = 0;
    uint32_t flips = 0;
    Side x, y;

    /// What address() of the layout says.
    uint64_t address(uint32_t column, uint32_t row) const;
  };
  Plane plane(uint32_t level, uint32_t z) const;

  /// What the surface takes from its base on, whole blocks.
  uint64_t bytes() const;

 private:
  friend class BlockBuilder;
  friend class MacroTileBuilder;

  /// One coordinate: which bits of the offset its bits invert, four by four.
  struct Axis {
    uint8_t block_bits = 0;  ///< log2 of a block's texels along it.
    std::array<std::array<uint32_t, 16>, 4> flips{};

    /// A bit of the coordinate inverts those bits of the offset as well.
    void invert(unsigned bit, uint32_t mask) {
      for (unsigned value = 0; value < 16; ++value)
        if ((value >> bit % 4 & 1) != 0) flips[bit / 4][value] ^= mask;
    }
    uint32_t flips_of_bit(unsigned bit) const { return flips[bit / 4][1u << bit % 4]; }
    uint32_t flips_of(uint32_t coordinate) const {
      return flips[0][coordinate & 15] ^ flips[1][coordinate >> 4 & 15] ^ flips[2][coordinate >> 8 & 15] ^
             flips[3][coordinate >> 12 & 15];
    }
  };
  /// gfx8's banks: the slice, times `step`, is added to what is the base's own, and inverts bits of the bank.
  struct Turn {
    uint32_t first = 0, step = 0, mask = 0, shift = 0;
  };
  /// Where a level's blocks begin.
  struct Level {
    uint64_t start = 0;
    uint32_t row_blocks = 0;
    uint32_t flips = 0;  ///< Its place in the block of the tail.
  };

  Plane::Side side(const Axis& axis, uint32_t blocks) const;

  Axis x_, y_, z_;
  uint8_t block_bits_ = 0;
  uint64_t base_ = 0;
  uint32_t base_flips_ = 0;
  Turn turn_;
  uint64_t slice_bytes_ = 0;  ///< Of as many planes as blocks are deep
  uint32_t slices_ = 1;
  std::array<Level, 16> levels_{};
};

}  // namespace rigel::vgpu::images
