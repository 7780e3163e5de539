#include "plugins/vgpu/exec/group_shape.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu::exec {
namespace {

TEST(GroupShape, HasIdsOfItsWorkItems) {
  for (const uint32_t wave_size : {32u, 64u}) {
    for (const bool packed : {false, true}) {
      const GroupShape::Key key{{7, 5, 3}, wave_size, packed ? 1u : 3u, packed};
      const GroupShape shape(key);
      ASSERT_EQ(shape.waves, (105 + wave_size - 1) / wave_size);
      for (uint32_t item = 0; item < 105; ++item) {
        const uint32_t x = item % 7, y = item / 7 % 5, z = item / 35;
        const uint32_t wave = item / wave_size, lane = item % wave_size;
        ASSERT_TRUE(shape.lanes[wave] >> lane & 1) << item;
        const uint32_t* const rows = shape.ids.data() + size_t{wave} * key.id_rows * wave_size + lane;
        if (packed) {
          ASSERT_EQ(rows[0], x | y << 10 | z << 20) << item;
        } else {
          ASSERT_EQ(rows[0], x) << item;
          ASSERT_EQ(rows[wave_size], y) << item;
          ASSERT_EQ(rows[2 * wave_size], z) << item;
        }
      }
      const uint32_t in_last = 105 - (shape.waves - 1) * wave_size;
      EXPECT_EQ(shape.lanes.back(), (uint64_t{1} << in_last) - 1);
    }
  }
}

TEST(GroupShape, HasAllLanesOfFullWaves) {
  EXPECT_EQ(GroupShape({{128, 1, 1}, 64, 1, false}).lanes,
            (std::vector<uint64_t>{~uint64_t{0}, ~uint64_t{0}}));
  EXPECT_EQ(GroupShape({{32, 1, 1}, 32, 1, false}).lanes, (std::vector<uint64_t>{0xffffffff}));
}

TEST(GroupShape, WavesAreAlikeIfFullAndEquallySpaced) {
  EXPECT_TRUE(GroupShape({{256, 1, 1}, 64, 1, false}).waves_are_alike);
  EXPECT_TRUE(GroupShape({{16, 16, 1}, 64, 2, false}).waves_are_alike);
  EXPECT_TRUE(GroupShape({{16, 16, 1}, 64, 1, true}).waves_are_alike);
  EXPECT_FALSE(GroupShape({{96, 2, 1}, 64, 2, false}).waves_are_alike) << "the second one crosses a row";
  EXPECT_FALSE(GroupShape({{100, 1, 1}, 64, 1, false}).waves_are_alike) << "the last one lacks lanes";
  EXPECT_FALSE(GroupShape({{32, 1, 1}, 64, 1, false}).waves_are_alike);
}

TEST(GroupShape, CountsCommonZeroBits) {
  EXPECT_EQ(GroupShape({{256, 1, 1}, 64, 1, false}).zeros, std::vector<unsigned>{6});
  EXPECT_EQ(GroupShape({{16, 16, 1}, 64, 2, false}).zeros, (std::vector<unsigned>{32, 2}));
  EXPECT_EQ(GroupShape({{64, 1, 1}, 64, 1, false}).zeros, std::vector<unsigned>{32});
}

TEST(GroupShape, CoversShapesWhoseWavesStartAlike) {
  const auto covers = [](const GroupShape::Key& one, const GroupShape::Key& other) {
    return GroupShape(one).covers(GroupShape(other));
  };
  EXPECT_TRUE(covers({.size = {256, 1, 1}}, {.size = {512, 1, 1}}));
  EXPECT_TRUE(covers({.size = {256, 1, 1}}, {.size = {64, 1, 1}})) << "the first wave is like the others";
  EXPECT_FALSE(covers({.size = {64, 1, 1}}, {.size = {256, 1, 1}})) << "the ids of one wave start with 0";
  EXPECT_FALSE(covers({.size = {64, 1, 1}}, {.size = {60, 1, 1}}));
  EXPECT_TRUE(covers({.size = {60, 1, 1}}, {.size = {60, 1, 1}}));
  EXPECT_FALSE(covers({.size = {64, 4, 1}}, {.size = {64, 4, 1}, .id_rows = 2}));
  EXPECT_FALSE(covers({.size = {16, 16, 1}, .id_rows = 2}, {.size = {8, 8, 1}, .id_rows = 2}));
  EXPECT_FALSE(covers({.size = {256, 1, 1}}, {.size = {256, 1, 1}, .wave_size = 32}));
}

TEST(GroupShapes, CachesRecentShapes) {
  GroupShapes shapes;
  const GroupShape::Key first{{256, 1, 1}, 64, 1, false};
  const auto shape = shapes.get(first);
  EXPECT_EQ(shapes.get(first), shape);
  for (uint32_t i = 1; i < 20; ++i) {
    GroupShape::Key other = first;
    other.size[0] = i;
    EXPECT_EQ(shapes.get(other)->ids.size(), 64u);
    EXPECT_EQ(shapes.get(other)->key, other);
  }
  EXPECT_NE(shapes.get(first), shape) << "others have had its place";
  EXPECT_EQ(shape->waves, 4u) << "who has it keeps it";
}

}  // namespace
}  // namespace rigel::vgpu::exec
