// Layouts of gfx8. TILING_INDEX is a row of a table, which the driver fills for the chip's pipes and banks.
#include <iterator>

#include "plugins/vgpu/images/layout_builders.hpp"

namespace rigel::vgpu::images {
namespace {

constexpr Order kDisplay8 = {"x0x1x2y1y0y2", "x0x1x2y0y1y2", "x0x1y0x2y1y2", "x0y0x1x2y1y2", "y0x0x1x2y1y2"};
constexpr std::string_view kMorton = "x0y0x1y1x2y2";
constexpr Order kThin8 = {kMorton, kMorton, kMorton, kMorton, kMorton};

}  // namespace

class MacroTileBuilder {
 public:
  explicit MacroTileBuilder(const Surface& surface)
      : surface_(surface), mode_(surface.tiling->tile_modes[surface.swizzle_mode & 31]) {}

  LayoutOr build() {
    constexpr uint32_t k1DThin = 2, k2DThin = 4;
    const uint32_t array_mode = bits_of(mode_, 2, 4);
    const Order* const order = find_order();
    if (order == nullptr || (array_mode != k1DThin && array_mode != k2DThin)) return tl::unexpected(kUnknown);
    const uint32_t config = surface_.tiling->gb_addr_config;
    if (bits_of(config, 4, 3) != 0 || bits_of(config, 8, 3) != 0) return tl::unexpected(kOtherInterleave);
    if (surface_.levels != 1) return tl::unexpected(std::string_view("tiled image with mip levels"));
    const Chain tile((*order)[element_bits()], element_bits());
    TiledLayout layout;
    layout.base_ = surface_.base;
    if (array_mode == k1DThin) {
      layout.block_bits_ = static_cast<uint8_t>(tile.size());
      layout.x_.block_bits = layout.y_.block_bits = kTileBits;
      place_tile(layout, tile, 0);
    } else if (!fill_macro_tile(layout, tile)) {
      return tl::unexpected(kUnknown);
    }
    const uint32_t pitch = std::max(surface_.pitch, surface_.width);
    layout.levels_[0].row_blocks = blocks(pitch, layout.x_.block_bits);
    layout.slice_bytes_ =
        uint64_t{layout.levels_[0].row_blocks} * blocks(surface_.height, layout.y_.block_bits)
        << layout.block_bits_;
    layout.slices_ = surface_.planes;
    return layout;
  }

 private:
  static constexpr std::string_view kUnknown = "tiled image: GB_TILE_MODE other than 1D or 2D_TILED_THIN1";
  static constexpr unsigned kTileBits = 3;  // 8 by 8 texels

  /// Bits of a tile's column and row that choose a pipe.
  struct PipeConfig {
    uint8_t code, bits;
    uint8_t x[4], y[4];
  };
  /// PIPE_CONFIG of the chips with gfx8: P2, P4_16x16, P8_32x32_16x16, P16_32x32_16x16.
  static constexpr PipeConfig kPipeConfigs[] = {
      {0, 1, {1}, {1}},
      {5, 2, {3, 2}, {1, 2}},
      {12, 3, {3, 2, 4}, {1, 2, 4}},
      {17, 4, {3, 2, 4, 8}, {1, 2, 8, 4}},
  };
  /// The same for banks, by log2 of their number. Positions count in a bank's tiles.
  static constexpr struct {
    uint8_t x[4], y[4];
  } kBanks[] = {{}, {{1}, {1}}, {{1, 2}, {2, 1}}, {{1, 2, 4}, {4, 6, 1}}, {{1, 2, 4, 8}, {8, 12, 2, 1}}};

  unsigned element_bits() const { return log2_of(surface_.element_bytes); }

  const Order* find_order() const {
    switch (bits_of(mode_, 22, 3)) {  // MICRO_TILE_MODE_NEW
      case 0:
        return &kDisplay8;
      case 1:
        return &kThin8;
      default:
        return nullptr;
    }
  }

  /// Places the bytes of a tile. The bits past the pipe interleave are above the pipe and bank bits.
  static void place_tile(TiledLayout& layout, const Chain& tile, unsigned pipes_and_banks) {
    for (unsigned position = 0; position < tile.size(); ++position) {
      const auto bit = tile[position];
      if (!bit) continue;
      auto& axis = bit->axis == kX ? layout.x_ : layout.y_;
      axis.invert(bit->index, 1u << (position < kInterleave ? position : position + pipes_and_banks));
    }
  }

  bool fill_macro_tile(TiledLayout& layout, const Chain& tile) const {
    const uint32_t config = surface_.tiling->gb_addr_config;
    const uint32_t tile_bytes = surface_.element_bytes << (2 * kTileBits);
    const uint32_t row_bytes = 1024u << bits_of(config, 28, 2);
    const uint32_t pipe_code = bits_of(mode_, 6, 5);
    const auto* const pipes = std::find_if(std::begin(kPipeConfigs), std::end(kPipeConfigs),
                                           [&](const PipeConfig& row) { return row.code == pipe_code; });
    if (tile_bytes > row_bytes || pipes == std::end(kPipeConfigs)) return false;
    const uint32_t macro = surface_.tiling->macro_tile_modes[element_bits()];
    const unsigned width = bits_of(macro, 0, 2), height = bits_of(macro, 2, 2), aspect = bits_of(macro, 4, 2);
    const unsigned bank_bits = bits_of(macro, 6, 2) + 1;

    // A bank's tiles are in rows. The rest of a macro tile is distributed over pipes and banks.
    const unsigned column = kTileBits + pipes->bits, bank_column = column + width,
                   bank_row = kTileBits + height;
    const unsigned in_bank = tile.size() + width + height;
    if (in_bank < kInterleave || aspect > height + bank_bits) return false;
    const unsigned spread = pipes->bits + bank_bits;
    const auto place = [&](TiledLayout::Axis& axis, unsigned index, unsigned position) {
      axis.invert(index, 1u << (position < kInterleave ? position : position + spread));
    };
    place_tile(layout, tile, spread);
    for (unsigned bit = 0; bit < width; ++bit) place(layout.x_, column + bit, tile.size() + bit);
    for (unsigned bit = 0; bit < height; ++bit) place(layout.y_, kTileBits + bit, tile.size() + width + bit);
    const auto choose = [](TiledLayout::Axis& axis, unsigned first, uint8_t mask, unsigned position) {
      for (unsigned bit = 0; bit < 4; ++bit)
        if ((mask >> bit & 1) != 0) axis.invert(first + bit, 1u << position);
    };
    for (unsigned bit = 0; bit < pipes->bits; ++bit) {
      choose(layout.x_, kTileBits, pipes->x[bit], kInterleave + bit);
      choose(layout.y_, kTileBits, pipes->y[bit], kInterleave + bit);
    }
    for (unsigned bit = 0; bit < bank_bits; ++bit) {
      choose(layout.x_, bank_column, kBanks[bank_bits].x[bit], kInterleave + pipes->bits + bit);
      choose(layout.y_, bank_row, kBanks[bank_bits].y[bit], kInterleave + pipes->bits + bit);
    }
    layout.block_bits_ = static_cast<uint8_t>(in_bank + spread);
    layout.x_.block_bits = static_cast<uint8_t>(bank_column + aspect);
    layout.y_.block_bits = static_cast<uint8_t>(bank_row + bank_bits - aspect);
    const auto swizzle = static_cast<uint32_t>(surface_.base) & ((1u << (kInterleave + spread)) - 1);
    layout.base_ -= swizzle;
    layout.base_flips_ = swizzle & ((1u << (kInterleave + pipes->bits)) - 1);
    layout.bank_rotation_ = {swizzle >> (kInterleave + pipes->bits), (1u << bank_bits) / 2 - 1,
                             (1u << bank_bits) - 1, kInterleave + pipes->bits};
    return true;
  }

  const Surface& surface_;
  const uint32_t mode_;
};

LayoutOr lay_out_macro_tiles(const Surface& surface) {
  return MacroTileBuilder(surface).build();
}

}  // namespace rigel::vgpu::images
