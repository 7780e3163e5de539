// Tests of resource words that libraries do not write, and of edge cases of filters.
#include "plugins/vgpu/images/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace rigel::vgpu::images {
namespace {

// 2_10_10_10 does not support floats. A fuzzer found a shift by a negative count for two-bit components.
TEST(TexelFormat, NarrowFloatComponentsAreUnchanged) {
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

TEST(Resource, ZeroWordsAreNullImage) {
  const uint32_t words[8] = {};
  Resource resource;
  EXPECT_EQ(decode_resource(words, Generation::kGfx10_3, nullptr, resource), "");
  EXPECT_TRUE(resource.is_null);
}

TEST(Resource, UnsupportedImagesAreNamed) {
  Resource resource;
  uint32_t words[8] = {0x100, 10u << 20, 0, 0xfac | 9u << 28, 0, 0, 1u << 21, 0};
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource),
            "image with compressed colours (DCC)");
  words[6] = 0;
  words[3] = 0xfac | 14u << 28;
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource), "multisampled image");
  words[3] = 0xfac;
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource),
            "image resource is a buffer resource");
  words[3] = 0xfac | 9u << 28;
  words[1] = 35u << 20;  // BC1
  EXPECT_NE(decode_resource(words, Generation::kGfx9, nullptr, resource), "");
}

TEST(Sampling, NanCoordinateIsFirstTexel) {
  const Resource resource = plane(8, 4);
  Sampler sampler;
  Lookup lookup;
  lookup.coordinates[0] = std::numeric_limits<float>::quiet_NaN();
  lookup.coordinates[1] = std::numeric_limits<float>::infinity();
  sampler.clamp[1] = Clamp::kLastTexel;
  Taps taps;
  find_taps(resource, sampler, lookup, taps);
  ASSERT_EQ(taps.count, 1u);
  EXPECT_EQ(taps.taps[0].place.x, 0u);
  EXPECT_EQ(taps.taps[0].place.y, 3u);
}

TEST(Sampling, WeightsHaveEightFractionalBits) {
  const Resource resource = plane(8, 4);
  Sampler sampler;
  sampler.linear_mag = sampler.linear_min = sampler.unnormalized = true;
  Lookup lookup;
  lookup.coordinates[0] = 3.5f + 0.3f;  // 76.8 of 256
  lookup.coordinates[1] = 1.5f;
  Taps taps;
  find_taps(resource, sampler, lookup, taps);
  ASSERT_EQ(taps.count, 2u);
  EXPECT_EQ(taps.taps[0].place.x, 3u);
  EXPECT_EQ(taps.taps[1].place.x, 4u);
  EXPECT_EQ(taps.taps[1].weight, 77.0 / 256);
}

TEST(Sampling, GatherReturnsTexelsCounterclockwise) {
  const Resource resource = plane(8, 4);
  Sampler sampler;
  sampler.unnormalized = true;
  Lookup lookup;
  lookup.coordinates[0] = 3, lookup.coordinates[1] = 2;  // where four texels meet
  Taps taps;
  find_gathered(resource, sampler, lookup, taps);
  ASSERT_EQ(taps.count, 4u);
  constexpr uint32_t kExpected[4][2] = {{2, 2}, {3, 2}, {3, 1}, {2, 1}};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(taps.taps[i].place.x, kExpected[i][0]) << i;
    EXPECT_EQ(taps.taps[i].place.y, kExpected[i][1]) << i;
  }
}

// Anisotropic filters
// ---------------------------------------------------------------------------------------------------

Sampler anisotropic(unsigned ratio) {
  Sampler sampler;
  sampler.linear_mag = sampler.linear_min = true;
  sampler.mip_filter = 2;
  sampler.max_lod = 4095;
  sampler.max_probes = static_cast<uint8_t>(ratio);
  return sampler;
}

/// Footprint of gradients of `x` texels along x and `y` texels along y, in an image of 64 texels.
Footprint footprint(const Sampler& sampler, float x, float y) {
  const float gradients[2][3] = {{x / 64, 0, 0}, {0, y / 64, 0}};
  return footprint_of(plane(64, 64), sampler, gradients);
}

TEST(AnisotropicFilter, ProbeCountIsRatioOfGradients) {
  const Footprint wide = footprint(anisotropic(16), 8, 2);
  EXPECT_EQ(wide.probes, 4u);
  EXPECT_EQ(wide.lod, 256);  // of the shorter gradient
  EXPECT_EQ(wide.line[0], 8.0 / 64);
  EXPECT_EQ(wide.line[1], 0);
  const Footprint high = footprint(anisotropic(16), 2, 5);
  EXPECT_EQ(high.probes, 3u);  // 2.5, rounded up
  EXPECT_EQ(high.line[1], 5.0 / 64);
}

TEST(AnisotropicFilter, SamplerLimitsProbeCount) {
  EXPECT_EQ(footprint(anisotropic(4), 16, 1).probes, 4u);
  EXPECT_EQ(footprint(anisotropic(4), 16, 1).lod, 2 * 256);  // 16 texels by 4 samples
  EXPECT_EQ(footprint(anisotropic(8), 16, 0).probes, 8u);
}

TEST(AnisotropicFilter, TrilinearIfRatioIsOne) {
  const Footprint plain = footprint(anisotropic(1), 8, 2);
  EXPECT_EQ(plain.probes, 1u);
  EXPECT_EQ(plain.lod, 3 * 256);
  const Footprint even = footprint(anisotropic(16), 4, 4);
  EXPECT_EQ(even.probes, 1u);
  EXPECT_EQ(even.lod, 2 * 256);
  EXPECT_EQ(footprint(anisotropic(16), 0, 0).probes, 1u);
}

TEST(AnisotropicFilter, ProbesAreEvenlySpacedAlongLongerGradient) {
  Lookup lookup;
  lookup.coordinates[0] = 0.5;
  lookup.coordinates[1] = 0.25;
  lookup.footprint.probes = 3;
  lookup.footprint.line[0] = 1;
  EXPECT_EQ(probe_of(lookup, 0).coordinates[0], 0.25);
  EXPECT_EQ(probe_of(lookup, 1).coordinates[0], 0.5);
  EXPECT_EQ(probe_of(lookup, 2).coordinates[0], 0.75);
  EXPECT_EQ(probe_of(lookup, 2).coordinates[1], 0.25);
}

TEST(AnisotropicFilter, IntegersAndTexelCoordinatesHaveOneProbe) {
  Sampler sampler = anisotropic(16);
  Resource resource = plane(64, 64);
  EXPECT_EQ(max_probes(resource, sampler), 16u);
  sampler.aniso_override = true;  // one level
  EXPECT_EQ(max_probes(resource, sampler), 1u);
  sampler.aniso_override = false;
  sampler.unnormalized = true;
  EXPECT_EQ(max_probes(resource, sampler), 1u);
  sampler.unnormalized = false;
  resource.format.number = Number::kUint;
  EXPECT_EQ(max_probes(resource, sampler), 1u);
}

TEST(Sampler, AnisotropicFilterModesSetMaxProbes) {
  uint32_t words[4] = {3u << 9, 0, 0, 0};
  Sampler sampler;
  EXPECT_EQ(decode_sampler(words, Generation::kGfx9, sampler), "");
  EXPECT_EQ(sampler.max_probes, 1u);
  for (const unsigned filter : {21u, 23u}) {
    words[2] = 1u << filter;
    sampler = {};
    EXPECT_EQ(decode_sampler(words, Generation::kGfx9, sampler), "");
    EXPECT_EQ(sampler.max_probes, 8u);
    EXPECT_FALSE(sampler.linear_mag || sampler.linear_min);
  }
}

TEST(Sampler, AnisoOverrideBitDependsOnGeneration) {
  for (const auto& [generation, bit] : {std::pair{Generation::kGfx8, 31},
                                        {Generation::kGfx9, 31},
                                        {Generation::kGfx10_1, 29},
                                        {Generation::kGfx10_3, 29},
                                        {Generation::kGfx11, 29}}) {
    const uint32_t words[4] = {0, 0, 1u << bit, 0};
    const uint32_t others[4] = {0, 0, ~(1u << bit), 0};
    Sampler sampler;
    EXPECT_EQ(decode_sampler(words, generation, sampler), "");
    EXPECT_TRUE(sampler.aniso_override);
    EXPECT_EQ(decode_sampler(others, generation, sampler), "");
    EXPECT_FALSE(sampler.aniso_override);
  }
}

// Cubes, with the faces of graphics APIs
// ---------------------------------------------------------------------------------------------------

constexpr int kFaceTexels = 5;

Resource cube() {
  constexpr uint32_t kLast = kFaceTexels - 1;
  const uint32_t words[8] = {0x100, 10u << 20, kLast | kLast << 14, 0xfac | 11u << 28, 5 | 63u << 13, 0,
                             0,     0};
  Resource resource;
  EXPECT_EQ(decode_resource(words, Generation::kGfx9, nullptr, resource), "");
  return resource;
}

/// Returns the point of a face at (s, t), each from -1 to 1.
std::array<double, 3> on_face(unsigned face, double s, double t) {
  const std::array<double, 3> points[] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                                          {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
  return points[face];
}

/// Returns a point's coordinates on a face. Instructions have them from 1 to 2.
Lookup seen_from(unsigned face, const std::array<double, 3>& point) {
  const auto& [x, y, z] = point;
  const double s[] = {-z, z, x, x, x, -x}, t[] = {-y, -y, z, -z, -y, -y};
  Lookup lookup;
  lookup.coordinates[0] = 1.5 + s[face] / 2;
  lookup.coordinates[1] = 1.5 + t[face] / 2;
  lookup.layer = face;
  return lookup;
}

template <typename Value>  // of a point
double sample(const Sampler& sampler, const Lookup& lookup, const Value& value) {
  const Resource resource = cube();
  Taps taps;
  find_taps(resource, sampler, lookup, taps);
  double sum = 0;
  for (unsigned i = 0; i < taps.count; ++i) {
    const TexelPlace& place = taps.taps[i].place;
    const auto centre = [](uint32_t texel) { return (texel * 2 + 1.0) / kFaceTexels - 1; };
    sum += taps.taps[i].weight * value(on_face(place.z, centre(place.x), centre(place.y)));
  }
  return sum;
}

Sampler linear() {
  Sampler sampler;
  sampler.linear_mag = sampler.linear_min = true;
  return sampler;
}

/// Calls `visit(face, face, point)` for points on the cube's edges and corners, with two faces that contain
/// the point.
template <typename Visit>
void visit_edges(const Visit& visit) {
  for (unsigned axis = 0; axis < 3; ++axis) {
    for (unsigned sides = 0; sides < 4; ++sides) {
      for (const double along : {-1.0, -0.75, -0.1, 0.0, 0.3, 0.8, 1.0}) {
        std::array<double, 3> point{};
        const unsigned first = (axis + 1) % 3, second = (axis + 2) % 3;
        point[axis] = along;
        point[first] = (sides & 1) != 0 ? 1 : -1;
        point[second] = (sides & 2) != 0 ? 1 : -1;
        visit(2 * first + (point[first] < 0), 2 * second + (point[second] < 0), point);
      }
    }
  }
}

TEST(CubeFilter, BothSidesOfAnEdgeHaveTheSameValue) {
  // A value that differs strongly between texels.
  const auto value = [](const std::array<double, 3>& p) {
    return std::sin(57 * p[0] + 91 * p[1] + 133 * p[2]);
  };
  visit_edges([&](unsigned face, unsigned other, const std::array<double, 3>& point) {
    EXPECT_NEAR(sample(linear(), seen_from(face, point), value),
                sample(linear(), seen_from(other, point), value), 0.01)
        << point[0] << ' ' << point[1] << ' ' << point[2];
  });
}

TEST(CubeFilter, SmoothImagesHaveNoSeams) {
  // The slope is at most 1, so the error half a texel away is bounded.
  const auto value = [](const std::array<double, 3>& p) {
    return (p[0] + p[1] + p[2]) / (3 * std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
  };
  double worst = 0, worst_of_separate_faces = 0;
  Sampler separate_faces = linear();
  separate_faces.seamless = false;
  for (Clamp& clamp : separate_faces.clamp) clamp = Clamp::kLastTexel;
  visit_edges([&](unsigned face, unsigned, const std::array<double, 3>& point) {
    const Lookup lookup = seen_from(face, point);
    worst = std::max(worst, std::fabs(sample(linear(), lookup, value) - value(point)));
    worst_of_separate_faces =
        std::max(worst_of_separate_faces, std::fabs(sample(separate_faces, lookup, value) - value(point)));
  });
  EXPECT_LT(worst, 0.05);
  EXPECT_GT(worst_of_separate_faces, 2 * worst);
}

TEST(CubeFilter, SeparateFacesUseClampModes) {
  Sampler sampler = linear();
  sampler.seamless = false;
  sampler.clamp[0] = Clamp::kWrap;
  sampler.clamp[1] = Clamp::kBorder;
  Lookup lookup;
  lookup.coordinates[0] = 2;  // between the last column and the first
  lookup.coordinates[1] = 1.5;
  lookup.layer = 3;
  Taps taps;
  find_taps(cube(), sampler, lookup, taps);
  ASSERT_EQ(taps.count, 2u);
  EXPECT_EQ(taps.taps[0].place.x, kFaceTexels - 1u);
  EXPECT_EQ(taps.taps[1].place.x, 0u);
  EXPECT_EQ(taps.taps[1].place.z, 3u);
  lookup.coordinates[0] = 1.5;
  lookup.coordinates[1] = 1;
  find_taps(cube(), sampler, lookup, taps);
  ASSERT_EQ(taps.count, 2u);
  EXPECT_TRUE(taps.taps[0].is_border);
}

TEST(CubeFilter, NearestFilterStaysOnFace) {
  Lookup lookup;
  lookup.coordinates[0] = 2;
  lookup.coordinates[1] = 1.5;
  lookup.layer = 4;
  Taps taps;
  find_taps(cube(), {}, lookup, taps);
  ASSERT_EQ(taps.count, 1u);
  EXPECT_EQ(taps.taps[0].place.x, kFaceTexels - 1u);
  EXPECT_EQ(taps.taps[0].place.z, 4u);
}

TEST(CubeFilter, GatherContinuesPastEdges) {
  Lookup lookup;
  lookup.coordinates[0] = 2;  // the right edge of +z, where the left one of +x is
  lookup.coordinates[1] = 1.5;
  lookup.layer = 4;
  Taps taps;
  find_gathered(cube(), {}, lookup, taps);
  ASSERT_EQ(taps.count, 4u);
  constexpr uint32_t kExpected[4][3] = {{4, 2, 4}, {0, 2, 0}, {0, 2, 0}, {4, 2, 4}};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(taps.taps[i].place.x, kExpected[i][0]) << i;
    EXPECT_EQ(taps.taps[i].place.z, kExpected[i][2]) << i;
  }
  lookup.coordinates[1] = 1;  // a corner
  find_gathered(cube(), {}, lookup, taps);
  ASSERT_EQ(taps.count, 4u);
  EXPECT_EQ(taps.taps[2].place.z, 4u);  // replaces the texel past the corner
  EXPECT_EQ(taps.taps[2].place.x, 4u);
  EXPECT_EQ(taps.taps[2].place.y, 0u);
  EXPECT_EQ(taps.taps[3].place.z, 2u);  // +y
}

}  // namespace
}  // namespace rigel::vgpu::images
