#include "core/image/texel.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace rigel {
namespace {

std::vector<int> bytes(uint32_t order, uint32_t type, const void* value) {
  const auto texel = encode_texel({type, order}, value);
  if (!texel) return {};
  std::vector<int> result;
  for (uint32_t i = 0; i < texel->size; ++i) result.push_back(std::to_integer<int>(texel->bytes[i]));
  return result;
}

using Bytes = std::vector<int>;
constexpr float kOneToFour[4] = {0.2f, 0.4f, 0.6f, 0.8f};

TEST(Texel, ChannelsAreInOrderOfName) {
  constexpr uint32_t kType = HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8;
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_A, kType, kOneToFour), (Bytes{204}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_R, kType, kOneToFour), (Bytes{51}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RX, kType, kOneToFour), (Bytes{51, 0}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RG, kType, kOneToFour), (Bytes{51, 102}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RA, kType, kOneToFour), (Bytes{51, 204}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, kType, kOneToFour), (Bytes{51, 102, 153, 204}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA, kType, kOneToFour), (Bytes{153, 102, 51, 204}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB, kType, kOneToFour), (Bytes{204, 51, 102, 153}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR, kType, kOneToFour), (Bytes{204, 153, 102, 51}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY, kType, kOneToFour), (Bytes{51}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE, kType, kOneToFour), (Bytes{51}));
}

TEST(Texel, NormalisedValuesAreClampedAndRounded) {
  const auto red = [](uint32_t type, float value) {
    const float pixel[4] = {value, 0, 0, 0};
    return bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_R, type, pixel);
  };
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, -3.0f), (Bytes{0}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, 3.0f), (Bytes{255}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, 0.5f), (Bytes{128})) << "127.5, to even";
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, std::nanf("")), (Bytes{0}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16, 1.0f), (Bytes{255, 255}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, -1.0f), (Bytes{129})) << "-127: -128 is not used";
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, -9.0f), (Bytes{129}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, 1.0f), (Bytes{127}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, std::nanf("")), (Bytes{0}));
  EXPECT_EQ(red(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16, -1.0f), (Bytes{1, 128}));
}

TEST(Texel, IntegersSaturate) {
  const int32_t pixel[4] = {-200, 300, 70000, -70000};
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8, pixel),
            (Bytes{128, 127, 127, 128}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16, pixel),
            (Bytes{0x38, 0xff, 0x2c, 1, 0xff, 0x7f, 0, 0x80}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RG, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32, pixel),
            (Bytes{0x38, 0xff, 0xff, 0xff, 0x2c, 1, 0, 0}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RG, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8, pixel),
            (Bytes{255, 255}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RA, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16, pixel),
            (Bytes{255, 255, 255, 255}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_R, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32, pixel),
            (Bytes{0x38, 0xff, 0xff, 0xff}));
}

TEST(Texel, PackedTypesHaveBlueLowest) {
  const float red[4] = {1, 0, 0, 1}, green[4] = {0, 1, 0, 1}, blue[4] = {0, 0, 1, 1};
  constexpr uint32_t kOrder = HSA_EXT_IMAGE_CHANNEL_ORDER_RGB;
  EXPECT_EQ(bytes(kOrder, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555, red), (Bytes{0x00, 0x7c}));
  EXPECT_EQ(bytes(kOrder, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555, green), (Bytes{0xe0, 0x03}));
  EXPECT_EQ(bytes(kOrder, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565, green), (Bytes{0xe0, 0x07}));
  EXPECT_EQ(bytes(kOrder, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565, blue), (Bytes{0x1f, 0x00}));
  EXPECT_EQ(bytes(kOrder, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010, red), (Bytes{0, 0, 0xf0, 0x3f}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565, red),
            Bytes{});
}

TEST(Texel, SrgbConversionExcludesAlpha) {
  const float pixel[4] = {0.5f, 0.001f, 2.0f, 0.5f};
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, pixel),
            (Bytes{188, 3, 255, 128}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, pixel),
            (Bytes{255, 3, 188, 128}));
  EXPECT_EQ(standard_from_linear(0), 0);
  EXPECT_EQ(standard_from_linear(1), 1);
  EXPECT_EQ(standard_from_linear(-1), 0);
  EXPECT_EQ(standard_from_linear(std::nanf("")), 0);
  EXPECT_NEAR(standard_from_linear(0.0031308f), 0.04045f, 1e-5) << "where the two curves meet";
  EXPECT_NEAR(standard_from_linear(0.2140411f), 0.5f, 1e-6);
}

TEST(Texel, DepthHasOneValue) {
  const float depth[1] = {0.25f};
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16, depth),
            (Bytes{0x00, 0x40}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, depth),
            (Bytes{0, 0, 0x80, 0x3e}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24, depth),
            (Bytes{0x00, 0x00, 0x40, 0x00}));
  EXPECT_EQ(bytes(HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH_STENCIL, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, depth),
            Bytes{});
}

TEST(Texel, HalvesAreRoundedToNearest) {
  EXPECT_EQ(half_from_float(0.0f), 0x0000);
  EXPECT_EQ(half_from_float(-0.0f), 0x8000);
  EXPECT_EQ(half_from_float(1.0f), 0x3c00);
  EXPECT_EQ(half_from_float(-2.5f), 0xc100);
  EXPECT_EQ(half_from_float(65504.0f), 0x7bff);
  EXPECT_EQ(half_from_float(65519.996f), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0f), 0x7c00) << "half way to what there is no more";
  EXPECT_EQ(half_from_float(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(half_from_float(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(half_from_float(std::nanf("")), 0x7e00);
  EXPECT_EQ(half_from_float(0x1.002p0f), 0x3c00) << "half way, to even";
  EXPECT_EQ(half_from_float(0x1.006p0f), 0x3c02) << "half way, to even";
  EXPECT_EQ(half_from_float(0x1.002002p0f), 0x3c01) << "a little more than half way";
  EXPECT_EQ(half_from_float(0x1p-14f), 0x0400) << "the least normal one";
  EXPECT_EQ(half_from_float(0x1p-24f), 0x0001);
  EXPECT_EQ(half_from_float(0x1p-25f), 0x0000) << "half way, to even";
  EXPECT_EQ(half_from_float(0x1.8p-25f), 0x0001);
  EXPECT_EQ(half_from_float(0x1.ffcp-15f), 0x0400) << "the largest subnormal and a half, to even";
  EXPECT_EQ(half_from_float(1e-30f), 0x0000);
}

TEST(Texel, InvalidFormatHasNoTexel) {
  EXPECT_FALSE(encode_texel({16, HSA_EXT_IMAGE_CHANNEL_ORDER_R}, kOneToFour));
  EXPECT_FALSE(encode_texel({HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, 20}, kOneToFour));
}

}  // namespace
}  // namespace rigel
