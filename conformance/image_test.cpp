// Images: capabilities of agents, image and sampler handles, and copies to, from and between images.
#include <hsa/hsa_ext_image.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/optional_function.hpp"

namespace conformance {
namespace {

constexpr hsa_ext_image_format_t kRgba8{HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8,
                                        HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
constexpr hsa_ext_image_format_t kFloat{HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R};
constexpr hsa_ext_image_format_t kDepth{HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH};
constexpr hsa_ext_image_format_t kShort{HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16,
                                        HSA_EXT_IMAGE_CHANNEL_ORDER_R};

constexpr auto kUnsupported = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
constexpr auto kTooLarge = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED);
constexpr auto kPitch = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);
constexpr auto kNoSampler = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED);

/// A descriptor of each geometry and its extent in elements. The sizes are not multiples of any alignment.
struct Shape {
  const char* name;
  hsa_ext_image_descriptor_t image;
  hsa_dim3_t all;
};

const Shape kShapes[] = {
    {"1D", {HSA_EXT_IMAGE_GEOMETRY_1D, 301, 0, 0, 0, kRgba8}, {301, 1, 1}},
    {"2D", {HSA_EXT_IMAGE_GEOMETRY_2D, 37, 19, 0, 0, kRgba8}, {37, 19, 1}},
    {"3D", {HSA_EXT_IMAGE_GEOMETRY_3D, 13, 11, 7, 0, kShort}, {13, 11, 7}},
    {"1DA", {HSA_EXT_IMAGE_GEOMETRY_1DA, 45, 0, 0, 6, kFloat}, {45, 6, 1}},
    {"2DA", {HSA_EXT_IMAGE_GEOMETRY_2DA, 21, 9, 0, 5, kRgba8}, {21, 9, 5}},
    {"1DB", {HSA_EXT_IMAGE_GEOMETRY_1DB, 100'003, 0, 0, 0, kShort}, {100'003, 1, 1}},
    {"2DDEPTH", {HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, 33, 17, 0, 0, kDepth}, {33, 17, 1}},
    {"2DADEPTH", {HSA_EXT_IMAGE_GEOMETRY_2DADEPTH, 23, 5, 0, 4, kDepth}, {23, 5, 4}},
};

size_t element_size(const hsa_ext_image_format_t& format) {
  return format.channel_type == HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16 ? 2 : 4;
}

size_t elements(const hsa_dim3_t& range) {
  return size_t{range.x} * range.y * range.z;
}

std::vector<unsigned char> pattern(size_t size, unsigned seed) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 31 + i / 251 + seed);
  return bytes;
}

class ImageTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!has_images()) GTEST_SKIP() << "the agent has no images";
  }

  bool has_images() {
    bool result = false;
    EXPECT_HSA(hsa_agent_extension_supported(HSA_EXTENSION_IMAGES, agent(), 1, 0, &result));
    return result;
  }
};

/// An image with opaque layout, and its memory.
class OwnedImage {
 public:
  OwnedImage(hsa_agent_t agent, const hsa_ext_image_descriptor_t& image,
             hsa_access_permission_t permission = HSA_ACCESS_PERMISSION_RW)
      : agent_(agent) {
    hsa_ext_image_data_info_t info{};
    EXPECT_HSA(hsa_ext_image_data_get_info(agent, &image, permission, &info));
    EXPECT_GT(info.size, 0u);
    EXPECT_EQ(info.alignment & (info.alignment - 1), 0u);
    memory_ = allocate(local_pool(agent), info.size + info.alignment, agent);
    const auto address = reinterpret_cast<uintptr_t>(memory_.get());
    data_ = reinterpret_cast<void*>((address + info.alignment - 1) & ~(info.alignment - 1));
    EXPECT_HSA(hsa_ext_image_create(agent, &image, data_, permission, &image_));
  }
  ~OwnedImage() {
    if (image_.handle != 0) {
      EXPECT_HSA(hsa_ext_image_destroy(agent_, image_));
    }
  }
  OwnedImage(const OwnedImage&) = delete;
  OwnedImage& operator=(const OwnedImage&) = delete;

  hsa_ext_image_t get() const { return image_; }
  void* data() const { return data_; }

 private:
  hsa_agent_t agent_;
  PoolMemory memory_;
  void* data_ = nullptr;
  hsa_ext_image_t image_{};
};

// --- Capabilities and handles ------------------------------------------------------------------------------

using Images = ImageTest;
INSTANTIATE_FOR_AGENTS(Images);

TEST_P(Images, AreReportedAsExtension) {
  bool of_system = false;
  EXPECT_HSA(hsa_system_extension_supported(HSA_EXTENSION_IMAGES, 1, 0, &of_system));
  EXPECT_TRUE(of_system);
  uint8_t mask[128] = {};
  EXPECT_HSA(hsa_agent_get_info(agent(), HSA_AGENT_INFO_EXTENSIONS, mask));
  EXPECT_NE(mask[0] & 1 << HSA_EXTENSION_IMAGES, 0);
  hsa_ext_images_1_00_pfn_t table{};
  ASSERT_HSA(hsa_system_get_extension_table(HSA_EXTENSION_IMAGES, 1, 0, &table));
  ASSERT_NE(table.hsa_ext_image_get_capability, nullptr);
  ASSERT_NE(table.hsa_ext_sampler_destroy, nullptr);
  uint32_t capability = 0;
  EXPECT_HSA(table.hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &kRgba8, &capability));
  EXPECT_NE(capability & HSA_EXT_IMAGE_CAPABILITY_READ_ONLY, 0u);
}

TEST_P(Images, MeetMinimumLimitsOfTheManual) {
  const auto one = [&](int attribute) { return agent_info<uint32_t>(agent(), attribute); };
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS), 16384u);
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS), 16384u);
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS), 65536u);
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS), 2048u);
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES), 128u);
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES), 64u);
  EXPECT_GE(one(HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS), 16u);
  for (const int attribute :
       {HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS, HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS,
        HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS, HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS}) {
    for (const uint32_t limit : agent_info<std::array<uint32_t, 2>>(agent(), attribute))
      EXPECT_GE(limit, 16384u);
  }
  for (const uint32_t limit :
       agent_info<std::array<uint32_t, 3>>(agent(), HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS)) {
    EXPECT_GE(limit, 2048u);
  }
}

TEST_P(Images, SupportFormatsOfTheManual) {
  // The manual requires these formats of every agent with images, for reading 2D images.
  for (const uint32_t order : {HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}) {
    for (const uint32_t type :
         {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16,
          HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16,
          HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8,
          HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16, HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32,
          HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT}) {
      const hsa_ext_image_format_t format{type, order};
      uint32_t opaque = 0, linear = 0;
      EXPECT_HSA(hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &format, &opaque));
      EXPECT_NE(opaque & HSA_EXT_IMAGE_CAPABILITY_READ_ONLY, 0u) << type;
      EXPECT_HSA(hsa_ext_image_get_capability_with_layout(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &format,
                                                          HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, &linear));
      EXPECT_NE(linear & HSA_EXT_IMAGE_CAPABILITY_READ_ONLY, 0u) << type;
    }
  }
  uint32_t capability = ~0u;
  EXPECT_HSA(hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, &kRgba8, &capability));
  EXPECT_EQ(capability, uint32_t{HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED}) << "colours are no depths";
}

TEST_P(Images, CapabilityQueryRejectsInvalidArguments) {
  uint32_t mask = 0;
  const auto invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_STATUS(invalid, hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, nullptr, &mask));
  EXPECT_STATUS(invalid, hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &kRgba8, nullptr));
  EXPECT_STATUS(invalid, hsa_ext_image_get_capability_with_layout(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &kRgba8,
                                                                  HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, &mask));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_ext_image_get_capability({0}, HSA_EXT_IMAGE_GEOMETRY_2D, &kRgba8, &mask));
}

TEST_P(Images, ReportRequiredMemory) {
  for (const Shape& shape : kShapes) {
    hsa_ext_image_data_info_t info{};
    EXPECT_HSA(hsa_ext_image_data_get_info(agent(), &shape.image, HSA_ACCESS_PERMISSION_RO, &info))
        << shape.name;
    EXPECT_GE(info.size, elements(shape.all) * element_size(shape.image.format)) << shape.name;
    EXPECT_NE(info.alignment, 0u) << shape.name;
    EXPECT_EQ(info.alignment & (info.alignment - 1), 0u) << shape.name;
  }
}

TEST_P(Images, LinearLayoutSizeFollowsPitches) {
  const hsa_ext_image_descriptor_t image{HSA_EXT_IMAGE_GEOMETRY_2D, 256, 19, 0, 0, kRgba8};
  hsa_ext_image_data_info_t info{};
  ASSERT_HSA(hsa_ext_image_data_get_info_with_layout(agent(), &image, HSA_ACCESS_PERMISSION_RO,
                                                     HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 0, 0, &info));
  EXPECT_EQ(info.size, 1024u * 19);
  EXPECT_STATUS(kPitch,
                hsa_ext_image_data_get_info_with_layout(agent(), &image, HSA_ACCESS_PERMISSION_RO,
                                                        HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 1024, 1024, &info))
      << "a slice has nineteen rows";
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_ext_image_data_get_info_with_layout(agent(), &image, HSA_ACCESS_PERMISSION_RO,
                                                        HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, &info));
}

TEST_P(Images, UnsupportedDescriptorsAreRejected) {
  hsa_ext_image_data_info_t info{};
  const auto status = [&](const hsa_ext_image_descriptor_t& image) {
    return hsa_ext_image_data_get_info(agent(), &image, HSA_ACCESS_PERMISSION_RO, &info);
  };
  EXPECT_STATUS(kTooLarge, status({HSA_EXT_IMAGE_GEOMETRY_2D, 1u << 20, 1, 0, 0, kRgba8}));
  EXPECT_STATUS(kTooLarge, status({HSA_EXT_IMAGE_GEOMETRY_2D, 1, 1u << 20, 0, 0, kRgba8}));
  EXPECT_STATUS(kTooLarge, status({HSA_EXT_IMAGE_GEOMETRY_2DA, 1, 1, 0, 1u << 20, kRgba8}));
  EXPECT_STATUS(kUnsupported, status({HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, 16, 16, 0, 0, kRgba8}));
  const hsa_ext_image_descriptor_t image{HSA_EXT_IMAGE_GEOMETRY_2D, 16, 16, 0, 0, kRgba8};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_ext_image_data_get_info(agent(), nullptr, HSA_ACCESS_PERMISSION_RO, &info));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_ext_image_data_get_info(agent(), &image, HSA_ACCESS_PERMISSION_RO, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_ext_image_data_get_info(agent(), &image, HSA_ACCESS_PERMISSION_NONE, &info));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_ext_image_data_get_info({0}, &image, HSA_ACCESS_PERMISSION_RO, &info));
}

TEST_P(Images, EveryGeometryIsCreatedAndDestroyed) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    const OwnedImage image(agent(), shape.image);
    EXPECT_NE(image.get().handle, 0u);
  }
}

TEST_P(Images, HandleContainsTypeOrderAndWidth) {
  const OwnedImage image(agent(), kShapes[1].image);
  // HIP copies twelve words from the address in the handle. Device library functions read the last ones.
  uint32_t words[12];
  std::memcpy(words, reinterpret_cast<const void*>(image.get().handle), sizeof words);
  EXPECT_EQ(words[8], kRgba8.channel_type);
  EXPECT_EQ(words[9], kRgba8.channel_order);
  EXPECT_EQ(words[10], 37u);
}

TEST_P(Images, SeveralHandlesShareMemory) {
  const OwnedImage first(agent(), kShapes[1].image);
  hsa_ext_image_t second{}, third{};
  EXPECT_HSA(
      hsa_ext_image_create(agent(), &kShapes[1].image, first.data(), HSA_ACCESS_PERMISSION_RO, &second));
  EXPECT_HSA(
      hsa_ext_image_create(agent(), &kShapes[1].image, first.data(), HSA_ACCESS_PERMISSION_RW, &third));
  EXPECT_NE(first.get().handle, second.handle);
  EXPECT_NE(second.handle, third.handle);
  EXPECT_HSA(hsa_ext_image_destroy(agent(), second));
  EXPECT_HSA(hsa_ext_image_destroy(agent(), third));
}

TEST_P(Images, ReportedMaximumCanBeCreated) {
  const OwnedImage one(agent(), kShapes[1].image);
  std::vector<hsa_ext_image_t> images(agent_info<uint32_t>(agent(), HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES));
  for (hsa_ext_image_t& image : images)
    ASSERT_HSA(
        hsa_ext_image_create(agent(), &kShapes[1].image, one.data(), HSA_ACCESS_PERMISSION_RO, &image));
  for (const hsa_ext_image_t image : images) EXPECT_HSA(hsa_ext_image_destroy(agent(), image));
}

TEST_P(Images, CreationRejectsInvalidArguments) {
  const OwnedImage image(agent(), kShapes[1].image);
  const hsa_ext_image_descriptor_t& good = kShapes[1].image;
  hsa_ext_image_t created{};
  const auto invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto permission = HSA_ACCESS_PERMISSION_RO;
  EXPECT_STATUS(invalid, hsa_ext_image_create(agent(), nullptr, image.data(), permission, &created));
  EXPECT_STATUS(invalid, hsa_ext_image_create(agent(), &good, nullptr, permission, &created));
  EXPECT_STATUS(invalid, hsa_ext_image_create(agent(), &good, image.data(), permission, nullptr));
  EXPECT_STATUS(invalid, hsa_ext_image_create(agent(), &good, static_cast<char*>(image.data()) + 4,
                                              permission, &created))
      << "misaligned";
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_ext_image_create({0}, &good, image.data(), permission, &created));
  hsa_ext_image_descriptor_t other = good;
  other.width = 1u << 20;
  EXPECT_STATUS(kTooLarge, hsa_ext_image_create(agent(), &other, image.data(), permission, &created));
  other = good;
  other.geometry = HSA_EXT_IMAGE_GEOMETRY_2DDEPTH;
  EXPECT_STATUS(kUnsupported, hsa_ext_image_create(agent(), &other, image.data(), permission, &created));
  EXPECT_STATUS(invalid, hsa_ext_image_create_with_layout(agent(), &good, image.data(), permission,
                                                          HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, &created));
}

using Samplers = ImageTest;
INSTANTIATE_FOR_AGENTS(Samplers);

TEST_P(Samplers, EveryModeIsCreatedAndDestroyed) {
  for (uint32_t coordinates : {0, 1}) {
    for (uint32_t filter : {0, 1}) {
      for (uint32_t address = 0; address <= 4; ++address) {
        const hsa_ext_sampler_descriptor_t descriptor{coordinates, filter, address};
        hsa_ext_sampler_t sampler{};
        ASSERT_HSA(hsa_ext_sampler_create(agent(), &descriptor, &sampler));
        EXPECT_NE(sampler.handle, 0u);
        EXPECT_HSA(hsa_ext_sampler_destroy(agent(), sampler));
      }
    }
  }
}

TEST_P(Samplers, CreationRejectsNulls) {
  const hsa_ext_sampler_descriptor_t descriptor{};
  hsa_ext_sampler_t sampler{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_ext_sampler_create(agent(), nullptr, &sampler));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_ext_sampler_create(agent(), &descriptor, nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_ext_sampler_create({0}, &descriptor, &sampler));
}

TEST_P(Samplers, EachAxisHasSeparateMode) {
  REQUIRE_HSA(hsa_ext_sampler_create_v2);
  const hsa_ext_sampler_descriptor_v2_t descriptor{
      HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,
      HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
      HSA_EXT_SAMPLER_FILTER_MODE_NONE,
      {HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT, HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE,
       HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER}};
  hsa_ext_sampler_t sampler{};
  ASSERT_HSA(hsa_ext_sampler_create_v2(agent(), &descriptor, &sampler));
  EXPECT_HSA(hsa_ext_sampler_destroy(agent(), sampler));
}

TEST_P(Samplers, DescriptorWithoutMipFilterIsAccepted) {
  REQUIRE_HSA(hsa_ext_sampler_create_v2);
  const uint32_t old_descriptor[] = {
      HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,      HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
      HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT,          HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT,
      HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT, 0xffffffff};
  hsa_ext_sampler_descriptor_v2_t descriptor{};
  static_assert(sizeof descriptor == sizeof old_descriptor);
  std::memcpy(&descriptor, old_descriptor, sizeof descriptor);
  hsa_ext_sampler_t sampler{};
  ASSERT_HSA(hsa_ext_sampler_create_v2(agent(), &descriptor, &sampler));
  EXPECT_HSA(hsa_ext_sampler_destroy(agent(), sampler));
}

TEST_P(Samplers, MipmapLevelsAreRejected) {
  REQUIRE_HSA(hsa_ext_image_data_get_info_v2);
  hsa_ext_image_descriptor_v2_t image{};
  image.geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
  image.width = image.height = 64;
  image.format = {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA};
  hsa_ext_image_data_info_t one{}, none{};
  ASSERT_HSA(hsa_ext_image_data_get_info_v2(agent(), &image, HSA_ACCESS_PERMISSION_RO, &one));
  EXPECT_GE(one.size, size_t{64 * 64 * 4});
  image.mipmap_levels = 7;
  EXPECT_STATUS(static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED),
                hsa_ext_image_data_get_info_v2(agent(), &image, HSA_ACCESS_PERMISSION_RO, &none));
  image.mipmap_levels = 8;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_ext_image_data_get_info_v2(agent(), &image, HSA_ACCESS_PERMISSION_RO, &none))
      << "64 is halved six times";
}

// --- Cases in which ROCr answers differently or ends the process -------------------------------------------

using StrictImages = ImageTest;
INSTANTIATE_FOR_AGENTS(StrictImages);

TEST_P(StrictImages, InvalidRowPitchesAreRejected) {
  const hsa_ext_image_descriptor_t image{HSA_EXT_IMAGE_GEOMETRY_2D, 37, 19, 0, 0, kRgba8};
  hsa_ext_image_data_info_t info{};
  for (const size_t pitch : {37 * 4, 37 * 4 + 1, 64, 37 * 4 + 4}) {
    EXPECT_STATUS(kPitch,
                  hsa_ext_image_data_get_info_with_layout(agent(), &image, HSA_ACCESS_PERMISSION_RO,
                                                          HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, 0, &info))
        << pitch;
  }
}

TEST_P(StrictImages, RowPitchAlignmentIsReported) {
  const auto alignment = agent_info<uint32_t>(agent(), HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT);
  ASSERT_NE(alignment, 0u);
  EXPECT_EQ(alignment & (alignment - 1), 0u);
  for (const hsa_ext_image_format_t& format : {kRgba8, kShort, kFloat}) {
    const hsa_ext_image_descriptor_t image{
        HSA_EXT_IMAGE_GEOMETRY_2D, alignment / element_size(format), 19, 0, 0, format};
    hsa_ext_image_data_info_t info{};
    EXPECT_HSA(hsa_ext_image_data_get_info_with_layout(
        agent(), &image, HSA_ACCESS_PERMISSION_RO, HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, alignment, 0, &info));
    EXPECT_EQ(info.size, alignment * 19);
  }
}

TEST_P(StrictImages, InvalidHandlesAreRejected) {
  const auto invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const hsa_ext_image_region_t region{{0, 0, 0}, {1, 1, 1}};
  unsigned char memory[16] = {};
  for (const hsa_ext_image_t image : {hsa_ext_image_t{0}, hsa_ext_image_t{4096}}) {
    EXPECT_STATUS(invalid, hsa_ext_image_destroy(agent(), image));
    EXPECT_STATUS(invalid, hsa_ext_image_import(agent(), memory, 0, 0, image, &region));
    EXPECT_STATUS(invalid, hsa_ext_image_export(agent(), image, memory, 0, 0, &region));
    EXPECT_STATUS(invalid, hsa_ext_image_clear(agent(), image, memory, &region));
  }
  EXPECT_STATUS(invalid, hsa_ext_sampler_destroy(agent(), {4096}));
  hsa_ext_image_t gone{};
  {
    const OwnedImage image(agent(), kShapes[1].image);
    gone = image.get();
  }
  EXPECT_STATUS(invalid, hsa_ext_image_destroy(agent(), gone));
}

TEST_P(StrictImages, InvalidSamplerModesAreRejected) {
  hsa_ext_sampler_t sampler{};
  for (const hsa_ext_sampler_descriptor_t& descriptor :
       {hsa_ext_sampler_descriptor_t{2, 0, 0}, {0, 2, 0}, {0, 0, 5}}) {
    EXPECT_STATUS(kNoSampler, hsa_ext_sampler_create(agent(), &descriptor, &sampler));
  }
}

TEST_P(StrictImages, GraphicsImageIsCreatedFromMetadata) {
  const OwnedImage source_image(agent(), kShapes[1].image);
  const auto chip = agent_info<uint32_t>(agent(), HSA_AMD_AGENT_INFO_CHIP_ID);
  // The words of our image, as a graphics driver writes them for address 0.
  struct {
    uint32_t version, device, words[8];
  } metadata{1, 0x1002u << 16 | chip, {}};
  std::memcpy(metadata.words, reinterpret_cast<const void*>(source_image.get().handle),
              sizeof metadata.words);
  metadata.words[0] = 0;
  const auto* const layout = reinterpret_cast<const hsa_amd_image_descriptor_t*>(&metadata);
  hsa_ext_image_t created{};
  ASSERT_HSA(hsa_amd_image_create(agent(), &kShapes[1].image, layout, source_image.data(),
                                  HSA_ACCESS_PERMISSION_RW, &created));
  // The words after these describe compression and contain another address.
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(created.handle),
                        reinterpret_cast<const void*>(source_image.get().handle), 5 * sizeof(uint32_t)),
            0);
  EXPECT_HSA(hsa_ext_image_destroy(agent(), created));
  metadata.version = 2;
  EXPECT_STATUS(kUnsupported, hsa_amd_image_create(agent(), &kShapes[1].image, layout, source_image.data(),
                                                   HSA_ACCESS_PERMISSION_RW, &created));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_image_create(agent(), &kShapes[1].image, nullptr, source_image.data(),
                                     HSA_ACCESS_PERMISSION_RW, &created));
}

// --- Copies ------------------------------------------------------------------------------------------------

using ImageCopy = ImageTest;
INSTANTIATE_FOR_AGENTS(ImageCopy);

TEST_P(ImageCopy, ExportReturnsImportedBytes) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    const OwnedImage image(agent(), shape.image);
    const size_t size = elements(shape.all) * element_size(shape.image.format);
    const std::vector<unsigned char> in = pattern(size, 3);
    std::vector<unsigned char> out(size + 8, 0xee);
    const hsa_ext_image_region_t all{{0, 0, 0}, shape.all};
    ASSERT_HSA(hsa_ext_image_import(agent(), in.data(), 0, 0, image.get(), &all));
    ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), out.data(), 0, 0, &all));
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
    EXPECT_EQ(std::vector<unsigned char>(out.begin() + static_cast<ptrdiff_t>(size), out.end()),
              std::vector<unsigned char>(8, 0xee));
  }
}

TEST_P(ImageCopy, PartialImportKeepsOtherTexels) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    const OwnedImage image(agent(), shape.image);
    const size_t element = element_size(shape.image.format);
    const hsa_dim3_t all = shape.all;
    std::vector<unsigned char> expected = pattern(elements(all) * element, 5);
    const hsa_ext_image_region_t whole{{0, 0, 0}, all};
    ASSERT_HSA(hsa_ext_image_import(agent(), expected.data(), 0, 0, image.get(), &whole));

    const hsa_ext_image_region_t part{{all.x / 3, all.y / 3, all.z / 3},
                                      {all.x / 2, all.y == 1 ? 1 : all.y / 2, all.z == 1 ? 1 : all.z / 2}};
    const std::vector<unsigned char> in = pattern(elements(part.range) * element, 77);
    ASSERT_HSA(hsa_ext_image_import(agent(), in.data(), 0, 0, image.get(), &part));
    size_t at = 0;
    for (uint32_t z = 0; z < part.range.z; ++z) {
      for (uint32_t y = 0; y < part.range.y; ++y) {
        const size_t row =
            ((size_t{part.offset.z + z} * all.y + part.offset.y + y) * all.x + part.offset.x) * element;
        std::memcpy(expected.data() + row, in.data() + at, part.range.x * element);
        at += part.range.x * element;
      }
    }
    std::vector<unsigned char> out(expected.size());
    ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), out.data(), 0, 0, &whole));
    EXPECT_TRUE(out == expected);
    std::vector<unsigned char> back(in.size());
    ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), back.data(), 0, 0, &part));
    EXPECT_TRUE(back == in);
  }
}

TEST_P(ImageCopy, SupportsPitchedMemory) {
  const hsa_ext_image_descriptor_t volume{HSA_EXT_IMAGE_GEOMETRY_3D, 13, 11, 7, 0, kFloat};
  const OwnedImage image(agent(), volume);
  constexpr size_t kRow = 13 * 4 + 12, kSlice = kRow * 11 + 40;
  const std::vector<unsigned char> in = pattern(kSlice * 7, 9);
  std::vector<unsigned char> out(kSlice * 7, 0xee);
  const hsa_ext_image_region_t all{{0, 0, 0}, {13, 11, 7}};
  ASSERT_HSA(hsa_ext_image_import(agent(), in.data(), kRow, kSlice, image.get(), &all));
  ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), out.data(), kRow, kSlice, &all));
  for (size_t z = 0; z < 7; ++z) {
    for (size_t y = 0; y < 11; ++y) {
      const size_t row = z * kSlice + y * kRow;
      ASSERT_EQ(std::memcmp(out.data() + row, in.data() + row, 13 * 4), 0) << z << ", " << y;
      ASSERT_EQ(out[row + 13 * 4], 0xee) << "nothing is between the rows";
    }
  }
}

TEST_P(ImageCopy, SupportsDeviceMemory) {
  const OwnedImage image(agent(), kShapes[1].image);
  const size_t size = elements(kShapes[1].all) * 4;
  const PoolMemory memory = allocate(local_pool(agent()), size, agent());
  const std::vector<unsigned char> in = pattern(size, 21);
  std::vector<unsigned char> out(size);
  const hsa_ext_image_region_t all{{0, 0, 0}, kShapes[1].all};
  ASSERT_HSA(hsa_memory_copy(memory.get(), in.data(), size));
  ASSERT_HSA(hsa_ext_image_import(agent(), memory.get(), 0, 0, image.get(), &all));
  ASSERT_HSA(hsa_memory_copy(memory.get(), out.data(), size));
  ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), memory.get(), 0, 0, &all));
  ASSERT_HSA(hsa_memory_copy(out.data(), memory.get(), size));
  EXPECT_TRUE(out == in);
}

TEST_P(ImageCopy, LinearLayoutFollowsPitches) {
  const uint32_t pitch =
      2 * agent_info<uint32_t>(agent(), HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT);
  const hsa_ext_image_descriptor_t image{HSA_EXT_IMAGE_GEOMETRY_2D, pitch / 4, 7, 0, 0, kRgba8};
  hsa_ext_image_data_info_t info{};
  ASSERT_HSA(hsa_ext_image_data_get_info_with_layout(agent(), &image, HSA_ACCESS_PERMISSION_RW,
                                                     HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, 0, &info));
  ASSERT_EQ(info.size, size_t{pitch} * 7);
  const PoolMemory memory = allocate(local_pool(agent()), info.size, agent());
  const std::vector<unsigned char> in = pattern(info.size, 40);
  ASSERT_HSA(hsa_memory_copy(memory.get(), in.data(), info.size));
  hsa_ext_image_t handle{};
  ASSERT_HSA(hsa_ext_image_create_with_layout(agent(), &image, memory.get(), HSA_ACCESS_PERMISSION_RW,
                                              HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, 0, &handle));
  unsigned char element[4] = {};
  const hsa_ext_image_region_t one{{5, 3, 0}, {1, 1, 1}};
  EXPECT_HSA(hsa_ext_image_export(agent(), handle, element, 0, 0, &one));
  EXPECT_EQ(std::memcmp(element, in.data() + size_t{3} * pitch + 5 * 4, 4), 0);
  EXPECT_HSA(hsa_ext_image_destroy(agent(), handle));
}

TEST_P(ImageCopy, CopiesImageToImage) {
  const OwnedImage plane(agent(), kShapes[1].image);  // 37 x 19
  const hsa_ext_image_descriptor_t volume_shape{HSA_EXT_IMAGE_GEOMETRY_3D, 40, 20, 3, 0, kRgba8};
  const OwnedImage volume(agent(), volume_shape);
  const std::vector<unsigned char> in = pattern(size_t{37} * 19 * 4, 11);
  const hsa_ext_image_region_t all{{0, 0, 0}, {37, 19, 1}};
  ASSERT_HSA(hsa_ext_image_import(agent(), in.data(), 0, 0, plane.get(), &all));
  const hsa_dim3_t from{0, 0, 0}, to{2, 1, 1};
  ASSERT_HSA(hsa_ext_image_copy(agent(), plane.get(), &from, volume.get(), &to, &all.range));
  std::vector<unsigned char> out(in.size());
  const hsa_ext_image_region_t copied{to, all.range};
  ASSERT_HSA(hsa_ext_image_export(agent(), volume.get(), out.data(), 0, 0, &copied));
  EXPECT_TRUE(out == in);
}

TEST_P(ImageCopy, CopiesSrgbValuesUnchanged) {
  const OwnedImage linear(agent(), kShapes[1].image);
  hsa_ext_image_descriptor_t standard_shape = kShapes[1].image;
  standard_shape.format.channel_order = HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA;
  const OwnedImage standard(agent(), standard_shape, HSA_ACCESS_PERMISSION_RO);
  const std::vector<unsigned char> in = pattern(size_t{37} * 19 * 4, 13);
  const hsa_ext_image_region_t all{{0, 0, 0}, {37, 19, 1}};
  ASSERT_HSA(hsa_ext_image_import(agent(), in.data(), 0, 0, linear.get(), &all));
  ASSERT_HSA(hsa_ext_image_copy(agent(), linear.get(), &all.offset, standard.get(), &all.offset, &all.range));
  std::vector<unsigned char> out(in.size());
  ASSERT_HSA(hsa_ext_image_export(agent(), standard.get(), out.data(), 0, 0, &all));
  EXPECT_TRUE(out == in);
}

TEST_P(ImageCopy, RejectsInvalidArguments) {
  const OwnedImage image(agent(), kShapes[1].image);
  const OwnedImage other(agent(), kShapes[2].image);
  const auto invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const hsa_ext_image_region_t all{{0, 0, 0}, {37, 19, 1}};
  std::vector<unsigned char> memory(size_t{37} * 19 * 4);
  EXPECT_STATUS(invalid, hsa_ext_image_import(agent(), nullptr, 0, 0, image.get(), &all));
  EXPECT_STATUS(invalid, hsa_ext_image_import(agent(), memory.data(), 0, 0, image.get(), nullptr));
  EXPECT_STATUS(invalid, hsa_ext_image_export(agent(), image.get(), nullptr, 0, 0, &all));
  EXPECT_STATUS(invalid, hsa_ext_image_export(agent(), image.get(), memory.data(), 0, 0, nullptr));
  EXPECT_STATUS(invalid, hsa_ext_image_clear(agent(), image.get(), nullptr, &all));
  EXPECT_STATUS(invalid, hsa_ext_image_clear(agent(), image.get(), memory.data(), nullptr));
  EXPECT_STATUS(invalid,
                hsa_ext_image_copy(agent(), image.get(), nullptr, image.get(), &all.offset, &all.range));
  EXPECT_STATUS(invalid,
                hsa_ext_image_copy(agent(), image.get(), &all.offset, other.get(), &all.offset, &all.range))
      << "another format";
  for (const hsa_ext_image_region_t& outside :
       {hsa_ext_image_region_t{{1, 0, 0}, {37, 1, 1}}, {{0, 1, 0}, {1, 19, 1}}, {{0, 0, 1}, {1, 1, 1}}}) {
    EXPECT_STATUS(invalid, hsa_ext_image_import(agent(), memory.data(), 0, 0, image.get(), &outside));
    EXPECT_STATUS(invalid, hsa_ext_image_export(agent(), image.get(), memory.data(), 0, 0, &outside));
    EXPECT_STATUS(invalid, hsa_ext_image_clear(agent(), image.get(), memory.data(), &outside));
  }
  EXPECT_STATUS(invalid, hsa_ext_image_import(agent(), memory.data(), SIZE_MAX / 2, 0, image.get(), &all))
      << "rows in no address space";
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_ext_image_import({0}, memory.data(), 0, 0, image.get(), &all));
}

TEST_P(ImageCopy, ClearsBlock) {
  const float value[4] = {0.2f, 0.4f, 0.6f, 0.8f};
  for (const Shape& shape : {kShapes[1], kShapes[4]}) {
    SCOPED_TRACE(shape.name);
    const OwnedImage image(agent(), shape.image);
    const size_t count = elements(shape.all);
    std::vector<unsigned char> expected = pattern(count * 4, 17);
    const hsa_ext_image_region_t all{{0, 0, 0}, shape.all};
    ASSERT_HSA(hsa_ext_image_import(agent(), expected.data(), 0, 0, image.get(), &all));
    const hsa_ext_image_region_t part{{3, 2, shape.all.z / 2}, {7, 5, 1}};
    ASSERT_HSA(hsa_ext_image_clear(agent(), image.get(), value, &part));
    constexpr unsigned char kElement[4] = {51, 102, 153, 204};
    for (uint32_t y = 0; y < part.range.y; ++y) {
      for (uint32_t x = 0; x < part.range.x; ++x) {
        const size_t index =
            (size_t{part.offset.z} * shape.all.y + part.offset.y + y) * shape.all.x + part.offset.x + x;
        std::memcpy(expected.data() + index * 4, kElement, 4);
      }
    }
    std::vector<unsigned char> out(expected.size());
    ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), out.data(), 0, 0, &all));
    EXPECT_TRUE(out == expected);
  }
}

TEST_P(ImageCopy, ClearsLargeImage) {
  const hsa_ext_image_descriptor_t shape{HSA_EXT_IMAGE_GEOMETRY_2D, 1500, 700, 0, 0, kFloat};
  const OwnedImage image(agent(), shape);
  const float value[4] = {0.3f, 0, 0, 0};
  const hsa_ext_image_region_t all{{0, 0, 0}, {1500, 700, 1}};
  ASSERT_HSA(hsa_ext_image_clear(agent(), image.get(), value, &all));
  std::vector<float> out(size_t{1500} * 700);
  ASSERT_HSA(hsa_ext_image_export(agent(), image.get(), out.data(), 0, 0, &all));
  EXPECT_EQ(out, std::vector<float>(out.size(), 0.3f));
}

// --- Agents without images ---------------------------------------------------------------------------------

using AgentWithoutImages = AgentTest;
INSTANTIATE_FOR_AGENTS(AgentWithoutImages);

TEST_P(AgentWithoutImages, ReportsNoImagesAndRejectsCreation) {
  bool has = true;
  ASSERT_HSA(hsa_agent_extension_supported(HSA_EXTENSION_IMAGES, agent(), 1, 0, &has));
  if (has) GTEST_SKIP() << "the agent has images";
  EXPECT_EQ(agent_info<uint32_t>(agent(), HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES), 0u);
  uint32_t capability = ~0u;
  EXPECT_HSA(hsa_ext_image_get_capability(agent(), HSA_EXT_IMAGE_GEOMETRY_2D, &kRgba8, &capability));
  EXPECT_EQ(capability, uint32_t{HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED});
  const hsa_ext_image_descriptor_t& image = kShapes[1].image;
  hsa_ext_image_data_info_t info{};
  EXPECT_STATUS(kUnsupported, hsa_ext_image_data_get_info(agent(), &image, HSA_ACCESS_PERMISSION_RO, &info));
  hsa_ext_image_t created{};
  alignas(256) static unsigned char memory[4096];
  EXPECT_STATUS(kUnsupported,
                hsa_ext_image_create(agent(), &image, memory, HSA_ACCESS_PERMISSION_RO, &created));
  const hsa_ext_sampler_descriptor_t descriptor{};
  hsa_ext_sampler_t sampler{};
  EXPECT_STATUS(kNoSampler, hsa_ext_sampler_create(agent(), &descriptor, &sampler));
}

}  // namespace
}  // namespace conformance
