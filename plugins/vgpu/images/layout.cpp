#include "plugins/vgpu/images/layout.hpp"

#include <bit>

#include "plugins/vgpu/images/layout_builders.hpp"

namespace rigel::vgpu::images {

tl::expected<TiledLayout, std::string_view> TiledLayout::of(const Surface& surface) {
  if (surface.tiling == nullptr) return tl::unexpected(std::string_view("tiled image on an unknown board"));
  if (surface.levels == 0 || surface.levels > 16)
    return tl::unexpected(std::string_view("tiled image with more than 16 mip levels"));
  if (surface.samples != 1) return tl::unexpected(std::string_view("multisampled tiled image"));
  if (!std::has_single_bit(surface.element_bytes) || surface.element_bytes > 16)
    return tl::unexpected(std::string_view("tiled image: texel size is not a power of two"));
  return surface.generation == Generation::kGfx8 ? lay_out_macro_tiles(surface) : lay_out_blocks(surface);
}

uint64_t TiledLayout::address(const TexelPlace& place) const {
  const Level& level = levels_[place.level];
  const uint64_t block = uint64_t{place.y >> y_.block_bits} * level.row_blocks + (place.x >> x_.block_bits);
  const uint32_t bank_flips = ((bank_rotation_.first + bank_rotation_.step * place.z) & bank_rotation_.mask)
                              << bank_rotation_.shift;
  const uint32_t offset = x_.flips_of(place.x) ^ y_.flips_of(place.y) ^ z_.flips_of(place.z) ^ level.flips ^
                          base_flips_ ^ bank_flips;
  return base_ + slice_bytes_ * (place.z >> z_.block_bits) + level.start + (block << block_bits_) + offset;
}

TiledLayout::Plane::Side TiledLayout::side(const Axis& axis, uint32_t blocks) const {
  const uint32_t in_block = (1u << block_bits_) - 1;
  Plane::Side side{axis.block_bits, blocks << block_bits_, 0, {}, {}};
  for (unsigned bit = 0; bit < 16; ++bit) {
    if (axis.flips_of_bit(bit) == 0) continue;
    side.bits[side.count] = static_cast<uint8_t>(bit);
    side.flips[side.count++] = axis.flips_of_bit(bit) & in_block;
  }
  return side;
}

TiledLayout::Plane TiledLayout::plane(uint32_t level, uint32_t z) const {
  const Level& place = levels_[level];
  const uint32_t bank_flips = ((bank_rotation_.first + bank_rotation_.step * z) & bank_rotation_.mask)
                              << bank_rotation_.shift;
  const uint32_t flips = z_.flips_of(z) ^ place.flips ^ base_flips_ ^ bank_flips;
  return {base_ + slice_bytes_ * (z >> z_.block_bits) + place.start, flips & ((1u << block_bits_) - 1),
          side(x_, 1), side(y_, place.row_blocks)};
}

uint64_t TiledLayout::Plane::address(uint32_t column, uint32_t row) const {
  uint32_t offset = flips;
  const auto invert = [&](const Side& side, uint32_t coordinate) {
    for (unsigned i = 0; i < side.count; ++i)
      offset ^= (coordinate >> side.bits[i] & 1) != 0 ? side.flips[i] : 0;
  };
  invert(x, column);
  invert(y, row);
  return base + x.blocks_of(column) + y.blocks_of(row) + offset;
}

uint64_t TiledLayout::bytes() const {
  return slice_bytes_ * slices_;
}

}  // namespace rigel::vgpu::images
