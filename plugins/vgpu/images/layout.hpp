// Tiled layouts: where the texels of ROCr's images are in memory if they are not stored in rows.
//
// All layouts have the same form. A surface consists of blocks (macro tiles on gfx8) whose size is a power
// of two of bytes. Blocks follow each other in rows, slice after slice. Within a block, each bit of the
// offset is the exclusive or of some bits of x, y and z. A layout is therefore a table: which bits of the
// offset each coordinate bit inverts. Coordinates are those of the whole level: their bits above the block
// choose among pipes and banks. On gfx8, a multiple of the slice also rotates the bank.
//
// Fields of resource words (ROCr 5.2.3, src/image/image_manager_{kv,ai,nv}.cpp; the same in 5.7 and 6.1):
//
//   gfx8   TILING_INDEX (word 3) is a row of the table GB_TILE_MODE, which the driver fills. ROCr uses row
//   8 (linear)
//          and row 14 (2D_TILED_THIN1) for all geometries. The element size selects the row of
//          GB_MACROTILE_MODE.
//          PITCH (word 4) is that of the padded row. Heights are padded to whole macro tiles.
//   gfx9   SW_MODE (word 3): 0 for rows. 2D images and arrays: SW_4KB_D_X or SW_64KB_D_X. Volumes: these
//   (thin) or
//          SW_4KB_Z_X and SW_64KB_Z_X (thick). PITCH (word 4) is that of the padded row.
//   gfx10  SW_MODE (word 3): 0 for rows; SW_256B_D or SW_4KB_D_X. Volumes: SW_4KB_S_X (thick). Tiled rows
//   have no
//          pitch: the width is padded to whole blocks. gfx10.3's PITCH (word 4) repeats the padded width.
//   gfx11  As gfx10.3; also SW_64KB_R_X and SW_256KB_R_X. Volumes: SW_4KB_S_X, SW_64KB_S_X, SW_256KB_S_X
//   (thick),
//          SW_64KB_Z_X, SW_256KB_Z_X and the same with R_X (thin). Z and R are the same order there.
//   gfx12  SW_MODE: 0 for rows; 1 to 4: flat blocks of 256 B, 4, 64 and 256 KiB; 5 to 7: thick blocks of 4,
//   64 and 256 KiB.
//
// 1D images are stored in rows from gfx9 on. ROCr's images have one level, one sample, no compression, and
// zeros in the low bits of BASE_ADDRESS. Graphics drivers use more: the bits of the base address below the
// block size are a swizzle, which inverts pipes and banks. The last levels of a mip chain share one block,
// the tail.
//
// Sources: Mesa's src/amd/addrlib and ROCr's copy (src/image/addrlib): gfx12addrlib.cpp, gfx11addrlib.cpp,
// gfx10addrlib.cpp, gfx9addrlib.cpp and {ci,si,egb}addrlib.cpp. layout_test.cpp compares with their results.
//
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <tl/expected.hpp>

#include "plugins/vgpu/images/surface.hpp"

namespace rigel::vgpu::images {

/// The layout of one surface. It is built once and then maps texels to addresses.
class TiledLayout {
 public:
  /// Builds the layout of a surface that is not stored in rows. The error names an unsupported layout:
  /// "tiled image (SW_64KB_R_X)".
  static tl::expected<TiledLayout, std::string_view> of(const Surface& surface);

  /// Returns the address of the texel's first byte. `place` is within the extents of its level.
  uint64_t address(const TexelPlace& place) const;

  /// A slice of a level. The address of a texel is base + (x.blocks + y.blocks) + (x.flips ^ y.flips ^
  /// flips). The parts of side x depend on the column only, those of side y on the row. Flips are of bits
  /// within a block.
  struct Plane {
    struct Side {
      uint8_t block_bits = 0;
      uint32_t block_bytes = 0;  ///< Distance between adjacent blocks along this side.
      uint8_t count = 0;         ///< Number of coordinate bits that invert bits of the offset.
      std::array<uint8_t, 16> bits{};
      std::array<uint32_t, 16> flips{};

      uint64_t blocks_of(uint32_t at) const { return uint64_t{at >> block_bits} * block_bytes; }
    };
    uint64_t base = 0;
    uint32_t flips = 0;
    Side x, y;

    uint64_t address(uint32_t column, uint32_t row) const;
  };
  Plane plane(uint32_t level, uint32_t z) const;

  /// Returns the surface's size from its base on, in whole blocks.
  uint64_t bytes() const;

 private:
  friend class BlockBuilder;
  friend class MacroTileBuilder;

  /// One coordinate: the bits of the offset that its bits invert, by groups of four bits.
  struct Axis {
    uint8_t block_bits = 0;  ///< log2 of a block's texels along the axis.
    std::array<std::array<uint32_t, 16>, 4> flips{};

    /// Adds `mask` to the bits of the offset that `bit` of the coordinate inverts.
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
  /// Bank rotation of gfx8: the slice times `step` is added to the base's bank; the sum inverts the bank's
  /// bits.
  struct BankRotation {
    uint32_t first = 0, step = 0, mask = 0, shift = 0;
  };
  struct Level {
    uint64_t start = 0;
    uint32_t row_blocks = 0;
    uint32_t flips = 0;  ///< The level's position in the block of the tail.
  };

  Plane::Side side(const Axis& axis, uint32_t blocks) const;

  Axis x_, y_, z_;
  uint8_t block_bits_ = 0;
  uint64_t base_ = 0;
  uint32_t base_flips_ = 0;
  BankRotation bank_rotation_;
  uint64_t slice_bytes_ = 0;  ///< Of the planes of one block's depth.
  uint32_t slices_ = 1;
  std::array<Level, 16> levels_{};
};

}  // namespace rigel::vgpu::images
