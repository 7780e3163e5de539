// Compares tiled layouts with AMD's addrlib, and with the sizes that stock ROCr uses on these boards.
#include "plugins/vgpu/images/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/images/layout_cases.hpp"

namespace rigel::vgpu::images {
namespace {

TilingConfig tiling_of(const Board& board) {
  return {board.gb_addr_config, board.tiling.banks, board.tiling.ranks, board.tiling.modes,
          board.tiling.macro_modes};
}

TilingConfig tiling_of_board(const std::string& name) {
  const auto board = find_board(name);
  EXPECT_TRUE(board.has_value()) << name;
  return tiling_of(*board);
}

TexelPlace last_of(const Surface& surface) {
  return {0, surface.width - 1, surface.height - 1, surface.planes - 1, 0};
}

// Resources of arrays and volumes have no pitch.
void expect_rows(const LayoutCase& expected, Surface surface) {
  surface.pitch = 0;
  EXPECT_EQ(texel_address(surface, last_of(surface)) - surface.base, expected.last_texel) << expected.name;
  OffsetHash hash;
  PlaceSequence places(surface);
  for (int count = 0; count < kPlacesPerCase; ++count)
    hash.add(texel_address(surface, places.next()) - surface.base);
  EXPECT_EQ(hash.value(), expected.hash) << expected.name;
}

TEST(TiledLayout, AddressesMatchAddrlib) {
  const auto cases = read_layout_cases();
  ASSERT_GT(cases.size(), 1000u);
  for (const LayoutCase& expected : cases) {
    TilingConfig tiling;
    if (expected.board.empty()) {
      tiling.gb_addr_config = expected.gb_addr_config;
    } else {
      tiling = tiling_of_board(expected.board);
    }
    Surface surface = expected.surface;
    surface.tiling = &tiling;
    surface.base = uint64_t{1} << 32;
    if (has_rows(surface)) {
      expect_rows(expected, surface);
      continue;
    }
    const auto layout = TiledLayout::of(surface);
    ASSERT_TRUE(layout.has_value()) << expected.name << ": " << layout.error();
    EXPECT_EQ(layout->bytes(), expected.bytes) << expected.name;
    EXPECT_EQ(layout->address(last_of(surface)) - surface.base, expected.last_texel) << expected.name;
    OffsetHash hash;
    PlaceSequence places(surface);
    for (int count = 0; count < kPlacesPerCase; ++count) {
      const TexelPlace place = places.next();
      const uint64_t address = layout->address(place);
      hash.add(address - surface.base);
      if (count < 100) {
        ASSERT_EQ(layout->plane(place.level, place.z).address(place.x, place.y), address) << expected.name;
      }
    }
    EXPECT_EQ(hash.value(), expected.hash) << expected.name;
  }
}

/// Returns the surface that resource words of ROCr's images describe, with 4 bytes per element.
Surface surface_of(const std::array<uint32_t, 8>& words, Generation generation) {
  const auto field = [&](unsigned word, unsigned first, unsigned bits) {
    return words[word] >> first & ((1u << bits) - 1);
  };
  Surface surface;
  surface.generation = generation;
  surface.base = uint64_t{words[0]} << 8 | uint64_t{field(1, 0, 8)} << 40;
  surface.width = 1 + (is_rdna(generation) ? field(2, 0, 12) << 2 | field(1, 30, 2) : field(2, 0, 14));
  surface.height = 1 + field(2, 14, 14);
  constexpr uint32_t k3D = 10, k1DArray = 12, k2DArray = 13;
  const uint32_t type = field(3, 28, 4);
  surface.volume = type == k3D;
  // For other image types, gfx10.3 and gfx11 have the pitch in this field.
  if (type == k3D || type == k1DArray || type == k2DArray) surface.planes = 1 + field(4, 0, 13);
  if (!is_rdna(generation)) surface.pitch = 1 + field(4, 13, generation == Generation::kGfx9 ? 16 : 14);
  surface.swizzle_mode = static_cast<uint8_t>(field(3, 20, 5));
  return surface;
}

TEST(TiledLayout, SizesMatchStockRocr) {
  const auto rows = read_table("rocr_images.tsv");
  ASSERT_EQ(rows.size(), 70u);
  unsigned tiled = 0;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 11u);
    std::array<uint32_t, 8> words{};
    for (size_t word = 0; word < words.size(); ++word)
      words[word] = static_cast<uint32_t>(std::stoul(row[3 + word], nullptr, 16));
    const TilingConfig tiling = tiling_of_board(row[0]);
    const auto board = find_board(row[0]);
    ASSERT_TRUE(board.has_value());
    Surface surface = surface_of(words, isa::traits_of(board->target()).image);
    surface.tiling = &tiling;
    if (surface.swizzle_mode == 0) continue;  // rows
    const auto layout = TiledLayout::of(surface);
    ASSERT_TRUE(layout.has_value()) << row[0] << " " << row[1] << ": " << layout.error();
    EXPECT_EQ(layout->bytes(), std::stoull(row[2])) << row[0] << " " << row[1];
    ++tiled;
  }
  EXPECT_EQ(tiled, 60u);
}

Surface small_surface(Generation generation, const TilingConfig& tiling, uint8_t mode) {
  Surface surface;
  surface.generation = generation;
  surface.tiling = &tiling;
  surface.base = uint64_t{1} << 32;
  surface.swizzle_mode = mode;
  surface.width = 130;
  surface.height = 40;
  surface.planes = 5;
  return surface;
}

TEST(TiledLayout, TexelsDoNotOverlap) {
  const TilingConfig vega = tiling_of_board("vega10"), navi = tiling_of_board("navi10"),
                     navi2 = tiling_of_board("navi21"), navi3 = tiling_of_board("navi31"),
                     navi4 = tiling_of_board("navi48"), fiji = tiling_of_board("fiji");
  const struct {
    Generation generation;
    const TilingConfig& tiling;
  } chips[] = {{Generation::kGfx8, fiji},     {Generation::kGfx9, vega},   {Generation::kGfx10_1, navi},
               {Generation::kGfx10_3, navi2}, {Generation::kGfx11, navi3}, {Generation::kGfx12, navi4}};
  unsigned layouts = 0;
  for (const auto& chip : chips) {
    for (uint8_t mode = 0; mode < 32; ++mode) {
      for (const bool volume : {false, true}) {
        for (uint32_t bytes = 1; bytes <= 16; bytes *= 2) {
          Surface surface = small_surface(chip.generation, chip.tiling, mode);
          surface.volume = volume;
          surface.element_bytes = bytes;
          const auto layout = TiledLayout::of(surface);
          if (!layout) continue;
          ++layouts;
          std::vector<bool> taken(layout->bytes() / bytes);
          for (uint32_t z = 0; z < surface.planes; ++z) {
            for (uint32_t y = 0; y < surface.height; ++y) {
              for (uint32_t x = 0; x < surface.width; ++x) {
                const uint64_t offset = layout->address({0, x, y, z, 0}) - surface.base;
                ASSERT_EQ(offset % bytes, 0u);
                ASSERT_LT(offset / bytes, taken.size());
                ASSERT_FALSE(taken[offset / bytes])
                    << "mode " << int{mode} << ", bytes " << bytes << ": " << x << " " << y << " " << z;
                taken[offset / bytes] = true;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(layouts, 300u);
}

TEST(TiledLayout, LevelsDoNotOverlap) {
  const TilingConfig vega = tiling_of_board("vega10"), navi = tiling_of_board("navi10"),
                     navi3 = tiling_of_board("navi31"), navi4 = tiling_of_board("navi48");
  constexpr uint8_t k4KB_S_X = 21, k64KB_S = 9, k64KB_R_X = 27, k256KB_R_X = 31, k4KB_2D = 2, k256KB_2D = 4;
  const struct {
    Generation generation;
    const TilingConfig& tiling;
    uint8_t modes[2];
  } chips[] = {{Generation::kGfx9, vega, {k4KB_S_X, k64KB_S}},
               {Generation::kGfx10_1, navi, {k4KB_S_X, k64KB_S}},
               {Generation::kGfx11, navi3, {k64KB_R_X, k256KB_R_X}},
               {Generation::kGfx12, navi4, {k4KB_2D, k256KB_2D}}};
  for (const auto& chip : chips) {
    for (const uint8_t mode : chip.modes) {
      for (const bool volume : {false, true}) {
        Surface surface = small_surface(chip.generation, chip.tiling, mode);
        surface.volume = volume;
        surface.levels = 8;
        const auto layout = TiledLayout::of(surface);
        ASSERT_TRUE(layout.has_value()) << layout.error();
        std::set<uint64_t> taken;
        size_t texels = 0;
        for (uint32_t level = 0; level < surface.levels; ++level) {
          const auto halved = [&](uint32_t whole) { return std::max(whole >> level, 1u); };
          const uint32_t planes = volume ? halved(surface.planes) : surface.planes;
          for (uint32_t z = 0; z < planes; ++z) {
            for (uint32_t y = 0; y < halved(surface.height); ++y) {
              for (uint32_t x = 0; x < halved(surface.width); ++x, ++texels)
                taken.insert(layout->address({level, x, y, z, 0}) - surface.base);
            }
          }
        }
        EXPECT_EQ(taken.size(), texels);
        EXPECT_LT(*taken.rbegin(), layout->bytes());
      }
    }
  }
}

// Graphics drivers distribute surfaces over pipes and banks by the low bits of the address.
TEST(TiledLayout, LowAddressBitsAreSwizzle) {
  const TilingConfig navi = tiling_of_board("navi10");
  constexpr uint8_t k4KB_D_X = 22, k4KB_D = 6;
  Surface surface = small_surface(Generation::kGfx10_1, navi, k4KB_D_X);
  const auto plain = TiledLayout::of(surface);
  surface.base += 0x500;
  const auto swizzled = TiledLayout::of(surface);
  ASSERT_TRUE(plain && swizzled);
  PlaceSequence places(surface);
  for (int count = 0; count < 1000; ++count) {
    const TexelPlace place = places.next();
    EXPECT_EQ(swizzled->address(place), plain->address(place) ^ 0x500);
  }
  // Blocks without a swizzle start at the address itself.
  surface.swizzle_mode = k4KB_D;
  EXPECT_EQ(TiledLayout::of(surface)->address({}), surface.base);
}

TEST(TiledLayout, UnsupportedLayoutsAreNamed) {
  const TilingConfig navi = tiling_of_board("navi10"), fiji = tiling_of_board("fiji");
  Surface surface = small_surface(Generation::kGfx10_1, navi, 27);
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image (SW_64KB_R_X)");
  surface.swizzle_mode = 24;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image (SW_64KB_Z_X)");
  surface.swizzle_mode = 31;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image (SW_VAR_R_X)");
  surface.swizzle_mode = 22;
  surface.volume = true;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image (SW_4KB_D_X)");
  const TilingConfig navi3 = tiling_of_board("navi31"), four_pipes{0x343};
  Surface of_gfx11 = small_surface(Generation::kGfx11, navi3, 29);
  EXPECT_EQ(TiledLayout::of(of_gfx11).error(), "tiled image (SW_256KB_S_X)");
  of_gfx11.swizzle_mode = 31;
  of_gfx11.tiling = &four_pipes;
  EXPECT_EQ(TiledLayout::of(of_gfx11).error(), "tiled image: order R or Z with these pipes and packers");
  const TilingConfig navi4 = tiling_of_board("navi48");
  constexpr uint8_t k4KB_3D = 5, kReserved = 8;
  EXPECT_EQ(TiledLayout::of(small_surface(Generation::kGfx12, navi4, kReserved)).error(),
            "tiled image: reserved SW_MODE");
  EXPECT_FALSE(TiledLayout::of(small_surface(Generation::kGfx12, navi4, k4KB_3D))) << "not a volume";
  surface.volume = false;
  surface.element_bytes = 12;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image: texel size is not a power of two");
  surface.element_bytes = 4;
  surface.samples = 2;
  EXPECT_EQ(TiledLayout::of(surface).error(), "multisampled tiled image");
  surface.samples = 1;
  surface.levels = 17;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image with more than 16 mip levels");
  surface.levels = 1;
  const TilingConfig interleaved{navi.gb_addr_config | 8};
  surface.tiling = &interleaved;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image: pipe interleave other than 256 bytes");
  surface.tiling = nullptr;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image on an unknown board");
  constexpr uint8_t k2DThick = 24;
  surface = small_surface(Generation::kGfx8, fiji, k2DThick);
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image: GB_TILE_MODE other than 1D or 2D_TILED_THIN1");
  surface.swizzle_mode = 14;
  surface.levels = 2;
  EXPECT_EQ(TiledLayout::of(surface).error(), "tiled image with mip levels");
}

}  // namespace
}  // namespace rigel::vgpu::images
