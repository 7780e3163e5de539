// Shared parts of the builders of tiled layouts. Only layout*.cpp include this file.
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

/// Layouts by SW_MODE (gfx9, gfx10) and by TILING_INDEX (gfx8). Surfaces have one sample, a known board,
/// and elements of 1, 2, 4, 8 or 16 bytes.
LayoutOr lay_out_blocks(const Surface& surface);
LayoutOr lay_out_macro_tiles(const Surface& surface);

enum AxisName : uint8_t { kX, kY, kZ };

constexpr unsigned kInterleave = 8;  // log2 of the bytes in one pipe before the next pipe
constexpr std::string_view kOtherInterleave = "tiled image: pipe interleave other than 256 bytes";

constexpr uint32_t bits_of(uint32_t value, unsigned first, unsigned count) {
  return value >> first & ((1u << count) - 1);
}

constexpr unsigned log2_of(uint32_t power_of_two) {
  return static_cast<unsigned>(std::countr_zero(power_of_two));
}

constexpr uint32_t blocks(uint32_t texels, unsigned block_bits) {
  return (texels + (1u << block_bits) - 1) >> block_bits;
}

/// Order of texels in the smallest tiles: coordinate bits from the offset's lowest bit on, by log2 of the
/// element size in bytes.
using Order = std::array<std::string_view, 5>;

/// Sequence of coordinate bits, in the order of the offset's bits, lowest first.
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
  void append(AxisName axis) { bits_[size_++] = {axis, next_[axis]++}; }

  /// Returns the coordinate bit at `position`, or nothing for bits within an element.
  std::optional<Bit> operator[](unsigned position) const {
    if (position < first_) return std::nullopt;
    return bits_[position];
  }
  /// Counts the bits of a coordinate below position `end`.
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
