#include "core/image/image_box.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

constexpr hsa_ext_image_format_t kFormat{HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R};

hsabe_image_layout_t layout(uint64_t row, uint64_t slice) {
  return {sizeof(hsabe_image_layout_t), 0, 256, row, slice, 1, 4};
}

ImageSteps volume() {
  return image_steps({HSA_EXT_IMAGE_GEOMETRY_3D, 10, 6, 3, 0, kFormat}, layout(256, 2048));
}

TEST(ImageSteps, ArePitchesOfDimensions) {
  EXPECT_EQ(volume().element, 4u);
  EXPECT_EQ(volume().row, 256u);
  EXPECT_EQ(volume().plane, 2048u);
  EXPECT_EQ(volume().x, 10u);
  EXPECT_EQ(volume().y, 6u);
  EXPECT_EQ(volume().z, 3u);
}

TEST(ImageSteps, LayersAreLastDimension) {
  const ImageSteps rows = image_steps({HSA_EXT_IMAGE_GEOMETRY_1DA, 10, 0, 0, 7, kFormat}, layout(256, 512));
  EXPECT_EQ(rows.y, 7u);
  EXPECT_EQ(rows.z, 1u);
  EXPECT_EQ(rows.row, 512u);
  const ImageSteps planes =
      image_steps({HSA_EXT_IMAGE_GEOMETRY_2DA, 10, 6, 0, 7, kFormat}, layout(256, 2048));
  EXPECT_EQ(planes.y, 6u);
  EXPECT_EQ(planes.z, 7u);
  EXPECT_EQ(planes.plane, 2048u);
}

TEST(ImageRegion, MustBeInImage) {
  EXPECT_TRUE(check_region(volume(), {0, 0, 0}, {10, 6, 3}));
  EXPECT_TRUE(check_region(volume(), {9, 5, 2}, {1, 1, 1}));
  EXPECT_TRUE(check_region(volume(), {10, 0, 0}, {0, 1, 1})) << "nothing, at the end";
  EXPECT_FALSE(check_region(volume(), {1, 0, 0}, {10, 1, 1}));
  EXPECT_FALSE(check_region(volume(), {0, 1, 0}, {1, 6, 1}));
  EXPECT_FALSE(check_region(volume(), {0, 0, 1}, {1, 1, 3}));
  EXPECT_FALSE(check_region(volume(), {UINT32_MAX, 0, 0}, {2, 1, 1})) << "no sum overflows";
}

TEST(ImageRegion, IgnoresMissingDimensions) {
  const ImageSteps row = image_steps({HSA_EXT_IMAGE_GEOMETRY_1D, 10, 0, 0, 0, kFormat}, layout(256, 256));
  const auto range = check_region(row, {2, 0, 0}, {3, 0, 0});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->y, 1u);
  EXPECT_EQ(range->z, 1u);
  EXPECT_FALSE(check_region(row, {0, 1, 0}, {3, 1, 1}));
}

TEST(ImageRegion, StartsAtFirstElement) {
  unsigned char data[8192];
  const BoxSide side = image_side(volume(), data, {2, 3, 1}, {4, 2, 2});
  EXPECT_EQ(side.start, data + 2048 + 3 * 256 + 2 * 4);
  EXPECT_EQ(side.pitch, 256u);
  EXPECT_EQ(side.slice, 2048u);
  EXPECT_EQ(side.extent, 2048u + 256 + 16);
  EXPECT_EQ(image_side(volume(), data, {2, 3, 1}, {4, 0, 2}).extent, 0u);
}

TEST(MemorySteps, SmallPitchesMeanMinimum) {
  const hsa_ext_image_descriptor_t planes{HSA_EXT_IMAGE_GEOMETRY_3D, 10, 6, 3, 0, kFormat};
  const ImageSteps least = *memory_steps(planes, 4, {5, 4, 2}, 0, 0);
  EXPECT_EQ(least.row, 20u);
  EXPECT_EQ(least.plane, 80u);
  const ImageSteps given = *memory_steps(planes, 4, {5, 4, 2}, 32, 256);
  EXPECT_EQ(given.row, 32u);
  EXPECT_EQ(given.plane, 256u);
  EXPECT_EQ(memory_steps(planes, 4, {5, 4, 2}, 32, 100)->plane, 128u);
}

TEST(MemorySteps, RejectsOverflow) {
  const hsa_ext_image_descriptor_t planes{HSA_EXT_IMAGE_GEOMETRY_3D, 10, 6, 3, 0, kFormat};
  EXPECT_FALSE(memory_steps(planes, 4, {5, 4, 2}, SIZE_MAX / 4 + 1, 0));
  EXPECT_FALSE(memory_steps(planes, 4, {5, 4, 2}, 0, SIZE_MAX / 2));
  EXPECT_FALSE(memory_steps(planes, 4, {5, 2, 2}, SIZE_MAX / 2, 0));
}

TEST(MemorySteps, LayersOfRowsUseSlicePitch) {
  const hsa_ext_image_descriptor_t rows{HSA_EXT_IMAGE_GEOMETRY_1DA, 10, 0, 0, 7, kFormat};
  EXPECT_EQ(memory_steps(rows, 4, {5, 7, 1}, 0, 0)->row, 20u);
  EXPECT_EQ(memory_steps(rows, 4, {5, 7, 1}, 32, 0)->row, 32u);
  EXPECT_EQ(memory_steps(rows, 4, {5, 7, 1}, 32, 64)->row, 64u);
}

}  // namespace
}  // namespace rigel
