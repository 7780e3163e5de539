// What the builders of tiled layouts share. Nobody else includes this.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include <tl/expected.hpp>

#include "plugins/vgpu/images/layout.hpp"

namespace rigel::vgpu::images {

using LayoutOr = tl::expected<TiledLayout, std::string_view>;

/// SW_MODE of gfx9 and gfx10, and TILING_INDEX of gfx8. Of one sample, a known board, and elements of 1, 2, 4, 8 or 16
/// bytes.
LayoutOr lay_out_blocks(const Surface& surface);
LayoutOr lay_out_macro_tiles(const Surface& surface);

enum AxisName : uint8_t { kX, kY, kZ };

constexpr unsigned kInterleave = 8;  // log2 of the bytes that follow each other in one pipe
constexpr std::string_view kOtherInterleave = "tiled image of another interleave of pipes than 256 bytes";

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

}  // namespace rigel::vgpu::images
