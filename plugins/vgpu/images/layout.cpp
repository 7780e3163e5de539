#include "plugins/vgpu/images/layout.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace rigel::vgpu::images {
namespace {

enum AxisName : uint8_t { kX, kY, kZ };

constexpr uint32_t bits_of(uint32_t value, unsigned first, unsigned count) {
  return value >> first & ((1u << count) - 1);
}

constexpr unsigned log2_of(uint32_t power_of_two) {
  return static_cast<unsigned>(std::countr_zero(power_of_two));
}

constexpr uint32_t blocks(uint32_t texels, unsigned block_bits) {
  return (texels + (1u << block_bits) - 1) >> block_bits;
}

/// How texels follow each other in the smallest tiles: the coordinates' bits from the offset's lowest on, by log2
/// of the element's bytes.
using Order = std::array<std::string_view, 5>;

constexpr Order kStandard = {"x0x1x2x3y0y1y2y3", "x0x1x2y0y1y2x3", "x0x1y0y1y2x2", "x0y0y1x1x2", "y0y1x0x1"};
constexpr Order kDisplay9 = {"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", "x0x1y0x2y1y2", "x0y0x1x2y1", "x0y0x1y1"};
constexpr Order kDisplay10 = {"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", "x0x1y0y1y2x2", "x0y0x1x2y1", "x0y0x1y1"};
constexpr Order kDisplay103 = {"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", "x0x1y0y1x2y2", "x0y0x1x2y1",
                               "x0y0x1y1"};
constexpr Order kDepth9 = {"x0y0x1y1x2y2", "x0y0x1y1x2", "x0y0x1y1", "x0y0x1", ""};
constexpr Order kThickStandard9 = {"x0x1x2x3y0y1z0z1z2y2", "x0x1x2y0y1z0z1z2y2", "x0x1y0y1z0z1y2x2",
                                   "x0y0y1z0z1x1x2", "y0y1z0z1x0x1"};
constexpr Order kThickDepth9 = {"x0y0x1y1z0z1x2z2y2x3", "x0y0x1y1z0z1z2y2x2", "x0y0x1z0y1z1y2x2",
                                "x0y0z0x1z1y1x2", "x0y0z0z1y1x1"};
constexpr Order kThickStandard10 = {"x0x1z0y0z1y1x2z2", "x0z0y0z1y1x1z2", "x0y0z0y1x1z1", "x0z0y0x1z1",
                                    "z0y0x0z1"};
constexpr Order kDisplay8 = {"x0x1x2y1y0y2", "x0x1x2y0y1y2", "x0x1y0x2y1y2", "x0y0x1x2y1y2", "y0x0x1x2y1y2"};
constexpr Order kThin8 = {"x0y0x1y1x2y2", "x0y0x1y1x2y2", "x0y0x1y1x2y2", "x0y0x1y1x2y2", "x0y0x1y1x2y2"};

/// Bits of coordinates one after the other, from that of the offset's lowest bit on.
class Chain {
 public:
  struct Bit {
    AxisName axis;
    uint8_t index;
  };

  Chain(std::string_view order, unsigned first) : first_(first), size_(first) {
    for (; !order.empty(); order.remove_prefix(2)) {
      const auto axis = static_cast<AxisName>(order[0] - 'x');
      bits_[size_++] = {axis, static_cast<uint8_t>(order[1] - '0')};
      ++next_[axis];
    }
  }

  unsigned size() const { return size_; }
  /// The next bit of a coordinate follows.
  void append(AxisName axis) { bits_[size_++] = {axis, next_[axis]++}; }

  /// Nothing for the bytes of an element.
  std::optional<Bit> operator[](unsigned position) const {
    if (position < first_) return std::nullopt;
    return bits_[position];
  }
  /// How many bits of a coordinate there are below a position.
  uint8_t count(AxisName axis, unsigned end) const {
    const auto first = bits_.begin() + first_;
    return static_cast<uint8_t>(
        std::count_if(first, bits_.begin() + end, [&](const Bit& bit) { return bit.axis == axis; }));
  }

 private:
  static constexpr unsigned kMost = 40;
  std::array<Bit, kMost> bits_{};
  std::array<uint8_t, 3> next_{};
  unsigned first_, size_;
};

#define RIGEL_MODES(kind)                                                                      \
  "tiled image (SW_" kind "_Z)", "tiled image (SW_" kind "_S)", "tiled image (SW_" kind "_D)", \
      "tiled image (SW_" kind "_R)"
#define RIGEL_MODES_WITH(kind, suffix)                                                \
  "tiled image (SW_" kind "_Z_" suffix ")", "tiled image (SW_" kind "_S_" suffix ")", \
      "tiled image (SW_" kind "_D_" suffix ")", "tiled image (SW_" kind "_R_" suffix ")"
constexpr std::string_view kUnknownMode[32] = {
    RIGEL_MODES("256B"),           RIGEL_MODES("4KB"),
    RIGEL_MODES("64KB"),           RIGEL_MODES("VAR"),
    RIGEL_MODES_WITH("64KB", "T"), RIGEL_MODES_WITH("4KB", "X"),
    RIGEL_MODES_WITH("64KB", "X"), RIGEL_MODES_WITH("VAR", "X"),
};
#undef RIGEL_MODES
#undef RIGEL_MODES_WITH

constexpr unsigned kInterleave = 8;  // log2 of the bytes that follow each other in one pipe

}  // namespace

/// SW_MODE of gfx9 and gfx10.
class BlockBuilder {
 public:
  explicit BlockBuilder(const Surface& surface) : surface_(surface) {}

  tl::expected<TiledLayout, std::string_view> build() {
    const std::string_view unknown = kUnknownMode[surface_.swizzle_mode & 31];
    const auto order = find_order();
    if (!order) return tl::unexpected(unknown);
    if (surface_.levels != 1) return tl::unexpected(std::string_view("mip levels of a tiled image"));
    read_config();
    TiledLayout layout;
    layout.block_bits_ = kBlockBits[kind()];
    fill_equation(layout, *order);
    layout.base_ = surface_.base;
    if (has_xor()) {
      layout.base_flips_ = static_cast<uint32_t>(surface_.base) & ((1u << layout.block_bits_) - 1);
      layout.base_ -= layout.base_flips_;
    }
    const uint32_t pitch = is_gfx10() ? surface_.width : std::max(surface_.pitch, surface_.width);
    layout.levels_[0].row_blocks = blocks(pitch, layout.x_.block_bits);
    layout.slice_bytes_ =
        uint64_t{layout.levels_[0].row_blocks} * blocks(surface_.height, layout.y_.block_bits)
        << layout.block_bits_;
    layout.slices_ = blocks(surface_.planes, layout.z_.block_bits);
    return layout;
  }

 private:
  /// SW_MODE counts kinds of blocks, and four orders of each.
  enum Kind : uint8_t { k256B, k4KB, k64KB, kVar, k64KB_T, k4KB_X, k64KB_X, kVar_X };
  enum OrderName : uint8_t { kOrderZ, kOrderS, kOrderD, kOrderR };
  static constexpr uint8_t kBlockBits[] = {8, 12, 16, 0, 16, 12, 16, 0};

  Kind kind() const { return static_cast<Kind>(surface_.swizzle_mode >> 2); }
  OrderName order() const { return static_cast<OrderName>(surface_.swizzle_mode & 3); }
  bool is_gfx10() const { return surface_.generation != Generation::kGfx9; }
  bool has_xor() const { return kind() >= k64KB_T; }

  /// Volumes have thick tiles in the standard order and, on gfx9, in that of depth.
  bool is_thick() const { return surface_.volume && (order() == kOrderS || order() == kOrderZ); }

  std::optional<std::string_view> find_order() const {
    const bool no_block = kBlockBits[kind()] == 0 || order() == kOrderR;
    if (no_block || (kind() == k256B && (surface_.volume || order() == kOrderZ))) return std::nullopt;
    if (is_gfx10() && (order() == kOrderZ || (order() == kOrderD && surface_.volume))) return std::nullopt;
    const unsigned element = log2_of(surface_.element_bytes);
    if (!is_thick() && order() == kOrderZ && element == 4) return std::nullopt;
    return (*find_table())[element];
  }

  const Order* find_table() const {
    if (is_thick()) {
      if (is_gfx10()) return &kThickStandard10;
      return order() == kOrderS ? &kThickStandard9 : &kThickDepth9;
    }
    if (order() == kOrderZ) return &kDepth9;
    // gfx9's volumes have one thin order.
    if (order() == kOrderS || surface_.volume) return &kStandard;
    if (!is_gfx10()) return &kDisplay9;
    return surface_.generation == Generation::kGfx10_1 ? &kDisplay10 : &kDisplay103;
  }

  void read_config() {
    const uint32_t config = surface_.tiling->gb_addr_config;
    const unsigned room = kBlockBits[kind()] - kInterleave;
    pipe_bits_ = bits_of(config, 0, 3);
    if (is_gfx10()) {
      pipe_bits_ = std::min(pipe_bits_, room);
      slice_bits_ = pipe_bits_;
      // gfx10.3 spreads slices over as many pipes as it has packers.
      if (surface_.generation == Generation::kGfx10_3)
        slice_bits_ = std::min(slice_bits_, std::max(bits_of(config, 8, 3), 1u));
    } else {
      pipe_bits_ = std::min(pipe_bits_ + bits_of(config, 19, 2), room);
      bank_bits_ = std::min(bits_of(config, 12, 3), room - pipe_bits_);
      slice_bits_ = pipe_bits_;
    }
  }

  void fill_equation(TiledLayout& layout, std::string_view order) const {
    Chain chain(order, log2_of(surface_.element_bytes));
    const unsigned end = layout.block_bits_;
    const unsigned dimensions = is_thick() ? 3 : 2;
    // Above the smallest tiles, coordinates take turns.
    constexpr AxisName kThin[] = {kY, kX}, kThick[] = {kX, kZ, kY};
    const unsigned most =
        std::max(end, kInterleave + pipe_bits_ + dimensions * std::max(pipe_bits_, bank_bits_));
    while (chain.size() < most) chain.append(is_thick() ? kThick[chain.size() % 3] : kThin[chain.size() % 2]);

    TiledLayout::Axis* const axes[] = {&layout.x_, &layout.y_, &layout.z_};
    const auto flip = [&](unsigned position, unsigned from) {
      if (const auto bit = chain[from]) axes[bit->axis]->flips[bit->index] ^= 1u << position;
    };
    for (unsigned position = 0; position < end; ++position) flip(position, position);
    for (const AxisName axis : {kX, kY, kZ}) axes[axis]->block_bits = chain.count(axis, end);
    if (!has_xor()) return;
    fold(flip, kInterleave, pipe_bits_, dimensions, end);
    fold(flip, kInterleave + pipe_bits_, bank_bits_, dimensions, end);
    if (is_thick() || is_texture()) return;
    // Slices of thin tiles begin at different pipes, then banks.
    for (unsigned bit = 0; bit < slice_bits_; ++bit)
      layout.z_.flips[bit] ^= 1u << (kInterleave + pipe_bits_ - 1 - bit);
    for (unsigned bit = 0; bit < bank_bits_; ++bit)
      layout.z_.flips[pipe_bits_ + bit] ^= 1u << (kInterleave + pipe_bits_ + bank_bits_ - 1 - bit);
  }

  /// Pipes, and banks, are inverted by the bits above them, in the reverse order.
  template <typename Flip>
  void fold(const Flip& flip, unsigned first, unsigned count, unsigned dimensions, unsigned end) const {
    for (unsigned above = 0; above < (dimensions - 1) * count; ++above) {
      const unsigned from = first + count + above;
      if (is_texture() && from >= end) continue;
      flip(first + count - 1 - above / (dimensions - 1), from);
    }
  }

  /// Blocks of the kind T are all alike, so that pages can be had one by one.
  bool is_texture() const { return kind() == k64KB_T; }

  const Surface& surface_;
  unsigned pipe_bits_ = 0, bank_bits_ = 0, slice_bits_ = 0;
};

/// TILING_INDEX of gfx8.
class MacroTileBuilder {
 public:
  explicit MacroTileBuilder(const Surface& surface)
      : surface_(surface), mode_(surface.tiling->tile_modes[surface.swizzle_mode & 31]) {}

  tl::expected<TiledLayout, std::string_view> build() {
    constexpr uint32_t k1DThin = 2, k2DThin = 4;
    const uint32_t array_mode = bits_of(mode_, 2, 4);
    const Order* const order = find_order();
    if (order == nullptr || (array_mode != k1DThin && array_mode != k2DThin)) return tl::unexpected(kUnknown);
    if (surface_.levels != 1) return tl::unexpected(std::string_view("mip levels of a tiled image"));
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
  static constexpr std::string_view kUnknown =
      "tiled image (of another GB_TILE_MODE than 1D or 2D_TILED_THIN1)";
  static constexpr unsigned kTileBits = 3;  // 8 by 8 texels

  /// Which bits of a tile's number in its row and column choose a pipe.
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
  /// Likewise banks, by log2 of their number, of what is counted in their tiles.
  static constexpr struct {
    uint8_t x[4], y[4];
  } kBanks[] = {{}, {{1}, {1}}, {{1, 2}, {2, 1}}, {{1, 2, 4}, {4, 6, 1}}, {{1, 2, 4, 8}, {8, 12, 2, 1}}};

  unsigned element_bits() const { return log2_of(surface_.element_bytes); }

  const Order* find_order() const {
    switch (bits_of(mode_, 22, 3)) {  // MICRO_TILE_MODE_NEW
      case 0:
        return &kDisplay8;
      case 1:
      case 2:  // of depth
        return &kThin8;
      default:
        return nullptr;
    }
  }

  /// A tile's bytes: those that do not follow each other in one pipe come above pipes and banks.
  static void place_tile(TiledLayout& layout, const Chain& tile, unsigned pipes_and_banks) {
    for (unsigned position = 0; position < tile.size(); ++position) {
      const auto bit = tile[position];
      if (!bit) continue;
      auto& axis = bit->axis == kX ? layout.x_ : layout.y_;
      axis.flips[bit->index] |= 1u << (position < kInterleave ? position : position + pipes_and_banks);
    }
  }

  bool fill_macro_tile(TiledLayout& layout, Chain tile) const {
    const uint32_t config = surface_.tiling->gb_addr_config;
    const uint32_t tile_bytes = surface_.element_bytes << (2 * kTileBits);
    const uint32_t split = std::min(1024u << bits_of(config, 28, 2),
                                    bits_of(mode_, 22, 3) == 2 ? 64u << bits_of(mode_, 11, 3) : UINT32_MAX);
    const uint32_t pipe_code = bits_of(mode_, 6, 5);
    const auto* const pipes = std::find_if(std::begin(kPipeConfigs), std::end(kPipeConfigs),
                                           [&](const PipeConfig& row) { return row.code == pipe_code; });
    if (tile_bytes > split || pipes == std::end(kPipeConfigs)) return false;
    const uint32_t macro = surface_.tiling->macro_tile_modes[element_bits()];
    const unsigned width = bits_of(macro, 0, 2), height = bits_of(macro, 2, 2), aspect = bits_of(macro, 4, 2);
    const unsigned bank_bits = bits_of(macro, 6, 2) + 1;

    // A bank's tiles lie in rows; the rest of a macro tile is spread over pipes and banks.
    const unsigned column = kTileBits + pipes->bits, bank_column = column + width,
                   bank_row = kTileBits + height;
    const unsigned in_bank = tile.size() + width + height;
    if (in_bank < kInterleave || aspect > height + bank_bits) return false;
    const unsigned spread = pipes->bits + bank_bits;
    const auto place = [&](TiledLayout::Axis& axis, unsigned index, unsigned position) {
      axis.flips[index] ^= 1u << (position < kInterleave ? position : position + spread);
    };
    place_tile(layout, tile, spread);
    for (unsigned bit = 0; bit < width; ++bit) place(layout.x_, column + bit, tile.size() + bit);
    for (unsigned bit = 0; bit < height; ++bit) place(layout.y_, kTileBits + bit, tile.size() + width + bit);
    const auto choose = [](TiledLayout::Axis& axis, unsigned first, uint8_t mask, unsigned position) {
      for (unsigned bit = 0; bit < 4; ++bit)
        if ((mask >> bit & 1) != 0) axis.flips[first + bit] ^= 1u << position;
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
    layout.turn_ = {swizzle >> (kInterleave + pipes->bits), (1u << bank_bits) / 2 - 1, (1u << bank_bits) - 1,
                    kInterleave + pipes->bits};
    return true;
  }

  const Surface& surface_;
  const uint32_t mode_;
};

tl::expected<TiledLayout, std::string_view> TiledLayout::of(const Surface& surface) {
  if (surface.tiling == nullptr) return tl::unexpected(std::string_view("tiled image of an unknown board"));
  if (surface.samples != 1) return tl::unexpected(std::string_view("tiled image of several samples a texel"));
  if (!std::has_single_bit(surface.element_bytes) || surface.element_bytes > 16)
    return tl::unexpected(std::string_view("tiled image of texels that are no power of two of bytes"));
  if (surface.generation == Generation::kGfx8) return MacroTileBuilder(surface).build();
  return BlockBuilder(surface).build();
}

uint64_t TiledLayout::address(const TexelPlace& place) const {
  const auto flips = [](const Axis& axis, uint32_t coordinate) {
    uint32_t all = 0;
    for (unsigned bit = 0; coordinate != 0; ++bit, coordinate >>= 1)
      if ((coordinate & 1) != 0) all ^= axis.flips[bit & 15];
    return all;
  };
  const Level& level = levels_[place.level];
  const uint64_t block = uint64_t{place.y >> y_.block_bits} * level.row_blocks + (place.x >> x_.block_bits);
  const uint32_t turned = ((turn_.first + turn_.step * place.z) & turn_.mask) << turn_.shift;
  const uint32_t offset =
      flips(x_, place.x) ^ flips(y_, place.y) ^ flips(z_, place.z) ^ level.flips ^ base_flips_ ^ turned;
  return base_ + slice_bytes_ * (place.z >> z_.block_bits) + level.start + (block << block_bits_) + offset;
}

uint64_t TiledLayout::bytes() const {
  return slice_bytes_ * slices_;
}

}  // namespace rigel::vgpu::images
