// Kernels that read and write images of the HSA image API: OpenCL C with image and sampler handles
// (kernels/images.cl), compared with a simple model of formats and filters.
#include <hsa/hsa_ext_image.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

struct Float4 {
  float x = 0, y = 0, z = 0, w = 0;
  float operator[](unsigned i) const { return std::array{x, y, z, w}[i]; }
};

struct ReadArgs {
  uint64_t image, sampler;
  const Float4* at;
  void* texels;
  uint32_t count, reserved = 0;
  uint64_t hidden[8] = {};  // hidden arguments: the grid's offsets are 0
};
struct WriteArgs {
  uint64_t image;
  const Float4* at;
  const void* texels;
  uint32_t count, reserved = 0;
  uint64_t hidden[8] = {};
};

/// The encoding of a component.
enum class Encoding { kUnsigned, kSigned, kHalf, kFloat, kUnormalized, kSignedNormalized };

struct ChannelType {
  uint32_t type;
  unsigned bits;  // per component
  Encoding encoding;
};
constexpr ChannelType kTypes[] = {
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, 8, Encoding::kSignedNormalized},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16, 16, Encoding::kSignedNormalized},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, 8, Encoding::kUnormalized},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16, 16, Encoding::kUnormalized},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8, 8, Encoding::kSigned},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16, 16, Encoding::kSigned},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32, 32, Encoding::kSigned},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8, 8, Encoding::kUnsigned},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16, 16, Encoding::kUnsigned},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32, 32, Encoding::kUnsigned},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, 16, Encoding::kHalf},
    {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, 32, Encoding::kFloat},
};

/// The index in memory of the component for red, green, blue and alpha. -1 reads as 0, -2 as 1.
struct ChannelOrder {
  uint32_t order;
  unsigned channels;
  int from[4];
};
constexpr ChannelOrder kOrders[] = {
    {HSA_EXT_IMAGE_CHANNEL_ORDER_A, 1, {-1, -1, -1, 0}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_R, 1, {0, -1, -1, -2}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RG, 2, {0, 1, -1, -2}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RA, 2, {0, -1, -1, 1}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, 4, {0, 1, 2, 3}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA, 4, {2, 1, 0, 3}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB, 4, {1, 2, 3, 0}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY, 1, {0, 0, 0, 0}},
    {HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE, 1, {0, 0, 0, -2}},
};

bool is_integer(Encoding encoding) {
  return encoding == Encoding::kUnsigned || encoding == Encoding::kSigned;
}

int32_t sign_extended(uint32_t value, unsigned bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

uint32_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float half(uint32_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<float>(bits & 0x3ff);
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);  // the tests draw no infinities and NaNs
}

/// The register that a kernel gets for a component: the bits of a float, or an integer.
uint32_t register_of(Encoding encoding, unsigned bits, uint32_t value) {
  const auto top = static_cast<double>((uint64_t{1} << bits) - 1);
  const auto signed_top = static_cast<double>((uint64_t{1} << (bits - 1)) - 1);
  switch (encoding) {
    case Encoding::kUnsigned:
      return value;
    case Encoding::kSigned:
      return static_cast<uint32_t>(sign_extended(value, bits));
    case Encoding::kHalf:
      return bits_of(half(value));
    case Encoding::kFloat:
      return value;
    case Encoding::kUnormalized:
      return bits_of(static_cast<float>(value / top));
    case Encoding::kSignedNormalized:
      break;
  }
  return bits_of(static_cast<float>(std::max(sign_extended(value, bits) / signed_top, -1.0)));
}

/// Random bits of a component, without infinities and NaNs.
uint32_t draw_component(const ChannelType& type, std::mt19937& random) {
  if (type.encoding == Encoding::kFloat) return bits_of(static_cast<float>(random() % 2001) / 16 - 60);
  const auto bits = static_cast<uint32_t>(random());
  if (type.encoding == Encoding::kHalf) return bits & 0xbbff;
  return type.bits == 32 ? bits : bits & ((1u << type.bits) - 1);
}

/// The register that a kernel gets for channel `c` of a texel, whose components are in memory order.
uint32_t channel_of(const ChannelOrder& order, const ChannelType& type, const uint32_t* components,
                    unsigned c) {
  if (order.from[c] == -1) return 0;
  if (order.from[c] == -2) return is_integer(type.encoding) ? 1 : bits_of(1.0f);
  return register_of(type.encoding, type.bits, components[order.from[c]]);
}

struct ReadCase;

/// An image of random texels, with its components in memory order.
struct TestImage {
  const ChannelOrder& order;
  const ChannelType& type;
  hsa_ext_image_descriptor_t descriptor;
  hsa_ext_image_t image;
  std::vector<uint32_t> components;

  bool is_of_integers() const { return is_integer(type.encoding); }
  const char* reader() const { return is_of_integers() ? "read_integers" : "read_2d"; }
  const uint32_t* texel(size_t index) const { return &components[index * order.channels]; }
};

class ImageKernels : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    bool has_images = false;
    EXPECT_HSA(hsa_agent_extension_supported(HSA_EXTENSION_IMAGES, agent(), 1, 0, &has_images));
    if (!has_images) GTEST_SKIP() << "the agent has no images";
    std::string reason;
    auto code = find_code_object(agent(), reason, "_images");
    if (code.empty()) GTEST_SKIP() << reason;
    image_kernels_.load(agent(), std::move(code));
  }

  void TearDown() override {
    for (const hsa_ext_image_t image : images_) EXPECT_HSA(hsa_ext_image_destroy(agent(), image));
    for (const hsa_ext_sampler_t sampler : samplers_) EXPECT_HSA(hsa_ext_sampler_destroy(agent(), sampler));
    DispatchTest::TearDown();
  }

  hsa_ext_image_t image(const hsa_ext_image_descriptor_t& descriptor) {
    hsa_ext_image_data_info_t info{};
    EXPECT_HSA(hsa_ext_image_data_get_info(agent(), &descriptor, HSA_ACCESS_PERMISSION_RW, &info));
    auto* const memory = shared<unsigned char>(info.size + info.alignment);
    const auto address = reinterpret_cast<uintptr_t>(memory);
    hsa_ext_image_t created{};
    EXPECT_HSA(hsa_ext_image_create(
        agent(), &descriptor, reinterpret_cast<void*>((address + info.alignment - 1) & ~(info.alignment - 1)),
        HSA_ACCESS_PERMISSION_RW, &created));
    if (created.handle != 0) images_.push_back(created);
    return created;
  }

  hsa_ext_sampler_t sampler(uint32_t coordinates, uint32_t filter, uint32_t address) {
    const hsa_ext_sampler_descriptor_t descriptor{coordinates, filter, address};
    hsa_ext_sampler_t created{};
    EXPECT_HSA(hsa_ext_sampler_create(agent(), &descriptor, &created));
    if (created.handle != 0) samplers_.push_back(created);
    return created;
  }

  /// Returns the four registers that the kernel reads at each coordinate.
  std::vector<std::array<uint32_t, 4>> read(const char* kernel, hsa_ext_image_t image_handle,
                                            hsa_ext_sampler_t sampler_handle,
                                            const std::vector<Float4>& coordinates) {
    auto* const shared_coordinates = shared<Float4>(coordinates.size());
    std::copy(coordinates.begin(), coordinates.end(), shared_coordinates);
    auto* const texels = shared<std::array<uint32_t, 4>>(coordinates.size());
    const auto count = static_cast<uint32_t>(coordinates.size());
    EXPECT_TRUE(run(dispatch_packet(
        image_kernels_.kernel(kernel),
        kernarg(ReadArgs{image_handle.handle, sampler_handle.handle, shared_coordinates, texels, count}),
        groups_of(count), 64)));
    return {texels, texels + coordinates.size()};
  }

  void write(const char* kernel, hsa_ext_image_t to, const std::vector<Float4>& coordinates,
             const std::vector<std::array<uint32_t, 4>>& texels) {
    auto* const shared_coordinates = shared<Float4>(coordinates.size());
    std::copy(coordinates.begin(), coordinates.end(), shared_coordinates);
    auto* const values = shared<std::array<uint32_t, 4>>(coordinates.size());
    std::copy(texels.begin(), texels.end(), values);
    const auto count = static_cast<uint32_t>(coordinates.size());
    EXPECT_TRUE(run(dispatch_packet(image_kernels_.kernel(kernel),
                                    kernarg(WriteArgs{to.handle, shared_coordinates, values, count}),
                                    groups_of(count), 64)));
  }

  /// Calls `check(drawing, random)` for each format that kernels may read and write, until a check fails.
  template <class Check>
  void for_every_format(uint32_t width, uint32_t height, Check&& check) {
    std::mt19937 random(1);
    unsigned formats = 0;
    for (const ChannelOrder& order : kOrders) {
      for (const ChannelType& type : kTypes) {
        const hsa_ext_image_format_t format{type.type, order.order};
        uint32_t capability = 0;
        ASSERT_HSA(hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &format, &capability));
        if ((capability & HSA_EXT_IMAGE_CAPABILITY_READ_WRITE) == 0) continue;
        ++formats;
        SCOPED_TRACE("order " + std::to_string(order.order) + ", type " + std::to_string(type.type));
        const hsa_ext_image_descriptor_t descriptor{HSA_EXT_IMAGE_GEOMETRY_2D, width, height, 0, 0, format};
        TestImage test_image{order, type, descriptor, image(descriptor), {}};
        test_image.components.resize(size_t{width} * height * order.channels);
        const size_t component = type.bits / 8;
        auto* const bytes = shared<unsigned char>(test_image.components.size() * component);
        for (size_t i = 0; i < test_image.components.size(); ++i) {
          test_image.components[i] = draw_component(type, random);
          std::memcpy(bytes + i * component, &test_image.components[i], component);
        }
        const hsa_ext_image_region_t all{{0, 0, 0}, {width, height, 1}};
        ASSERT_HSA(hsa_ext_image_import(agent(), bytes, 0, 0, test_image.image, &all));
        check(test_image, random);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GE(formats, 50u);
  }

  /// Imports random texels and checks that the kernel reads each of them.
  void expect_texels(const ReadCase& image_case);

  static uint32_t groups_of(uint32_t count) { return (count + 63) / 64 * 64; }

  KernelSet image_kernels_;
  std::vector<hsa_ext_image_t> images_;
  std::vector<hsa_ext_sampler_t> samplers_;
};
INSTANTIATE_FOR_AGENTS(ImageKernels);

constexpr uint32_t kTexels = HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED;
constexpr uint32_t kNearest = HSA_EXT_SAMPLER_FILTER_MODE_NEAREST;
constexpr uint32_t kEdge = HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE;

constexpr hsa_ext_image_format_t kRgba8{HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8,
                                        HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};

/// An image and the kernel that reads it. The layer of a 1D array is the y coordinate.
struct ReadCase {
  const char* kernel;
  hsa_ext_image_descriptor_t image;
  hsa_dim3_t size;
};
constexpr ReadCase kPlanes[] = {
    {"read_2d", {HSA_EXT_IMAGE_GEOMETRY_2D, 137, 75, 0, 0, kRgba8}, {137, 75, 1}},
    {"read_3d", {HSA_EXT_IMAGE_GEOMETRY_3D, 21, 19, 9, 0, kRgba8}, {21, 19, 9}},
    {"read_2da", {HSA_EXT_IMAGE_GEOMETRY_2DA, 41, 23, 0, 5, kRgba8}, {41, 23, 5}},
};
constexpr ReadCase kRows[] = {
    {"read_1d", {HSA_EXT_IMAGE_GEOMETRY_1D, 301, 0, 0, 0, kRgba8}, {301, 1, 1}},
    {"read_1da", {HSA_EXT_IMAGE_GEOMETRY_1DA, 97, 0, 0, 6, kRgba8}, {97, 6, 1}},
};

/// The centre of every texel, in memory order.
std::vector<Float4> centres(const ReadCase& image_case) {
  std::vector<Float4> at(size_t{image_case.size.x} * image_case.size.y * image_case.size.z);
  for (size_t i = 0; i < at.size(); ++i) {
    const auto x = static_cast<float>(i % image_case.size.x),
               y = static_cast<float>(i / image_case.size.x % image_case.size.y),
               z = static_cast<float>(i / image_case.size.x / image_case.size.y);
    const bool layers = image_case.image.array_size != 0, rows = image_case.image.height == 0;
    at[i] = {x + 0.5f, rows ? y : y + 0.5f, layers ? z : z + 0.5f, 0};
  }
  return at;
}

void ImageKernels::expect_texels(const ReadCase& image_case) {
  SCOPED_TRACE(image_case.kernel);
  const hsa_ext_image_t created = image(image_case.image);
  const std::vector<Float4> at = centres(image_case);
  auto* const bytes = shared<unsigned char>(at.size() * 4);
  for (size_t i = 0; i < at.size() * 4; ++i) bytes[i] = static_cast<unsigned char>(i * 31 + i / 251);
  const hsa_ext_image_region_t all{{0, 0, 0}, image_case.size};
  ASSERT_HSA(hsa_ext_image_import(agent(), bytes, 0, 0, created, &all));
  const auto seen = read(image_case.kernel, created, sampler(kTexels, kNearest, kEdge), at);
  for (size_t i = 0; i < at.size(); ++i) {
    for (unsigned c = 0; c < 4; ++c)
      ASSERT_EQ(seen[i][c], register_of(Encoding::kUnormalized, 8, bytes[i * 4 + c]))
          << "texel " << i << ", " << c;
  }
}

TEST_P(ImageKernels, ReadPlanesAndVolumes) {
  for (const ReadCase& read_case : kPlanes) expect_texels(read_case);
}

TEST_P(ImageKernels, ReadPlanesWith16BitCoordinatesAnd32BitGradients) {
  char name[64] = {};
  ASSERT_HSA(hsa_agent_get_info(agent(), HSA_AGENT_INFO_NAME, name));
  if (std::string(name).rfind("gfx10", 0) != 0)
    GTEST_SKIP() << name << " has 16-bit gradients with such coordinates";
  const ReadCase& plane = kPlanes[0];
  const hsa_ext_image_t created = image(plane.image);
  std::vector<Float4> at = centres(plane);
  for (Float4& coordinate : at)
    coordinate = {coordinate.x / static_cast<float>(plane.size.x),
                  coordinate.y / static_cast<float>(plane.size.y)};
  auto* const bytes = shared<unsigned char>(at.size() * 4);
  for (size_t i = 0; i < at.size() * 4; ++i) bytes[i] = static_cast<unsigned char>(i * 13 + i / 249);
  const hsa_ext_image_region_t all{{0, 0, 0}, plane.size};
  ASSERT_HSA(hsa_ext_image_import(agent(), bytes, 0, 0, created, &all));
  const auto sampler_handle = sampler(HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED, kNearest, kEdge);
  const auto seen = read("read_2d_by_halves", created, sampler_handle, at);
  for (size_t i = 0; i < at.size(); ++i) {
    for (unsigned c = 0; c < 4; ++c)
      ASSERT_EQ(seen[i][c], register_of(Encoding::kUnormalized, 8, bytes[i * 4 + c]))
          << "texel " << i << ", " << c;
  }
}

TEST_P(ImageKernels, ReadRows) {
  for (const ReadCase& read_case : kRows) expect_texels(read_case);
}

TEST_P(ImageKernels, ReadBuffers) {
  expect_texels({"read_buffer", {HSA_EXT_IMAGE_GEOMETRY_1DB, 1003, 0, 0, 0, kRgba8}, {1003, 1, 1}});
}

TEST_P(ImageKernels, ReadCopiedAndClearedTexels) {
  const ReadCase& plane = kPlanes[0];
  const hsa_ext_image_t from = image(plane.image), to = image(plane.image);
  const std::vector<Float4> at = centres(plane);
  auto* const bytes = shared<unsigned char>(at.size() * 4);
  for (size_t i = 0; i < at.size() * 4; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 253);
  const hsa_ext_image_region_t all{{0, 0, 0}, plane.size};
  ASSERT_HSA(hsa_ext_image_import(agent(), bytes, 0, 0, from, &all));
  const float zero[4] = {}, color[4] = {1, 0.2f, 0.4f, 0.6f};
  ASSERT_HSA(hsa_ext_image_clear(agent(), to, zero, &all));
  const hsa_dim3_t source{5, 3, 0}, target{40, 20, 0}, size{61, 33, 1};
  ASSERT_HSA(hsa_ext_image_copy(agent(), from, &source, to, &target, &size));
  const hsa_ext_image_region_t block{{60, 30, 0}, {9, 7, 1}};
  ASSERT_HSA(hsa_ext_image_clear(agent(), to, color, &block));
  const auto seen = read(plane.kernel, to, sampler(kTexels, kNearest, kEdge), at);
  const auto is_in = [](uint32_t at_x, uint32_t at_y, const hsa_dim3_t& first, const hsa_dim3_t& range) {
    return at_x - first.x < range.x && at_y - first.y < range.y;
  };
  for (uint32_t i = 0; i < at.size(); ++i) {
    const uint32_t x = i % plane.size.x, y = i / plane.size.x;
    for (unsigned c = 0; c < 4; ++c) {
      uint32_t byte = 0;
      if (is_in(x, y, block.offset, block.range)) {
        byte = static_cast<uint32_t>(std::lround(color[c] * 255));
      } else if (is_in(x, y, target, size)) {
        byte = bytes[((y - target.y + source.y) * plane.size.x + x - target.x + source.x) * 4 + c];
      }
      ASSERT_EQ(seen[i][c], register_of(Encoding::kUnormalized, 8, byte)) << x << " " << y << ", " << c;
    }
  }
}

/// Changes the channels that the image's format does not store. Intensity and luminance formats store red.
std::vector<std::array<uint32_t, 4>> with_others_changed(const TestImage& test_image,
                                                         std::vector<std::array<uint32_t, 4>> texels) {
  const int* const from = test_image.order.from;
  for (auto& texel : texels) {
    for (unsigned c = 0; c < 4; ++c) {
      const bool kept = from[c] >= 0 && std::find(from, from + c, from[c]) == from + c;
      if (!kept) texel[c] = test_image.is_of_integers() ? 3 + c : bits_of(0.25f * static_cast<float>(c));
    }
  }
  return texels;
}

TEST_P(ImageKernels, ReadAndWriteEveryFormat) {
  constexpr uint32_t kWidth = 67, kHeight = 33;
  const hsa_ext_sampler_t sampler_handle = sampler(kTexels, kNearest, kEdge);
  std::vector<Float4> at(kWidth * kHeight);
  for (uint32_t i = 0; i < at.size(); ++i)
    at[i] = {static_cast<float>(i % kWidth) + 0.5f, static_cast<float>(i / kWidth) + 0.5f, 0, 0};
  for_every_format(kWidth, kHeight, [&](const TestImage& test_image, std::mt19937&) {
    const auto seen = read(test_image.reader(), test_image.image, sampler_handle, at);
    for (size_t i = 0; i < at.size(); ++i) {
      for (unsigned c = 0; c < 4; ++c) {
        const uint32_t expected = channel_of(test_image.order, test_image.type, test_image.texel(i), c);
        ASSERT_EQ(seen[i][c], expected) << "texel " << i << ", component " << c;
      }
    }
    const hsa_ext_image_t copy = image(test_image.descriptor);
    write(test_image.is_of_integers() ? "write_integers" : "write_2d", copy, at,
          with_others_changed(test_image, seen));
    const size_t component = test_image.type.bits / 8;
    auto* const back = shared<unsigned char>(test_image.components.size() * component);
    const hsa_ext_image_region_t all{{0, 0, 0}, {kWidth, kHeight, 1}};
    ASSERT_HSA(hsa_ext_image_export(agent(), copy, back, 0, 0, &all));
    for (size_t i = 0; i < test_image.components.size(); ++i) {
      uint32_t written = 0, expected = test_image.components[i];
      std::memcpy(&written, back + i * component, component);
      // The minimum of a signed normalized component reads as -1, like the next value, which is written back.
      const uint32_t minimum = 1u << (test_image.type.bits - 1);
      if (test_image.type.encoding == Encoding::kSignedNormalized && expected == minimum)
        expected = minimum + 1;
      ASSERT_EQ(written, expected) << "component " << i;
    }
  });
}

/// The texel index that an addressing mode selects, or -1 for the border.
int addressed(uint32_t mode, int at, int size) {
  switch (mode) {
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT:
      return (at % size + size) % size;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT: {
      const int in_period = (at % (2 * size) + 2 * size) % (2 * size);
      return in_period < size ? in_period : 2 * size - 1 - in_period;
    }
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER:
      return at >= 0 && at < size ? at : -1;
    default:
      return std::clamp(at, 0, size - 1);
  }
}

/// The two texels of a filter along one axis, and their weights.
struct Axis {
  int texel[2];
  double weight[2];
};
Axis axis_of(float coordinate, uint32_t mode, bool normalized, bool linear, int size) {
  const auto at = static_cast<double>(coordinate);
  const double in_texels = (normalized ? at * size : at) - (linear ? 0.5 : 0);
  const double low = std::floor(in_texels), fraction = linear ? in_texels - low : 0;
  const auto texel = [&](int n) { return addressed(mode, static_cast<int>(low) + n, size); };
  return {{texel(0), texel(1)}, {1 - fraction, fraction}};
}

TEST_P(ImageKernels, SampleEveryFormat) {
  constexpr int kWidth = 13, kHeight = 7, kPlaces = 300;
  struct Case {
    uint32_t mode;
    bool normalized, linear;
    hsa_ext_sampler_t sampler;
  };
  std::vector<Case> cases;
  for (const uint32_t mode :
       {HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE, HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER,
        HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT, HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT}) {
    for (const bool normalized : {false, true}) {
      // OpenCL does not allow repeat modes with unnormalized coordinates.
      const bool repeats = mode == HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT ||
                           mode == HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT;
      if (!normalized && repeats) continue;
      const uint32_t coordinates =
          normalized ? uint32_t{HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED} : kTexels;
      cases.push_back({mode, normalized, false, sampler(coordinates, kNearest, mode)});
      cases.push_back(
          {mode, normalized, true, sampler(coordinates, HSA_EXT_SAMPLER_FILTER_MODE_LINEAR, mode)});
    }
  }
  for_every_format(kWidth, kHeight, [&](const TestImage& test_image, std::mt19937& random) {
    const std::vector<uint32_t> border(test_image.order.channels);
    for (const auto& [mode, normalized, linear, sampler_handle] : cases) {
      if (test_image.is_of_integers() && linear) continue;  // OpenCL leaves the result undefined
      SCOPED_TRACE("mode " + std::to_string(mode) + (normalized ? ", normalised" : "") +
                   (linear ? ", linear" : ""));
      std::vector<Float4> at(kPlaces);
      for (Float4& coordinate : at) {
        const auto draw = [&, is_normalized = normalized](int size) {
          const float in_texels = static_cast<float>(random() % 4096) / 4096 * static_cast<float>(3 * size) -
                                  static_cast<float>(size);
          return is_normalized ? in_texels / static_cast<float>(size) : in_texels;
        };
        coordinate = {draw(kWidth), draw(kHeight), 0, 0};
      }
      const auto seen = read(test_image.reader(), test_image.image, sampler_handle, at);
      for (size_t i = 0; i < at.size(); ++i) {
        const Axis x = axis_of(at[i].x, mode, normalized, linear, kWidth);
        const Axis y = axis_of(at[i].y, mode, normalized, linear, kHeight);
        for (unsigned c = 0; c < 4; ++c) {
          uint32_t bits[4];
          double expected = 0, range = 0;
          for (unsigned n = 0; n < 4; ++n) {
            const int column = x.texel[n & 1], line = y.texel[n >> 1];
            const uint32_t* const texel = column < 0 || line < 0
                                              ? border.data()
                                              : test_image.texel(static_cast<size_t>(line * kWidth + column));
            bits[n] = channel_of(test_image.order, test_image.type, texel, c);
            float value = 0;
            std::memcpy(&value, &bits[n], sizeof value);
            expected += x.weight[n & 1] * y.weight[n >> 1] * static_cast<double>(value);
            range = std::max(range, std::fabs(static_cast<double>(value)));
          }
          if (!linear) {
            ASSERT_EQ(seen[i][c], bits[0]) << "at " << at[i].x << " " << at[i].y << ", component " << c;
            continue;
          }
          float actual = 0;
          std::memcpy(&actual, &seen[i][c], sizeof actual);
          // Weights are rounded to eight bits: an error of half a unit for each axis.
          ASSERT_NEAR(static_cast<double>(actual), expected, range * 2 / 256)
              << "at " << at[i].x << " " << at[i].y << ", component " << c;
        }
      }
    }
  });
}

}  // namespace
}  // namespace conformance
