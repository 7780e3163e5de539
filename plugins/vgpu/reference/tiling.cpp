#include "plugins/vgpu/reference/tiling.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "plugins/vgpu/reference/render_order.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using Address = std::optional<uint64_t>;

uint64_t field(uint64_t bits, unsigned from, unsigned to) {
  return bits >> from & ((uint64_t{2} << (to - from)) - 1);
}
uint64_t in_units(uint64_t count, uint64_t unit) {
  return (count + unit - 1) / unit;
}
uint64_t halved(uint64_t size, uint64_t times) {
  return std::max<uint64_t>(in_units(size, uint64_t{1} << times), 1);
}
unsigned parity(uint64_t bits) {
  return static_cast<unsigned>(std::popcount(bits)) & 1;
}

struct Point {
  uint64_t x = 0, y = 0, z = 0;

  uint64_t operator[](char axis) const { return axis == 'x' ? x : axis == 'y' ? y : z; }
};

// Returns the offset of a texel as if the image were one block: bits of the coordinates in the order of the
// smallest tile ("x0y0"), then the next higher bits of the coordinates alternately.
uint64_t number_of(std::string_view tile, std::string_view axes, uint64_t element_bytes, const Point& at) {
  constexpr unsigned kMostBits = 48;
  auto to = static_cast<unsigned>(std::countr_zero(element_bytes));
  uint64_t number = 0;
  unsigned taken[3] = {};
  for (; !tile.empty(); tile.remove_prefix(2), ++to) {
    number |= (at[tile[0]] >> (tile[1] - '0') & 1) << to;
    ++taken[tile[0] - 'x'];
  }
  for (; to < kMostBits; ++to) {
    const char axis = axes[to % axes.size()];
    number |= (at[axis] >> taken[axis - 'x']++ & 1) << to;
  }
  return number;
}

// gfx8
// ---------------------------------------------------------------------------------------------------

constexpr uint64_t kTile = 8;                           // Width and height of a tile in texels.
constexpr unsigned kInterleave = 8;                     // log2 of kLine.
constexpr uint64_t kLine = uint64_t{1} << kInterleave;  // Contiguous bytes of one pipe.

std::string_view tile_of_gfx8(uint64_t micro_tile_mode, uint64_t element_bytes) {
  if (micro_tile_mode == 1) return "x0y0x1y1x2y2";
  switch (element_bytes) {  // Display tiles.
    case 1:
      return "x0x1x2y1y0y2";
    case 2:
      return "x0x1x2y0y1y2";
    case 4:
      return "x0x1y0x2y1y2";
    case 8:
      return "x0y0x1x2y1y2";
    default:
      return "y0x0x1x2y1y2";
  }
}

// PIPE_CONFIG: the pipe of a tile, from its column and row.
std::optional<uint64_t> pipe_of(uint64_t config, uint64_t column, uint64_t row, unsigned& pipe_bits) {
  const auto x = [&](unsigned bit) { return column >> (bit - 3) & 1; };  // Texel coordinate bits.
  const auto y = [&](unsigned bit) { return row >> (bit - 3) & 1; };
  switch (config) {
    case 0:  // P2
      pipe_bits = 1;
      return x(3) ^ y(3);
    case 5:  // P4_16x16
      pipe_bits = 2;
      return (x(3) ^ y(3) ^ x(4)) | (x(4) ^ y(4)) << 1;
    case 12:  // P8_32x32_16x16
      pipe_bits = 3;
      return (x(3) ^ y(3) ^ x(4)) | (x(4) ^ y(4)) << 1 | (x(5) ^ y(5)) << 2;
    case 17:  // P16_32x32_16x16
      pipe_bits = 4;
      return (x(3) ^ y(3) ^ x(4)) | (x(4) ^ y(4)) << 1 | (x(5) ^ y(6)) << 2 | (x(6) ^ y(5)) << 3;
    default:
      return std::nullopt;
  }
}

// Returns the bank (of 2 to 16) from the column and row in units of a bank's tiles.
uint64_t bank_of(unsigned bank_bits, uint64_t column, uint64_t row) {
  uint64_t bank = 0;
  for (unsigned bit = 0; bit < bank_bits; ++bit) {
    uint64_t of_row = row >> (bank_bits - 1 - bit) & 1;
    // With eight and sixteen banks, the second bit also depends on the row's highest bit.
    if (bit == 1 && bank_bits > 2) of_row ^= row >> (bank_bits - 1) & 1;
    bank |= ((column >> bit & 1) ^ of_row) << bit;
  }
  return bank;
}

// Division of an image into macro tiles, in tiles except for bytes.
struct MacroTiles {
  uint64_t micro_tile_mode = 0, tile_bytes = 0;
  bool single = false;  // Tiles without pipes and banks.
  uint64_t pipe_config = 0;
  unsigned pipe_bits = 0, bank_bits = 0;
  uint64_t bank_width = 1, bank_height = 1;
  uint64_t columns = 1, rows = 1;  // Size of a macro tile.
  uint64_t row_macros = 1, slice_macros = 1;

  uint64_t pipes() const { return uint64_t{1} << pipe_bits; }
  uint64_t banks() const { return uint64_t{1} << bank_bits; }
};

std::optional<MacroTiles> macro_tiles_of(const TiledImage& image, const Tiling& chip) {
  const uint64_t mode = chip.tile_modes[image.mode % 32], array_mode = field(mode, 2, 5);
  constexpr uint64_t k1D = 2, k2D = 4;
  MacroTiles tiles;
  tiles.micro_tile_mode = field(mode, 22, 24);
  if (image.levels != 1 || tiles.micro_tile_mode > 1 || (array_mode != k1D && array_mode != k2D))
    return std::nullopt;
  tiles.tile_bytes = kTile * kTile * image.element_bytes;
  tiles.single = array_mode == k1D;
  if (!tiles.single) {
    const uint64_t macro =
        chip.macro_tile_modes[static_cast<unsigned>(std::countr_zero(image.element_bytes))];
    tiles.pipe_config = field(mode, 6, 10);
    if (!pipe_of(tiles.pipe_config, 0, 0, tiles.pipe_bits)) return std::nullopt;
    tiles.bank_bits = static_cast<unsigned>(field(macro, 6, 7)) + 1;
    tiles.bank_width = uint64_t{1} << field(macro, 0, 1);
    tiles.bank_height = uint64_t{1} << field(macro, 2, 3);
    const uint64_t aspect = uint64_t{1} << field(macro, 4, 5);
    tiles.columns = tiles.bank_width * tiles.pipes() * aspect;
    tiles.rows = tiles.bank_height * tiles.banks() / aspect;
    const uint64_t of_a_bank = tiles.tile_bytes * tiles.bank_width * tiles.bank_height;
    if (tiles.rows == 0 || of_a_bank < kLine) return std::nullopt;
  }
  tiles.row_macros = in_units(std::max(image.pitch, image.width), tiles.columns * kTile);
  tiles.slice_macros = tiles.row_macros * in_units(image.height, tiles.rows * kTile);
  return tiles;
}

Address macro_tiled(const TiledImage& image, const Tiling& chip, const Texel& texel) {
  const auto tiles = macro_tiles_of(image, chip);
  if (!tiles) return std::nullopt;
  const Point inside{texel.x % kTile, texel.y % kTile, 0};
  const uint64_t element =
      number_of(tile_of_gfx8(tiles->micro_tile_mode, image.element_bytes), "x", image.element_bytes, inside);
  const uint64_t column = texel.x / kTile, row = texel.y / kTile;
  const uint64_t macro_tile =
      texel.z * tiles->slice_macros + row / tiles->rows * tiles->row_macros + column / tiles->columns;
  if (tiles->single) return image.base + macro_tile * tiles->tile_bytes + element;

  // Offset within the part of the image in one pipe and bank.
  const uint64_t pipes = tiles->pipes(), banks = tiles->banks();
  const uint64_t tile = row % tiles->bank_height * tiles->bank_width + column / pipes % tiles->bank_width;
  const uint64_t offset_in_bank =
      (macro_tile * tiles->bank_width * tiles->bank_height + tile) * tiles->tile_bytes + element;

  // Low address bits rotate pipes and banks; slices rotate banks, too.
  const uint64_t pipe_rotation = image.base / kLine % pipes;
  const uint64_t bank_rotation = image.base / kLine / pipes + texel.z * (banks / 2 - 1);
  unsigned pipe_bits = 0;
  const uint64_t pipe = *pipe_of(tiles->pipe_config, column, row, pipe_bits);
  const uint64_t bank =
      bank_of(tiles->bank_bits, column / pipes / tiles->bank_width, row / tiles->bank_height);
  const uint64_t spread = (pipe ^ pipe_rotation) + ((bank ^ bank_rotation) % banks) * pipes;
  const uint64_t base = image.base - image.base % (kLine * pipes * banks);
  return base + offset_in_bank % kLine + (spread + offset_in_bank / kLine * pipes * banks) * kLine;
}

// gfx9 and later
// ---------------------------------------------------------------------------------------------------

enum Order : unsigned { kDepth, kStandard, kDisplay, kRotated };

struct Blocks {
  std::string_view tile, axes;
  unsigned bits = 0;  // log2 of the block size in bytes.
  bool thick = false, spread = false, pages = false;
  bool rotates = false;  // The low address bits are a rotation within the block, not part of the address.
  const RenderOrder* render = nullptr;
  unsigned pipes = 0, banks = 0, pipes_of_slices = 0;  // log2
  Point texels;                                        // Size of a block.
};

std::string_view tile_of(const TiledImage& image, Order order, bool thick) {
  const auto row = static_cast<unsigned>(std::countr_zero(image.element_bytes));
  const auto pick = [&](const std::array<std::string_view, 5>& rows) { return rows[row]; };
  if (thick && image.major >= 11)
    return pick({"x0x1z0y0y1z1x2z2", "x0z0y0x1z1y1z2", "x0y0x1z0y1z1", "x0y0z0x1z1", "x0z0y0z1"});
  if (image.major >= 11)
    return pick({"x0x1y0x2y1y2x3y3", "x0y0x1y1x2y2x3", "x0y0x1y1x2y2", "x0y0x1x2y1", "x0y0x1y1"});
  if (thick && image.major == 10)
    return pick({"x0x1z0y0z1y1x2z2", "x0z0y0z1y1x1z2", "x0y0z0y1x1z1", "x0z0y0x1z1", "z0y0x0z1"});
  if (thick && order == kStandard) {
    return pick(
        {"x0x1x2x3y0y1z0z1z2y2", "x0x1x2y0y1z0z1z2y2", "x0x1y0y1z0z1y2x2", "x0y0y1z0z1x1x2", "y0y1z0z1x0x1"});
  }
  if (thick) {
    return pick(
        {"x0y0x1y1z0z1x2z2y2x3", "x0y0x1y1z0z1z2y2x2", "x0y0x1z0y1z1y2x2", "x0y0z0x1z1y1x2", "x0y0z0z1y1x1"});
  }
  if (order == kDepth) return pick({"x0y0x1y1x2y2", "x0y0x1y1x2", "x0y0x1y1", "x0y0x1", ""});
  if (order == kStandard || image.volume)
    return pick({"x0x1x2x3y0y1y2y3", "x0x1x2y0y1y2x3", "x0x1y0y1y2x2", "x0y0y1x1x2", "y0y1x0x1"});
  // Display tiles for texels of four bytes differ between chips.
  const std::string_view of_words = image.major == 9  ? "x0x1y0x2y1y2"
                                    : image.minor < 3 ? "x0x1y0y1y2x2"
                                                      : "x0x1y0y1x2y2";
  return pick({"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", of_words, "x0y0x1x2y1", "x0y0x1y1"});
}

// Whether a chip with SW_MODE of 256 KiB has the mode.
bool exists_on_gfx11(unsigned kind, Order order, bool volume) {
  const bool is_extended = kind == 6 || kind == 7;  // 64 or 256 KiB, distributed over pipes
  if (order == kDepth || order == kRotated) return is_extended;
  if (kind == 3) return false;
  return volume ? order == kStandard && kind != 0 : order == kDisplay;
}

void measure(const TiledImage& image, Blocks& blocks) {
  const uint64_t mask = (uint64_t{1} << blocks.bits) - 1;
  const auto extent = [&](const Point& all) {
    const uint64_t number = number_of(blocks.tile, blocks.axes, image.element_bytes, all);
    return uint64_t{1} << std::popcount(number & mask);
  };
  constexpr uint64_t kAll = ~uint64_t{0};
  blocks.texels = {extent({kAll, 0, 0}), extent({0, kAll, 0}), extent({0, 0, kAll})};
}

// Flat blocks, then thick ones. Neither is distributed over pipes.
std::optional<Blocks> blocks_of_gfx12(const TiledImage& image) {
  static constexpr unsigned kBits[] = {0, 8, 12, 16, 18, 12, 16, 18};
  if (image.mode == 0 || image.mode >= std::size(kBits)) return std::nullopt;
  Blocks blocks;
  blocks.bits = kBits[image.mode];
  blocks.thick = image.mode >= 5;
  blocks.rotates = blocks.bits > 8;
  if (image.volume ? blocks.bits == 8 : blocks.thick) return std::nullopt;
  blocks.tile = tile_of(image, kDisplay, blocks.thick);
  blocks.axes = blocks.thick ? "xzy" : "yx";
  measure(image, blocks);
  return blocks;
}

std::optional<Blocks> blocks_of(const TiledImage& image, const Tiling& chip) {
  if (image.major == 12) return blocks_of_gfx12(image);
  static constexpr unsigned kBits[] = {8, 12, 16, 0, 16, 12, 16, 0};
  const unsigned kind = image.mode / 4 % 8;
  const auto order = static_cast<Order>(image.mode % 4);
  Blocks blocks;
  blocks.bits = kBits[kind];
  const bool gfx11 = image.major == 11, rendered = gfx11 && (order == kDepth || order == kRotated);
  if (gfx11 && kind == 7) blocks.bits = 18;
  blocks.thick = image.volume && order != kDisplay && !rendered;
  blocks.spread = blocks.rotates = kind >= 4;
  blocks.pages = kind == 4;
  const bool small = blocks.bits == 8;
  if (gfx11 ? !exists_on_gfx11(kind, order, image.volume) : blocks.bits == 0 || order == kRotated)
    return std::nullopt;
  if (image.major == 10 && (order == kDepth || (image.volume && !blocks.thick))) return std::nullopt;
  if (small && (image.volume || order == kDepth)) return std::nullopt;
  if (small && image.major == 9 && image.levels != 1) return std::nullopt;
  if (order == kDepth && !gfx11 && !blocks.thick && image.element_bytes == 16) return std::nullopt;
  blocks.tile = tile_of(image, order, blocks.thick);
  blocks.axes = blocks.thick ? "xzy" : "yx";
  measure(image, blocks);

  const unsigned room = blocks.bits - kInterleave;
  const auto config = [&](unsigned from, unsigned to) {
    return static_cast<unsigned>(field(chip.gb_addr_config, from, to));
  };
  if (image.major == 9) {
    blocks.pipes = std::min(config(0, 2) + config(19, 20), room);
    blocks.banks = std::min(config(12, 14), room - blocks.pipes);
    blocks.pipes_of_slices = blocks.pipes;
  } else {
    blocks.pipes = std::min(config(0, 2), room);
    blocks.pipes_of_slices =
        gfx11 || image.minor >= 3 ? std::min(blocks.pipes, std::max(config(8, 10), 1u)) : blocks.pipes;
  }
  if (rendered) {
    for (const RenderOrder& candidate : kRenderOrders) {
      if (candidate.pipes == config(0, 2) && candidate.pipes == config(8, 10) &&
          candidate.block_bits == blocks.bits && candidate.element_bytes == image.element_bytes)
        blocks.render = &candidate;
    }
    if (blocks.render == nullptr) return std::nullopt;
  }
  return blocks;
}

// The parities of `count` groups of bits, the first group's as the highest bit.
uint64_t mirrored(uint64_t bits, unsigned count, unsigned group = 1) {
  uint64_t result = 0;
  for (unsigned i = 0; i < count; ++i)
    result = result << 1 | parity(bits >> i * group & ((uint64_t{1} << group) - 1));
  return result;
}

// Distributes a block's bytes: pipe and bank depend on higher bits.
uint64_t spread_out(const Blocks& blocks, uint64_t number, uint64_t z) {
  const uint64_t block = uint64_t{1} << blocks.bits;
  if (!blocks.spread) return number % block;
  const uint64_t above = blocks.pages ? number % block : number;  // Pages are all alike.
  const unsigned group = blocks.thick ? 2 : 1, bank = kInterleave + blocks.pipes;
  uint64_t pipe = mirrored(above >> bank, blocks.pipes, group);
  uint64_t banks = mirrored(above >> (bank + blocks.banks), blocks.banks, group);
  if (!blocks.thick && !blocks.pages) {
    pipe ^= mirrored(z % (uint64_t{1} << blocks.pipes_of_slices), blocks.pipes);
    banks ^= mirrored(z >> blocks.pipes, blocks.banks);
  }
  return number % block ^ pipe << kInterleave ^ banks << bank;
}

uint64_t rendered(const RenderOrder& order, uint64_t number, const Point& at) {
  uint64_t units = 0;
  const auto invert = [&units](const auto& masks, uint64_t coordinate) {
    for (const uint16_t mask : masks) {
      if (coordinate % 2 != 0) units ^= mask;
      coordinate /= 2;
    }
  };
  invert(order.x, at.x / 4);
  invert(order.y, at.y / 4);
  invert(order.z, at.z);
  return number % kLine + units * kLine;
}

// Location of a mip level among the blocks of its image.
struct Place {
  uint64_t first_block = 0, row_blocks = 0, slice_blocks = 0;
  bool in_tail = false;
  uint64_t tail_number = 0;  // In units of 256 bytes, in the block that the last levels share.
};

// Location of a level in the tail, counted from the smallest possible one.
uint64_t tail_number(uint64_t from_last) {
  return from_last > 6 ? uint64_t{1} << (from_last - 4) : from_last;
}

Point tail_of(const Blocks& blocks) {
  Point most = blocks.texels;
  (blocks.thick && blocks.bits % 3 == 0 ? most.y : most.x) /= 2;
  return most;
}

// gfx9: the first level, the second next to it along its shorter side, and so on.
std::optional<Place> packed_place(const TiledImage& image, const Blocks& blocks, uint64_t wanted_level) {
  const Point first{in_units(image.width, blocks.texels.x), in_units(image.height, blocks.texels.y),
                    in_units(image.planes, blocks.texels.z)};
  const bool flat = !blocks.thick;
  const char longest = first.x >= first.y && (flat || first.x >= first.z)  ? 'x'
                       : first.x < first.y && (flat || first.y >= first.z) ? 'y'
                                                                           : 'z';
  const Point most = tail_of(blocks);
  const bool all_in_tail =
      image.width <= most.x && image.height <= most.y && (flat || image.planes <= most.z);
  uint64_t tail_level = all_in_tail ? 0 : image.levels;
  Point at, wanted_place, size = first;
  for (uint64_t level = 1; level < image.levels && tail_level == image.levels; ++level) {
    char along = longest;
    if (level == 1 || level == 3) along = longest == 'y' ? 'x' : 'y';
    (along == 'x' ? at.x : along == 'y' ? at.y : at.z) += size[along];
    if (level <= wanted_level) wanted_place = at;
    const bool small = flat                   ? size.x == 1 && size.y <= 2
                       : blocks.bits % 3 == 0 ? size.x <= 2 && size.y == 1 && size.z <= 2
                                              : size.x == 1 && size.y <= 2 && size.z <= 2;
    if (small) tail_level = level;
    size = {in_units(size.x, 2), in_units(size.y, 2), in_units(size.z, 2)};
  }
  const uint64_t room = blocks.bits - 4;
  if (image.levels - tail_level > room) return std::nullopt;
  Point whole = first;
  if (!all_in_tail) {
    uint64_t& side = longest == 'y' ? whole.x : whole.y;
    uint64_t second = in_units(side, 2);
    if (second == 1 && std::min(tail_level, image.levels - 1) > 2) second = 2;
    side += second;
  }
  Place place;
  place.row_blocks = whole.x;
  place.slice_blocks = whole.x * whole.y;
  place.first_block = (wanted_place.z * whole.y + wanted_place.y) * whole.x + wanted_place.x;
  place.in_tail = wanted_level >= tail_level;
  if (place.in_tail) place.tail_number = tail_number(room - 1 - (wanted_level - tail_level));
  return place;
}

// gfx10: a slice starts with the tail and ends with the first level.
Place stacked_place(const TiledImage& image, const Blocks& blocks, uint64_t wanted_level) {
  const unsigned room = blocks.thick ? blocks.bits - (blocks.bits - kInterleave) / 3 : blocks.bits;
  const uint64_t most_levels = blocks.bits == 8 ? 0 : room <= 11 ? 1 + (1u << (room - 9)) : room - 4;
  const Point most = tail_of(blocks);
  uint64_t tail_level = 0;
  for (; tail_level < image.levels; ++tail_level) {
    if (halved(image.width, tail_level) <= most.x && halved(image.height, tail_level) <= most.y &&
        image.levels - tail_level <= most_levels) {
      break;
    }
  }
  Place place;
  place.in_tail = wanted_level >= tail_level;
  if (place.in_tail) place.tail_number = tail_number(most_levels - 1 - (wanted_level - tail_level));
  uint64_t end = tail_level < image.levels ? 1 : 0;
  for (uint64_t level = tail_level; level-- > 0;) {
    const uint64_t columns = in_units(halved(image.width, level), blocks.texels.x);
    if (level == wanted_level) place.first_block = end, place.row_blocks = columns;
    end += columns * in_units(halved(image.height, level), blocks.texels.y);
  }
  place.slice_blocks = end;
  return place;
}

std::optional<Place> place_of(const TiledImage& image, const Blocks& blocks, uint64_t level) {
  if (image.levels != 1)
    return image.major == 9 ? packed_place(image, blocks, level) : stacked_place(image, blocks, level);
  const uint64_t pitch = image.major == 9 ? std::max(image.pitch, image.width) : image.width;
  const uint64_t columns = in_units(pitch, blocks.texels.x);
  return Place{0, columns, columns * in_units(image.height, blocks.texels.y), false, 0};
}

Address block_tiled(const TiledImage& image, const Tiling& chip, const Texel& texel) {
  const auto blocks = blocks_of(image, chip);
  if (!blocks) return std::nullopt;
  const auto place = place_of(image, *blocks, texel.level);
  if (!place) return std::nullopt;

  Point at{texel.x, texel.y, texel.z};
  if (place->in_tail && image.major >= 10) {
    // The level starts at a tile whose number interleaves the bits of row and column. It has 256 bytes, in
    // thick blocks of gfx12 4 KiB.
    const unsigned tile_bits = image.major == 12 && blocks->thick ? 12 : kInterleave;
    const auto tiles = [&](const Point& all) {
      const uint64_t number = number_of(blocks->tile, blocks->axes, image.element_bytes, all);
      return uint64_t{1} << std::popcount(number % (uint64_t{1} << tile_bits));
    };
    const uint64_t width = tiles({~uint64_t{0}, 0, 0}), height = tiles({0, ~uint64_t{0}, 0});
    for (unsigned bit = 0; bit < 6; ++bit) {
      at.y += (place->tail_number >> 2 * bit & 1) * height << bit;
      at.x += (place->tail_number >> (2 * bit + 1) & 1) * width << bit;
    }
  }
  const uint64_t number = number_of(blocks->tile, blocks->axes, image.element_bytes, at);
  uint64_t inside = blocks->render != nullptr ? rendered(*blocks->render, number, at)
                                              : spread_out(*blocks, number, texel.z);
  if (place->in_tail && image.major == 9) inside ^= place->tail_number << kInterleave;
  const uint64_t block_bytes = uint64_t{1} << blocks->bits;
  const uint64_t rotation = blocks->rotates ? image.base % block_bytes : 0;
  const uint64_t block = place->slice_blocks * (texel.z / blocks->texels.z) + place->first_block +
                         place->row_blocks * (texel.y / blocks->texels.y) + texel.x / blocks->texels.x;
  return image.base - rotation + block * block_bytes + (inside ^ rotation);
}

}  // namespace

std::optional<uint64_t> tiled_address(const TiledImage& image, const Tiling& chip, const Texel& texel) {
  return image.major == 8 ? macro_tiled(image, chip, texel) : block_tiled(image, chip, texel);
}

std::optional<uint64_t> tiled_bytes(const TiledImage& image, const Tiling& chip) {
  if (image.major == 8) {
    const auto tiles = macro_tiles_of(image, chip);
    if (!tiles) return std::nullopt;
    return tiles->slice_macros * tiles->columns * tiles->rows * tiles->tile_bytes * image.planes;
  }
  const auto blocks = blocks_of(image, chip);
  if (!blocks) return std::nullopt;
  const auto place = place_of(image, *blocks, 0);
  if (!place) return std::nullopt;
  return place->slice_blocks * in_units(image.planes, blocks->texels.z) << blocks->bits;
}

}  // namespace rigel::vgpu::exec::reference
