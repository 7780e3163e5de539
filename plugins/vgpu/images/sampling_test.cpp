// Resource words that no library writes, and the parts of filters where programs are least careful.
#include "plugins/vgpu/images/sampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rigel::vgpu::images {
namespace {

// 2_10_10_10 has no floats. A fuzzer found that two bits were shifted by less than nothing for it.
TEST(TexelFormats, ComponentsThatAreTooNarrowForFloatsStayAsTheyAre) {
  const TexelFormat format{9, Number::kFloat};
  const uint32_t element[4] = {0xc0000000, 0, 0, 0};
  uint32_t components[4] = {}, again[4] = {};
  unpack(format, element, components);
  EXPECT_EQ(components[3], 3u);
  pack(format, components, again);
  EXPECT_EQ(again[0], element[0]);
}

Resource plane(uint32_t width, uint32_t height) {
  const uint32_t words[8] = {
      0x100, 10u << 20, (width - 1) | (height - 1) << 14, 0xfac | 9u << 28, 63u << 13, 0, 0, 0};
  Resource resource;
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource), "");
  return resource;
}

TEST(Resources, WordsOfZerosAreNoImage) {
  const uint32_t words[8] = {};
  Resource resource;
  EXPECT_EQ(decode_resource(words, Generation::kGfx10_3, nullptr, resource), "");
  EXPECT_TRUE(resource.is_null);
}

TEST(Resources, WhatIsNotExecutedIsNamed) {
  Resource resource;
  uint32_t words[8] = {0x100, 10u << 20, 0, 0xfac | 9u << 28, 0, 0, 1u << 21, 0};
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource),
            "image with compressed colours (DCC)");
  words[6] = 0;
  words[3] = 0xfac | 14u << 28;
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource), "image of several samples a texel");
  words[3] = 0xfac;
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource),
            "image resource that is a buffer's");
  words[3] = 0xfac | 9u << 28;
  words[1] = 35u << 20;  // BC1
  EXPECT_NE(decode_resource(words, Generation::kGfx9, nullptr, resource), "");
}

TEST(Sampling, NumbersThatAreNoneAreTheFirstTexel) {
  const Resource resource = plane(8, 4);
  Sampler sampler;
  Lookup lookup;
  lookup.at[0] = std::numeric_limits<float>::quiet_NaN();
  lookup.at[1] = std::numeric_limits<float>::infinity();
  sampler.clamp[1] = Clamp::kLastTexel;
  Taps taps;
  find_taps(resource, sampler, lookup, taps);
  ASSERT_EQ(taps.count, 1u);
  EXPECT_EQ(taps.taps[0].place.x, 0u);
  EXPECT_EQ(taps.taps[0].place.y, 3u);
}

TEST(Sampling, WeightsHaveEightBits) {
  const Resource resource = plane(8, 4);
  Sampler sampler;
  sampler.linear_mag = sampler.linear_min = sampler.unnormalized = true;
  Lookup lookup;
  lookup.at[0] = 3.5f + 0.3f;  // 76.8 of 256
  lookup.at[1] = 1.5f;
  Taps taps;
  find_taps(resource, sampler, lookup, taps);
  ASSERT_EQ(taps.count, 2u);
  EXPECT_EQ(taps.taps[0].place.x, 3u);
  EXPECT_EQ(taps.taps[1].place.x, 4u);
  EXPECT_EQ(taps.taps[1].weight, 77.0 / 256);
}

TEST(Sampling, TheFourOfAGatherGoAroundAgainstTheClock) {
  const Resource resource = plane(8, 4);
  Sampler sampler;
  sampler.unnormalized = true;
  Lookup lookup;
  lookup.at[0] = 3, lookup.at[1] = 2;  // where four texels meet
  Taps taps;
  find_gathered(resource, sampler, lookup, taps);
  ASSERT_EQ(taps.count, 4u);
  constexpr uint32_t kExpected[4][2] = {{2, 2}, {3, 2}, {3, 1}, {2, 1}};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(taps.taps[i].place.x, kExpected[i][0]) << i;
    EXPECT_EQ(taps.taps[i].place.y, kExpected[i][1]) << i;
  }
}

}  // namespace
}  // namespace rigel::vgpu::images
