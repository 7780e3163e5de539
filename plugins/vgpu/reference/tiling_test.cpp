// Compares the model's layouts with AMD's address library, like images/layout_test.cpp for the executor.
#include "plugins/vgpu/reference/tiling.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/images/layout_cases.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using images::Generation;

TEST(ModelTiling, MatchesAddrlib) {
  const auto cases = images::read_layout_cases();
  ASSERT_GT(cases.size(), 600u);
  for (const images::LayoutCase& expected : cases) {
    Tiling chip{expected.gb_addr_config, {}, {}};
    if (!expected.board.empty()) {
      const auto board = find_board(expected.board);
      ASSERT_TRUE(board.has_value()) << expected.board;
      chip = {board->gb_addr_config, board->tiling.modes, board->tiling.macro_modes};
    }
    const images::Surface& surface = expected.surface;
    if (images::has_rows(surface)) continue;
    TiledImage image;
    image.major = surface.generation == Generation::kGfx8    ? 8
                  : surface.generation == Generation::kGfx9  ? 9
                  : surface.generation == Generation::kGfx11 ? 11
                  : surface.generation == Generation::kGfx12 ? 12
                                                             : 10;
    image.minor = surface.generation == Generation::kGfx10_3 ? 3 : 1;
    image.base = uint64_t{1} << 32;
    image.mode = surface.swizzle_mode;
    image.volume = surface.volume;
    image.element_bytes = surface.element_bytes;
    image.width = surface.width;
    image.height = surface.height;
    image.planes = surface.planes;
    image.pitch = surface.pitch;
    image.levels = surface.levels;
    EXPECT_EQ(tiled_bytes(image, chip), expected.bytes) << expected.name;
    const auto offset = [&](const Texel& texel) {
      const auto address = tiled_address(image, chip, texel);
      EXPECT_TRUE(address.has_value()) << expected.name;
      return address.value_or(0) - image.base;
    };
    EXPECT_EQ(offset({0, image.width - 1, image.height - 1, image.planes - 1}), expected.last_texel)
        << expected.name;
    images::OffsetHash hash;
    images::PlaceSequence places(surface);
    for (int count = 0; count < images::kPlacesPerCase; ++count) {
      const images::TexelPlace place = places.next();
      hash.add(offset({place.level, place.x, place.y, place.z}));
    }
    EXPECT_EQ(hash.value(), expected.hash) << expected.name;
  }
}

TEST(ModelTiling, RejectsUnsupportedModes) {
  TiledImage image;
  image.mode = 7;  // SW_4KB_R
  EXPECT_FALSE(tiled_address(image, {}, {}));
  image.mode = 12;  // SW_VAR_Z
  EXPECT_FALSE(tiled_address(image, {}, {}));
  image.mode = 6;  // SW_4KB_D
  EXPECT_TRUE(tiled_address(image, {}, {}));
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
