// Layouts of gfx9 and later. SW_MODE selects the block size and the order of texels within a block.
#include "plugins/vgpu/images/layout_builders.hpp"

namespace rigel::vgpu::images {
namespace {

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
constexpr Order kDisplay11 = {"x0x1y0x2y1y2x3y3", "x0y0x1y1x2y2x3", "x0y0x1y1x2y2", "x0y0x1x2y1", "x0y0x1y1"};
constexpr Order kThickStandard11 = {"x0x1z0y0y1z1x2z2", "x0z0y0x1z1y1z2", "x0y0x1z0y1z1", "x0y0z0x1z1",
                                    "x0z0y0z1"};

// gfx11's orders R and Z distribute bits over pipes by no simple rule. Each word lists the coordinate bits
// that invert a bit of the offset, from the pipe interleave on.
struct RenderPattern {
  uint8_t pipes;  ///< log2 of the number of pipes and of packers, which is equal on all boards.
  Order of_64kb, of_256kb;
};
constexpr RenderPattern kRenderPatterns[] = {
    {
        2,
        {"x6y4y6 x4y4z1 x5 x6 x9y6 x7y8 x8y7 x5y5z0", "x6y4y6 x4y4z1 y3 x5 x6y8 x8y6 x7y7 x5y5z0",
         "x6y4y6 x4y4z1 x3 y3 x5y8 x6y7 x7y6 x5y5z0", "x6y4y6 x4y4z1 y2 x3 x7y3 x5y7 x6y6 x5y5z0",
         "x6y4y6 x4y4z1 x2 y2 x3y7 x6y3 x5y6 x5y5z0"},
        {"x6y4y6 x4y4z1 x5 x6 x10y6 x7y9 x9y7 x8y8 y8 x5y5z0",
         "x6y4y6 x4y4z1 y3 x5 x6y9 x9y6 x7y8 x8y7 x8 x5y5z0",
         "x6y4y6 x4y4z1 x3 y3 x5y9 x6y8 x8y6 x7y7 y7 x5y5z0",
         "x6y4y6 x4y4z1 y2 x3 x8y3 x5y8 x6y7 x7y6 x7 x5y5z0",
         "x6y4y6 x4y4z1 x2 y2 x3y8 x7y3 x5y7 x6y6 y6 x5y5z0"},
    },
    {
        4,
        {"x8y4y8 x4y4z1 x7y5z0 x5y7 x6 x7 x8y7 x6y6", "x8y4y8 x4y4z1 x7y5z0 x5y7 y3 x6 x7y7 x6y6",
         "x8y4y8 x4y4z1 x7y5z0 x5y7 x3 y3 x6y7 x6y6", "x8y4y8 x4y4z3 x7y5z2 x5y7z1 y2 x3 x7y3 x6y6z0",
         "x8y4y8 x4y4z2 x7y5z1 x5y7z0 x2 x3 x6y3 x6y2y6"},
        {"x8y4y8 x4y4z1 x7y5z0 x5y7 x6 x7 x10y7 x8y9 x9y8 x6y6",
         "x8y4y8 x4y4z1 x7y5z0 x5y7 y3 x6 x7y9 x9y7 x8y8 x6y6",
         "x8y4y8 x4y4z1 x7y5z0 x5y7 x3 y3 x6y9 x7y8 x8y7 x6y6",
         "x8y4y8 x4y4z3 x7y5z2 x5y7z1 y2 x3 x8y3 x6y8 x7y7 x6y6z0",
         "x8y4y8 x4y4z3 x7y5z2 x5y7z1 x2 y2 x3y8 x7y3 x6y7 x6y6z0"},
    },
    {
        5,
        {"x9y4y9 x4y4z1 x8y5z0 x5y8 x7y6 x7 y7 x6y7", "x9y4y9 x4y4z1 x8y5z0 x5y8 x7y6 y3 x7 x6y7",
         "x9y4y9 x4y4z1 x8y5z0 x5y8 x7y6 x3 y3 x6y7", "x9y4y9 x4y4z3 x8y5z2 x5y8z1 x7y2y6 x3 y3 x6y7z0",
         "x9y4y9 x4y4z2 x8y5z1 x5y8z0 x7y2y6 x3 y3 x2x6y7"},
        {"x9y4y9 x4y4z1 x8y5z0 x5y8 x7y6 x7 y7 x8y9 x9y8 x6y7",
         "x9y4y9 x4y4z1 x8y5z0 x5y8 x7y6 y3 x7 x8y8 x9y7 x6y7",
         "x9y4y9 x4y4z1 x8y5z0 x5y8 x7y6 x3 y3 x7y8 x8y7 x6y7",
         "x9y4y9 x4y4z4 x8y5z3 x5y8z2 x7y6z1 y2 x3 x8y3 x7y7 x6y7z0",
         "x9y4y9 x4y4z4 x8y5z3 x5y8z2 x7y6z1 x2 y2 x7y3 x3y7 x6y7z0"},
    },
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
constexpr std::string_view kUnknown256KbMode[4] = {RIGEL_MODES_WITH("256KB", "X")};
#undef RIGEL_MODES
#undef RIGEL_MODES_WITH

}  // namespace

class BlockBuilder {
 public:
  explicit BlockBuilder(const Surface& surface) : surface_(surface) {}

  LayoutOr build() {
    if (is_gfx12() && surface_.swizzle_mode - 1u >= std::size(kModesOfGfx12))
      return tl::unexpected(std::string_view("tiled image: reserved SW_MODE"));
    const unsigned mode = this->mode() & 31;
    const std::string_view unknown = has_256kb_blocks() ? kUnknown256KbMode[mode & 3] : kUnknownMode[mode];
    const auto order = find_order();
    if (!order) return tl::unexpected(unknown);
    if (bits_of(surface_.tiling->gb_addr_config, 3, 3) != 0) return tl::unexpected(kOtherInterleave);
    if (surface_.levels != 1 && !has_levels())
      return tl::unexpected(std::string_view("tiled image: mip levels in 256-byte tiles"));
    read_config();
    TiledLayout layout;
    layout.block_bits_ = static_cast<uint8_t>(block_bits());
    const Chain chain = fill_equation(layout, *order);
    if (has_render_order() && !fill_render_pattern(layout))
      return tl::unexpected(std::string_view("tiled image: order R or Z with these pipes and packers"));
    layout.base_ = surface_.base;
    if (has_base_flips()) {
      layout.base_flips_ = static_cast<uint32_t>(surface_.base) & ((1u << layout.block_bits_) - 1);
      layout.base_ -= layout.base_flips_;
    }
    layout.slices_ = blocks(surface_.planes, layout.z_.block_bits);
    if (surface_.levels == 1) {
      const uint32_t pitch = is_rdna() ? surface_.width : std::max(surface_.pitch, surface_.width);
      layout.levels_[0].row_blocks = blocks(pitch, layout.x_.block_bits);
      layout.slice_bytes_ =
          uint64_t{layout.levels_[0].row_blocks} * blocks(surface_.height, layout.y_.block_bits)
          << layout.block_bits_;
    } else if (is_rdna()) {
      stack_levels(layout, chain);
    } else if (!pack_levels(layout)) {
      return tl::unexpected(std::string_view("tiled image: mip levels exceed their tail"));
    }
    return layout;
  }

 private:
  /// SW_MODE is the kind of block times four plus the order.
  enum Kind : uint8_t { k256B, k4KB, k64KB, kVar, k64KB_T, k4KB_X, k64KB_X, kVar_X };
  enum OrderName : uint8_t { kOrderZ, kOrderS, kOrderD, kOrderR };
  static constexpr uint8_t kBlockBits[] = {8, 12, 16, 0, 16, 12, 16, 0};
  static constexpr unsigned k256KbBits = 18;
  /// Modes of gfx12, whose blocks are not distributed over pipes, as modes of the same order on gfx11:
  /// 256B_2D, 4KB_2D, 64KB_2D, 256KB_2D, 4KB_3D, 64KB_3D, 256KB_3D.
  static constexpr uint8_t kModesOfGfx12[] = {2, 6, 10, 30, 5, 9, 29};

  uint8_t mode() const {
    return is_gfx12() ? kModesOfGfx12[surface_.swizzle_mode - 1] : surface_.swizzle_mode;
  }
  Kind kind() const { return static_cast<Kind>(mode() >> 2 & 7); }
  OrderName order() const { return static_cast<OrderName>(mode() & 3); }
  unsigned block_bits() const { return has_256kb_blocks() ? k256KbBits : kBlockBits[kind()]; }
  bool is_rdna() const { return images::is_rdna(surface_.generation); }
  bool is_gfx11() const { return surface_.generation == Generation::kGfx11; }
  bool is_gfx12() const { return surface_.generation == Generation::kGfx12; }
  bool has_256kb_blocks() const { return (is_gfx11() || is_gfx12()) && kind() == kVar_X; }
  bool has_xor() const { return !is_gfx12() && kind() >= k64KB_T; }
  /// Low bits of the base invert bits of the offset.
  bool has_base_flips() const { return has_xor() || (is_gfx12() && kind() != k256B); }

  /// Volumes have thick tiles in standard order and, on gfx9, in depth order.
  bool is_thick() const {
    return surface_.volume && (order() == kOrderS || (order() == kOrderZ && !is_rdna()));
  }
  bool has_render_order() const { return is_gfx11() && (order() == kOrderR || order() == kOrderZ); }

  bool is_known() const {
    if (block_bits() == 0) return false;
    if (is_gfx12()) return order() == kOrderS ? surface_.volume : !surface_.volume || kind() != k256B;
    if (is_gfx11()) {
      if (has_render_order()) return kind() == k64KB_X || kind() == kVar_X;
      return order() == (surface_.volume ? kOrderS : kOrderD) && (kind() != k256B || !surface_.volume);
    }
    if (order() == kOrderR || (kind() == k256B && (surface_.volume || order() == kOrderZ))) return false;
    return !is_rdna() || !(order() == kOrderZ || (order() == kOrderD && surface_.volume));
  }

  std::optional<std::string_view> find_order() const {
    if (!is_known()) return std::nullopt;
    const unsigned element = log2_of(surface_.element_bytes);
    if (!is_rdna() && !is_thick() && order() == kOrderZ && element == 4) return std::nullopt;
    return (*find_table())[element];
  }

  const Order* find_table() const {
    if (is_gfx11() || is_gfx12()) return is_thick() ? &kThickStandard11 : &kDisplay11;
    if (is_thick()) {
      if (is_rdna()) return &kThickStandard10;
      return order() == kOrderS ? &kThickStandard9 : &kThickDepth9;
    }
    if (order() == kOrderZ) return &kDepth9;
    // Thin volumes of gfx9 have the standard order in each mode.
    if (order() == kOrderS || surface_.volume) return &kStandard;
    if (!is_rdna()) return &kDisplay9;
    return surface_.generation == Generation::kGfx10_1 ? &kDisplay10 : &kDisplay103;
  }

  void read_config() {
    if (is_gfx12()) return;
    const uint32_t config = surface_.tiling->gb_addr_config;
    const unsigned room = block_bits() - kInterleave;
    pipe_bits_ = bits_of(config, 0, 3);
    if (is_rdna()) {
      pipe_bits_ = std::min(pipe_bits_, room);
      slice_bits_ = pipe_bits_;
      // gfx10.3 and gfx11 distribute slices over as many pipes as packers.
      if (surface_.generation != Generation::kGfx10_1)
        slice_bits_ = std::min(slice_bits_, std::max(bits_of(config, 8, 3), 1u));
    } else {
      pipe_bits_ = std::min(pipe_bits_ + bits_of(config, 19, 2), room);
      bank_bits_ = std::min(bits_of(config, 12, 3), room - pipe_bits_);
      slice_bits_ = pipe_bits_;
    }
  }

  Chain fill_equation(TiledLayout& layout, std::string_view order) const {
    Chain chain(order, log2_of(surface_.element_bytes));
    const unsigned end = layout.block_bits_;
    const unsigned dimensions = is_thick() ? 3 : 2;
    // Above the smallest tiles, bits of the coordinates alternate.
    constexpr AxisName kThin[] = {kY, kX}, kThick[] = {kX, kZ, kY};
    const unsigned max_size =
        std::max(end, kInterleave + pipe_bits_ + dimensions * std::max(pipe_bits_, bank_bits_));
    while (chain.size() < max_size)
      chain.append(is_thick() ? kThick[chain.size() % 3] : kThin[chain.size() % 2]);

    TiledLayout::Axis* const axes[] = {&layout.x_, &layout.y_, &layout.z_};
    const auto flip = [&](unsigned position, unsigned from) {
      if (const auto bit = chain[from]) axes[bit->axis]->invert(bit->index, 1u << position);
    };
    const unsigned plain_end = has_render_order() ? kInterleave : end;
    for (unsigned position = 0; position < plain_end; ++position) flip(position, position);
    for (const AxisName axis : {kX, kY, kZ}) axes[axis]->block_bits = chain.count(axis, end);
    if (!has_xor() || has_render_order()) return chain;
    fold(flip, kInterleave, pipe_bits_, dimensions, end);
    fold(flip, kInterleave + pipe_bits_, bank_bits_, dimensions, end);
    if (is_thick() || is_texture()) return chain;
    // Adjacent slices of thin tiles start at different pipes, then at different banks.
    for (unsigned bit = 0; bit < slice_bits_; ++bit)
      layout.z_.invert(bit, 1u << (kInterleave + pipe_bits_ - 1 - bit));
    for (unsigned bit = 0; bit < bank_bits_; ++bit)
      layout.z_.invert(pipe_bits_ + bit, 1u << (kInterleave + pipe_bits_ + bank_bits_ - 1 - bit));
    return chain;
  }

  /// Adds the equation's part past the pipe interleave.
  bool fill_render_pattern(TiledLayout& layout) const {
    const uint32_t config = surface_.tiling->gb_addr_config;
    const auto* const pattern =
        std::ranges::find(kRenderPatterns, bits_of(config, 0, 3), &RenderPattern::pipes);
    if (pattern == std::end(kRenderPatterns) || bits_of(config, 8, 3) != pattern->pipes) return false;
    const Order& words = has_256kb_blocks() ? pattern->of_256kb : pattern->of_64kb;
    TiledLayout::Axis* const axes[] = {&layout.x_, &layout.y_, &layout.z_};
    unsigned position = kInterleave;
    TiledLayout::Axis* axis = nullptr;
    unsigned number = 0;
    const auto invert = [&] {
      if (axis != nullptr) axis->invert(number, 1u << position);
      number = 0;
    };
    for (const char letter : words[log2_of(surface_.element_bytes)]) {
      if (letter >= '0' && letter <= '9') {
        number = number * 10 + static_cast<unsigned>(letter - '0');
        continue;
      }
      invert();
      axis = letter == ' ' ? nullptr : axes[letter - 'x'];
      position += letter == ' ' ? 1 : 0;
    }
    invert();
    return true;
  }

  /// Bits above the pipes and banks invert them, in reverse order.
  template <typename Flip>
  void fold(const Flip& flip, unsigned first, unsigned count, unsigned dimensions, unsigned end) const {
    for (unsigned above = 0; above < (dimensions - 1) * count; ++above) {
      const unsigned from = first + count + above;
      if (is_texture() && from >= end) continue;
      flip(first + count - 1 - above / (dimensions - 1), from);
    }
  }

  /// The mip layout of gfx9's 256-byte blocks is not known.
  bool has_levels() const { return is_rdna() || kind() != k256B; }

  /// Returns the maximum extents of a level in the tail: those of a block with one dimension halved.
  struct Extent {
    uint32_t x, y, z;
  };
  Extent tail(const TiledLayout& layout) const {
    Extent max_extent{1u << layout.x_.block_bits, 1u << layout.y_.block_bits, 1u << layout.z_.block_bits};
    (is_thick() && layout.block_bits_ % 3 == 0 ? max_extent.y : max_extent.x) /= 2;
    return max_extent;
  }

  /// Returns a level's offset in the block of the tail. `from_last` counts from the last level that can be
  /// in the tail.
  static constexpr uint32_t tail_offset(unsigned from_last) {
    return from_last > 6 ? 16u << from_last : from_last << 8;
  }

  /// gfx10: each slice starts with the last level. Extents of levels are rounded up.
  void stack_levels(TiledLayout& layout, const Chain& chain) const {
    const unsigned room =
        is_thick() ? layout.block_bits_ - (layout.block_bits_ - kInterleave) / 3u : layout.block_bits_;
    const unsigned max_tail_levels = kind() == k256B ? 0 : room <= 11 ? 1 + (1u << (room - 9)) : room - 4;
    const Extent tail_extent = tail(layout);
    const unsigned levels = surface_.levels;
    const auto halved = [](uint32_t whole, unsigned level) { return ((whole - 1) >> level) + 1; };
    unsigned first = 0;  // first level of the tail
    while (first < levels &&
           !(halved(surface_.width, first) <= tail_extent.x &&
             halved(surface_.height, first) <= tail_extent.y && levels - first <= max_tail_levels))
      ++first;
    const uint64_t block = uint64_t{1} << layout.block_bits_;
    uint64_t end = first < levels ? block : 0;
    for (unsigned level = first; level-- > 0;) {
      auto& place = layout.levels_[level];
      place.start = end;
      place.row_blocks = blocks(halved(surface_.width, level), layout.x_.block_bits);
      end +=
          uint64_t{place.row_blocks} * blocks(halved(surface_.height, level), layout.y_.block_bits) * block;
    }
    layout.slice_bytes_ = end;
    for (unsigned level = first; level < levels; ++level) {
      // The index of the 256-byte unit interleaves bits of y and x.
      const uint32_t number = tail_offset(max_tail_levels - 1 - (level - first)) >> kInterleave;
      uint32_t x = 0, y = 0;
      for (unsigned bit = 0; bit < 6; ++bit) {
        y |= bits_of(number, 2 * bit, 1) << bit;
        x |= bits_of(number, 2 * bit + 1, 1) << bit;
      }
      // Thick units of gfx12 have 4 KiB.
      const unsigned unit = is_gfx12() && is_thick() ? 12 : kInterleave;
      layout.levels_[level].flips =
          layout.x_.flips_of(x << chain.count(kX, unit)) ^ layout.y_.flips_of(y << chain.count(kY, unit));
    }
  }

  /// gfx9: the levels are to the right of the first level or below it, so that the whole is closest to a
  /// square.
  bool pack_levels(TiledLayout& layout) const {
    const Extent tail_extent = tail(layout);
    Extent size{blocks(surface_.width, layout.x_.block_bits), blocks(surface_.height, layout.y_.block_bits),
                blocks(surface_.planes, layout.z_.block_bits)};
    const bool wide = size.x >= size.y && (!is_thick() || size.x >= size.z);
    const bool high = size.x < size.y && (!is_thick() || size.y >= size.z);
    const bool all_in_tail = surface_.width <= tail_extent.x && surface_.height <= tail_extent.y &&
                             (!is_thick() || surface_.planes <= tail_extent.z);
    const unsigned levels = surface_.levels;
    Extent starts[std::tuple_size_v<decltype(layout.levels_)>] = {};
    unsigned first = all_in_tail ? 0 : levels;  // first level of the tail
    Extent whole = size, at{0, 0, 0};
    for (unsigned level = 1; level < levels && first == levels; ++level) {
      if (level == 1 || level == 3) {
        (high ? at.x : at.y) += high ? size.x : size.y;
      } else {
        (wide ? at.x : high ? at.y : at.z) += wide ? size.x : high ? size.y : size.z;
      }
      starts[level] = at;
      const bool thick_tail = layout.block_bits_ % 3 == 0 ? size.x <= 2 && size.y == 1 && size.z <= 2
                                                          : size.x == 1 && size.y <= 2 && size.z <= 2;
      if (is_thick() ? thick_tail : size.x == 1 && size.y <= 2) first = level;
      size = {(size.x + 1) / 2, (size.y + 1) / 2, (size.z + 1) / 2};
    }
    const unsigned room = layout.block_bits_ - 4u;
    if (levels - first > room) return false;  // a thin volume whose depth exceeds its width and height
    if (!all_in_tail) {
      // Space for the second level, and for two of the levels after it.
      const auto second = [&](uint32_t size_of_first) {
        const uint32_t half = (size_of_first + 1) / 2;
        return half == 1 && std::min(first, levels - 1) > 2 ? 2 : half;
      };
      (high ? whole.x : whole.y) += second(high ? whole.x : whole.y);
    }
    const uint64_t slice_blocks = uint64_t{whole.x} * whole.y;
    layout.slice_bytes_ = slice_blocks << layout.block_bits_;
    for (unsigned level = 0; level < levels; ++level) {
      auto& place = layout.levels_[level];
      const Extent& start = starts[std::min(level, first)];
      place.row_blocks = whole.x;
      place.start = (start.z * slice_blocks + uint64_t{start.y} * whole.x + start.x) << layout.block_bits_;
      if (level >= first) place.flips = tail_offset(room - 1 - (level - first));
    }
    return true;
  }

  /// Blocks of kind T have the same layout everywhere, for partially resident textures.
  bool is_texture() const { return kind() == k64KB_T; }

  const Surface& surface_;
  unsigned pipe_bits_ = 0, bank_bits_ = 0, slice_bits_ = 0;
};

LayoutOr lay_out_blocks(const Surface& surface) {
  return BlockBuilder(surface).build();
}

}  // namespace rigel::vgpu::images
