#include "backends/common/image.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/gfx10/image.hpp"
#include "backends/gfx11/image.hpp"
#include "backends/gfx12/image.hpp"
#include "backends/gfx8/image.hpp"
#include "backends/gfx9/image.hpp"

namespace rigel::gfx {
namespace {

constexpr GfxVersion kFiji{8, 0, 3}, kVega10{9, 0, 0}, kNavi10{10, 1, 0}, kNavi21{10, 3, 0},
    kNavi31{11, 0, 0}, kNavi48{12, 0, 1};
constexpr uint64_t kAddress = 0x7f12'3456'7800;

struct Generation {
  const char* name;
  const ImageGeneration& images;
  GfxVersion version;
};

const Generation kGfx8{"gfx8", gfx8::kImages, kFiji};
const Generation kGfx9{"gfx9", gfx9::kImages, kVega10};
const Generation kGfx101{"gfx10_1", gfx10::kImages, kNavi10};
const Generation kGfx103{"gfx10_3", gfx10::kImages, kNavi21};
const Generation kGfx11{"gfx11", gfx11::kImages, kNavi31};
const Generation kGfx12{"gfx12", gfx12::kImages, kNavi48};

using Words = std::array<uint32_t, HSABE_IMAGE_WORDS>;

hsa_ext_image_descriptor_t plane(size_t width, size_t height,
                                 uint32_t type = HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8,
                                 uint32_t order = HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA) {
  return {HSA_EXT_IMAGE_GEOMETRY_2D, width, height, 0, 0, {type, order}};
}

hsa_ext_image_descriptor_t row(hsa_ext_image_geometry_t geometry, size_t width, size_t layers = 0) {
  return {geometry, width, 0, 0, layers, {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R}};
}

hsabe_image_layout_t opaque(const Generation& on, const hsa_ext_image_descriptor_t& image) {
  hsabe_image_layout_t layout{};
  EXPECT_EQ(lay_out_image(on.images, on.version, image, HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE, 0, 0, layout),
            HSA_STATUS_SUCCESS);
  return layout;
}

hsabe_status_t status_of(const Generation& on, const hsa_ext_image_descriptor_t& image,
                         uint64_t row_pitch = 0, uint64_t slice_pitch = 0) {
  hsabe_image_layout_t layout{};
  return lay_out_image(on.images, on.version, image, HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, row_pitch, slice_pitch,
                       layout);
}

Words words_of(const Generation& on, const hsa_ext_image_descriptor_t& image, uint64_t row_pitch = 0) {
  hsabe_image_layout_t layout = opaque(on, image);
  if (row_pitch != 0) layout.row_pitch = row_pitch;
  Words words{};
  EXPECT_EQ(describe_image(on.images, on.version, image, layout, kAddress, words), HSA_STATUS_SUCCESS);
  return words;
}

// Positions of fields, from Mesa's sid.h and gfx10-rsrc.json.
struct Field {
  unsigned word, first, bits;
  uint32_t in(std::span<const uint32_t> words) const {
    return static_cast<uint32_t>(words[word] >> first & ((uint64_t{1} << bits) - 1));
  }
};

namespace si {  // gfx8 and gfx9
constexpr Field kBaseAddressHi{1, 0, 8}, kDataFormat{1, 20, 6}, kNumFormat{1, 26, 4};
constexpr Field kWidth{2, 0, 14}, kHeight{2, 14, 14};
constexpr Field kDstSelX{3, 0, 3}, kDstSelY{3, 3, 3}, kDstSelZ{3, 6, 3}, kDstSelW{3, 9, 3}, kType{3, 28, 4};
constexpr Field kBaseLevel{3, 12, 4}, kLastLevel{3, 16, 4};
constexpr Field kTilingIndex{3, 20, 5}, kSwMode{3, 20, 5};
constexpr Field kDepth{4, 0, 13}, kPitchGfx6{4, 13, 14}, kPitchGfx9{4, 13, 16}, kBcSwizzle{4, 29, 3};
constexpr Field kLastArray{5, 13, 13};
constexpr Field kBufferStride{1, 16, 14}, kBufferNumFormat{3, 12, 3}, kBufferDataFormat{3, 15, 4};
constexpr Field kBufferType{3, 30, 2};
}  // namespace si

namespace nv {  // gfx10
constexpr Field kFormat{1, 20, 9}, kWidthLo{1, 30, 2}, kWidthHi{2, 0, 12}, kHeight{2, 14, 14};
constexpr Field kResourceLevel{2, 31, 1}, kSwMode{3, 20, 5}, kBcSwizzle{3, 25, 3}, kType{3, 28, 4};
constexpr Field kDepth{4, 0, 13}, kPitch{4, 0, 14}, kBaseArray{4, 16, 13};
constexpr Field kBufferFormat{3, 12, 7}, kBufferResourceLevel{3, 24, 1};
}  // namespace nv

TEST(ImageWords, DescribePlaneOnGfx9) {
  const Words words = words_of(kGfx9, plane(301, 67));
  EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress >> 8));
  EXPECT_EQ(si::kBaseAddressHi.in(words), kAddress >> 40);
  EXPECT_EQ(si::kDataFormat.in(words), 10u) << "8_8_8_8";
  EXPECT_EQ(si::kNumFormat.in(words), 0u) << "UNORM";
  EXPECT_EQ(si::kWidth.in(words), 300u);
  EXPECT_EQ(si::kHeight.in(words), 66u);
  EXPECT_EQ(si::kDstSelX.in(words), 4u);
  EXPECT_EQ(si::kDstSelY.in(words), 5u);
  EXPECT_EQ(si::kDstSelZ.in(words), 6u);
  EXPECT_EQ(si::kDstSelW.in(words), 7u);
  EXPECT_EQ(si::kBaseLevel.in(words), 0u);
  EXPECT_EQ(si::kLastLevel.in(words), 0u);
  EXPECT_EQ(si::kSwMode.in(words), 0u) << "LINEAR";
  EXPECT_EQ(si::kType.in(words), 9u) << "2D";
  EXPECT_EQ(si::kDepth.in(words), 0u);
  EXPECT_EQ(si::kPitchGfx9.in(words), 319u) << "1280 bytes, less one";
  EXPECT_EQ(si::kBcSwizzle.in(words), 0u);
}

TEST(ImageWords, DescribePlaneOnGfx8) {
  const Words words = words_of(kGfx8, plane(301, 67, HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT));
  EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress >> 8));
  EXPECT_EQ(si::kBaseAddressHi.in(words), kAddress >> 40);
  EXPECT_EQ(si::kDataFormat.in(words), 12u) << "16_16_16_16";
  EXPECT_EQ(si::kNumFormat.in(words), 7u) << "FLOAT";
  EXPECT_EQ(si::kWidth.in(words), 300u);
  EXPECT_EQ(si::kHeight.in(words), 66u);
  EXPECT_EQ(si::kTilingIndex.in(words), 8u) << "LINEAR_ALIGNED";
  EXPECT_EQ(si::kType.in(words), 9u);
  EXPECT_EQ(si::kPitchGfx6.in(words), 319u);
  EXPECT_EQ(si::kLastArray.in(words), 0u);
}

TEST(ImageWords, DescribePlaneOnGfx10) {
  const Words words = words_of(kGfx101, plane(302, 67));
  EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress >> 8));
  EXPECT_EQ(nv::kFormat.in(words), 56u) << "8_8_8_8_UNORM";
  EXPECT_EQ(nv::kWidthLo.in(words) | nv::kWidthHi.in(words) << 2, 301u);
  EXPECT_EQ(nv::kHeight.in(words), 66u);
  EXPECT_EQ(nv::kResourceLevel.in(words), 1u);
  EXPECT_EQ(nv::kSwMode.in(words), 0u);
  EXPECT_EQ(nv::kType.in(words), 9u);
  EXPECT_EQ(words[4], 0u) << "gfx10.1 reckons the pitch from the width";
  EXPECT_EQ(nv::kPitch.in(words_of(kGfx103, plane(302, 67))), 319u);
  EXPECT_EQ(nv::kPitch.in(words_of(kGfx103, plane(302, 67), 2048)), 511u);
}

// resource_gfx11.h of ROCr.
TEST(ImageWords, DescribePlaneAndBufferOnGfx11) {
  const Words words = words_of(kGfx11, plane(302, 67));
  EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress >> 8));
  EXPECT_EQ(nv::kFormat.in(words), 42u) << "8_8_8_8_UNORM";
  EXPECT_EQ(nv::kWidthLo.in(words) | nv::kWidthHi.in(words) << 2, 301u);
  EXPECT_EQ(nv::kHeight.in(words), 66u);
  EXPECT_EQ(nv::kResourceLevel.in(words), 0u) << "does not exist";
  EXPECT_EQ(nv::kPitch.in(words), 319u);
  const Words buffer = words_of(kGfx11, row(HSA_EXT_IMAGE_GEOMETRY_1DB, 50));
  EXPECT_EQ(nv::kBufferFormat.in(buffer), 22u) << "32_FLOAT";
  EXPECT_EQ(nv::kBufferResourceLevel.in(buffer), 0u);
}

// resource_gfx12.h of ROCr.
TEST(ImageWords, DescribePlaneAndBufferOnGfx12) {
  constexpr Field kFormat{1, 17, 8}, kWidthLo{1, 30, 2}, kWidthHi{2, 0, 14}, kHeight{2, 14, 16},
      kSwMode{3, 20, 5}, kType{3, 28, 4}, kPitch{4, 0, 16};
  const Words words = words_of(kGfx12, plane(302, 67));
  EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress >> 8));
  EXPECT_EQ(kFormat.in(words), 42u) << "8_8_8_8_UNORM";
  EXPECT_EQ(kWidthLo.in(words) | kWidthHi.in(words) << 2, 301u);
  EXPECT_EQ(kHeight.in(words), 66u);
  EXPECT_EQ(kSwMode.in(words), 0u);
  EXPECT_EQ(kType.in(words), 9u);
  EXPECT_EQ(kPitch.in(words), 319u);
  EXPECT_EQ(kPitch.in(words_of(kGfx12, plane(302, 67), 0x20000)), 0x7fffu);
  const Words buffer = words_of(kGfx12, row(HSA_EXT_IMAGE_GEOMETRY_1DB, 50));
  EXPECT_EQ(nv::kBufferFormat.in(buffer), 22u) << "32_FLOAT";
}

// addrlib3.cpp and gfx12addrlib.cpp of ROCr: rows are aligned to 128 bytes, and slices have room for 256.
TEST(ImageLayout, HasNarrowRowsOfArraysOnGfx12) {
  hsa_ext_image_descriptor_t layers = plane(33, 16);
  EXPECT_EQ(opaque(kGfx12, layers).row_pitch, 256u);
  EXPECT_EQ(opaque(kGfx12, layers).size, 256u * 16);
  layers.geometry = HSA_EXT_IMAGE_GEOMETRY_2DA;
  layers.array_size = 7;
  layers.width = 65;
  EXPECT_EQ(opaque(kGfx12, layers).row_pitch, 384u);
  EXPECT_EQ(opaque(kGfx12, layers).slice_pitch, 512u * 16);
  EXPECT_EQ(opaque(kGfx12, layers).size, 512u * 16 * 7);
  EXPECT_EQ(opaque(kGfx11, layers).row_pitch, 512u);
}

TEST(SamplerWords, HaveWiderLevelsOnGfx12) {
  std::array<uint32_t, HSABE_SAMPLER_WORDS> words{};
  ASSERT_EQ(describe_sampler(kGfx12.images, {0, 0, 0, {0, 0, 0}}, words), HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[1], 4095u << 13);
  ASSERT_EQ(describe_sampler(kGfx11.images, {0, 0, 0, {0, 0, 0}}, words), HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[1], 4095u << 12);
}

TEST(ImageWords, DescribeChannelsAndBorder) {
  const auto bgra = plane(8, 8, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA);
  EXPECT_EQ(si::kDstSelX.in(words_of(kGfx8, bgra)), 6u);
  EXPECT_EQ(si::kDstSelZ.in(words_of(kGfx9, bgra)), 4u);
  EXPECT_EQ(si::kBcSwizzle.in(words_of(kGfx9, bgra)), 4u) << "ZYXW";
  EXPECT_EQ(nv::kBcSwizzle.in(words_of(kGfx103, bgra)), 4u);
  const auto alpha = plane(8, 8, HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_A);
  EXPECT_EQ(si::kDstSelX.in(words_of(kGfx9, alpha)), 0u);
  EXPECT_EQ(si::kDstSelW.in(words_of(kGfx9, alpha)), 4u);
  EXPECT_EQ(nv::kBcSwizzle.in(words_of(kGfx103, alpha)), 3u) << "WXYZ";
}

TEST(ImageWords, ContainLayersAndPlanes) {
  hsa_ext_image_descriptor_t layers = plane(64, 16);
  layers.geometry = HSA_EXT_IMAGE_GEOMETRY_2DA;
  layers.array_size = 7;
  hsa_ext_image_descriptor_t volume = plane(64, 16);
  volume.geometry = HSA_EXT_IMAGE_GEOMETRY_3D;
  volume.depth = 9;
  for (const Generation* on : {&kGfx8, &kGfx9, &kGfx101, &kGfx103}) {
    EXPECT_EQ(si::kDepth.in(words_of(*on, layers)), 6u) << on->name;
    EXPECT_EQ(si::kType.in(words_of(*on, layers)), 13u) << on->name;
    EXPECT_EQ(si::kDepth.in(words_of(*on, volume)), 8u) << on->name;
    EXPECT_EQ(si::kType.in(words_of(*on, volume)), 10u) << on->name;
    EXPECT_EQ(si::kDepth.in(words_of(*on, row(HSA_EXT_IMAGE_GEOMETRY_1DA, 64, 5))), 4u) << on->name;
    EXPECT_EQ(si::kType.in(words_of(*on, row(HSA_EXT_IMAGE_GEOMETRY_1DA, 64, 5))), 12u) << on->name;
    EXPECT_EQ(si::kType.in(words_of(*on, row(HSA_EXT_IMAGE_GEOMETRY_1D, 64))), 8u) << on->name;
  }
  EXPECT_EQ(si::kLastArray.in(words_of(kGfx8, layers)), 6u);
  EXPECT_EQ(si::kLastArray.in(words_of(kGfx8, volume)), 0u);
  EXPECT_EQ(nv::kBaseArray.in(words_of(kGfx103, layers)), 0u);
  EXPECT_EQ(nv::kDepth.in(words_of(kGfx103, layers)), 6u);
}

TEST(ImageWords, OfBufferCountBytesOnGfx8AndElementsLater) {
  for (const Generation* on : {&kGfx8, &kGfx9, &kGfx101, &kGfx103}) {
    const Words words = words_of(*on, row(HSA_EXT_IMAGE_GEOMETRY_1DB, 100'000));
    EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress)) << on->name;
    EXPECT_EQ(words[1] & 0xffff, kAddress >> 32) << on->name;
    EXPECT_EQ(si::kBufferStride.in(words), 4u) << on->name;
    EXPECT_EQ(words[2], on == &kGfx8 ? 400'000u : 100'000u) << on->name;
    EXPECT_EQ(si::kBufferType.in(words), 0u) << on->name;
    EXPECT_EQ(words[4] | words[5] | words[6] | words[7], 0u) << on->name;
  }
  const Words vega = words_of(kGfx9, row(HSA_EXT_IMAGE_GEOMETRY_1DB, 8));
  EXPECT_EQ(si::kBufferNumFormat.in(vega), 7u);
  EXPECT_EQ(si::kBufferDataFormat.in(vega), 4u);
  const Words navi = words_of(kGfx103, row(HSA_EXT_IMAGE_GEOMETRY_1DB, 8));
  EXPECT_EQ(nv::kBufferFormat.in(navi), 22u) << "32_FLOAT";
  EXPECT_EQ(nv::kBufferResourceLevel.in(navi), 1u);
}

TEST(ImageWords, EndWithDataForCompilers) {
  for (const Generation* on : {&kGfx8, &kGfx9, &kGfx101, &kGfx103}) {
    const Words words =
        words_of(*on, plane(33, 2, HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16, HSA_EXT_IMAGE_CHANNEL_ORDER_RG));
    EXPECT_EQ(words[8], uint32_t{HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16}) << on->name;
    EXPECT_EQ(words[9], uint32_t{HSA_EXT_IMAGE_CHANNEL_ORDER_RG}) << on->name;
    EXPECT_EQ(words[10], 33u) << on->name;
  }
}

// Words of ROCr 5.2.3 for the same image on virtual boards.
TEST(ImageWords, MatchRocr) {
  const auto less_address = [](Words words) {
    words[0] -= static_cast<uint32_t>(kAddress >> 8);
    words[1] -= static_cast<uint32_t>(kAddress >> 40);
    return std::vector<uint32_t>(words.begin(), words.begin() + 8);
  };
  using Eight = std::vector<uint32_t>;
  const hsa_ext_image_descriptor_t image = plane(64, 5);
  EXPECT_EQ(less_address(words_of(kGfx8, image, 1024)),
            (Eight{0, 0x40a00000, 0x0001003f, 0x90800fac, 0x001fe000, 0, 0, 0}));
  EXPECT_EQ(less_address(words_of(kGfx9, image, 1024)),
            (Eight{0, 0x00a00000, 0x0001003f, 0x90000fac, 0x001fe000, 0, 0, 0}));
  EXPECT_EQ(less_address(words_of(kGfx103, image, 1024)),
            (Eight{0, 0xc3800000, 0x8001000f, 0x90000fac, 0x000000ff, 0, 0, 0}));
}

TEST(ImageLayout, RowsAreAligned) {
  for (const Generation* on : {&kGfx9, &kGfx101, &kGfx103}) {
    const hsabe_image_layout_t layout = opaque(*on, plane(301, 67));
    EXPECT_EQ(layout.row_pitch, 1280u) << on->name;
    EXPECT_EQ(layout.slice_pitch, 1280u * 67) << on->name;
    EXPECT_EQ(layout.size, 1280u * 67) << on->name;
    EXPECT_EQ(layout.alignment, 256u) << on->name;
    EXPECT_EQ(layout.element_size, 4u) << on->name;
    EXPECT_NE(layout.linear, 0u) << on->name;
  }
  // gfx8: a multiple of 64 bytes and of 8 elements, and planes of a multiple of 64 elements and 256 bytes.
  EXPECT_EQ(opaque(kGfx8, plane(17, 4)).row_pitch, 128u);
  EXPECT_EQ(opaque(kGfx8, plane(17, 1)).row_pitch, 256u);
  EXPECT_EQ(opaque(kGfx8, plane(9, 1, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT)).row_pitch, 1024u);
  EXPECT_EQ(opaque(kGfx8, plane(9, 4, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT)).row_pitch, 256u);
}

TEST(ImageLayout, LayersAndPlanesAreContiguous) {
  hsa_ext_image_descriptor_t volume = plane(64, 16);
  volume.geometry = HSA_EXT_IMAGE_GEOMETRY_3D;
  volume.depth = 9;
  EXPECT_EQ(opaque(kGfx9, volume).slice_pitch, 256u * 16);
  EXPECT_EQ(opaque(kGfx9, volume).size, 256u * 16 * 9);
  const hsabe_image_layout_t rows = opaque(kGfx9, row(HSA_EXT_IMAGE_GEOMETRY_1DA, 65, 5));
  EXPECT_EQ(rows.slice_pitch, 512u);
  EXPECT_EQ(rows.size, 512u * 5);
}

TEST(ImageLayout, AcceptsRepresentableRowPitches) {
  for (const Generation* on : {&kGfx8, &kGfx9, &kGfx101, &kGfx103}) {
    EXPECT_EQ(status_of(*on, plane(64, 5), 256), HSA_STATUS_SUCCESS) << on->name;
    EXPECT_EQ(status_of(*on, plane(64, 5)), HSA_STATUS_SUCCESS) << on->name;
    EXPECT_EQ(status_of(*on, plane(64, 5), 128), HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED) << on->name;
    EXPECT_EQ(status_of(*on, plane(64, 5), 258), HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED) << on->name;
    EXPECT_EQ(status_of(*on, plane(63, 5)), HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED)
        << on->name << ": 0 is what the elements need, which is too little";
    EXPECT_EQ(status_of(*on, plane(64, 5), 1024),
              on == &kGfx101 ? hsabe_status_t{HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED}
                             : hsabe_status_t{HSA_STATUS_SUCCESS})
        << on->name;
    EXPECT_EQ(status_of(*on, plane(64, 5), 256, 256 * 5), HSA_STATUS_SUCCESS) << on->name;
    EXPECT_EQ(status_of(*on, plane(64, 5), 256, 256 * 6), HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED)
        << on->name;
  }
  hsa_ext_image_descriptor_t layers = plane(64, 16);
  layers.geometry = HSA_EXT_IMAGE_GEOMETRY_2DA;
  layers.array_size = 3;
  EXPECT_EQ(status_of(kGfx9, layers, 1024), HSA_STATUS_SUCCESS);
  EXPECT_EQ(status_of(kGfx103, layers, 1024), HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED)
      << "the words have the layers where they would have the pitch";
}

TEST(ImageLayout, AttributeIsValidPitchAlignment) {
  for (const Generation* on : {&kGfx8, &kGfx9, &kGfx103}) {
    hsabe_image_limits_t limits{};
    image_limits(on->images, limits);
    for (const uint32_t type : {HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT}) {
      for (const uint32_t order : {HSA_EXT_IMAGE_CHANNEL_ORDER_R, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}) {
        for (const size_t height : {1, 3, 5})
          EXPECT_EQ(status_of(*on, plane(7, height, type, order), 3 * limits.row_pitch_alignment),
                    HSA_STATUS_SUCCESS)
              << on->name << " " << type << " " << order << " " << height;
      }
    }
  }
}

TEST(ImageLayout, HasLimits) {
  const auto too_large = HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED;
  const auto none = HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
  EXPECT_EQ(status_of(kGfx9, plane(16384, 16384)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(status_of(kGfx9, plane(16385, 1)), too_large);
  EXPECT_EQ(status_of(kGfx9, plane(1, 16385)), too_large);
  EXPECT_EQ(status_of(kGfx9, plane(0, 1)), too_large) << "no elements";
  EXPECT_EQ(status_of(kGfx9, plane(1, 0)), too_large);
  hsa_ext_image_descriptor_t deep = plane(64, 1);
  deep.depth = 2;
  EXPECT_EQ(status_of(kGfx9, deep), too_large) << "a plane has no depth";
  EXPECT_EQ(status_of(kGfx9, row(HSA_EXT_IMAGE_GEOMETRY_1DB, UINT32_MAX / 4)), HSA_STATUS_SUCCESS);
  EXPECT_EQ(status_of(kGfx9, row(HSA_EXT_IMAGE_GEOMETRY_1DB, UINT32_MAX / 4 + 1)), too_large)
      << "more bytes than 32 bits can count";
  EXPECT_EQ(status_of(kGfx9, plane(64, 1, HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGB)),
            none);
  EXPECT_EQ(status_of(kGfx9, plane(64, 1, 99)), none);
  EXPECT_EQ(status_of(kGfx9, plane(64, 1, 2, 99)), none);
}

// The table of ROCr 5.2.3, the same for all boards: a digit for each type.
TEST(ImageFormat, MatchRocr) {
  constexpr const char* kRocr[20] = {
      "7777000077777777", "7777000077777777", "0000000000000000", "7777000077777777", "0000000000000000",
      "7777000077777777", "0000077700000000", "0000000000000000", "7777000077777777", "7070000070070000",
      "7070000070070000", "0000000000000000", "0000000000000000", "0000000000000000", "0010000000000000",
      "0000000000000000", "7777000000000077", "7777000000000077", "0003000000000003", "0000000000000000"};
  const auto digits = [](uint32_t geometry, uint32_t order) {
    std::string text;
    for (uint32_t type = 0; type < 16; ++type)
      text += static_cast<char>('0' + image_format(geometry, {type, order}).capability);
    return text;
  };
  for (uint32_t order = 0; order < 20; ++order) {
    for (const uint32_t geometry :
         {HSA_EXT_IMAGE_GEOMETRY_1D, HSA_EXT_IMAGE_GEOMETRY_2D, HSA_EXT_IMAGE_GEOMETRY_3D,
          HSA_EXT_IMAGE_GEOMETRY_1DA, HSA_EXT_IMAGE_GEOMETRY_2DA}) {
      EXPECT_EQ(digits(geometry, order), kRocr[order]) << order;
    }
    const bool depth = order >= HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH;
    EXPECT_EQ(digits(HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, order), depth ? kRocr[order] : "0000000000000000")
        << order;
    EXPECT_EQ(digits(HSA_EXT_IMAGE_GEOMETRY_2DADEPTH, order), depth ? kRocr[order] : "0000000000000000")
        << order;
  }
  EXPECT_EQ(digits(HSA_EXT_IMAGE_GEOMETRY_1DB, HSA_EXT_IMAGE_CHANNEL_ORDER_RGB), "0000000700000000");
  EXPECT_EQ(digits(HSA_EXT_IMAGE_GEOMETRY_1DB, HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA), "0000000000000000");
  EXPECT_EQ(digits(8, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA), "0000000000000000");
}

TEST(ImageFormat, HaveSizesOfNames) {
  for (uint32_t order = 0; order < 20; ++order) {
    for (uint32_t type = 0; type < 16; ++type) {
      const ImageFormat format = image_format(HSA_EXT_IMAGE_GEOMETRY_2D, {type, order});
      if (format.capability == 0) continue;
      EXPECT_EQ(format.element_size, element_size(format.data)) << order << " " << type;
      EXPECT_NE(nv::kFormat.in(words_of(kGfx101, plane(4, 4, type, order))), 0u)
          << order << " " << type << " has no combined format";
    }
  }
}

TEST(SamplerWords, DescribeModes) {
  constexpr Field kClampX{0, 0, 3}, kClampY{0, 3, 3}, kClampZ{0, 6, 3}, kForceUnnormalized{0, 15, 1};
  constexpr Field kMinLod{1, 0, 12}, kMaxLod{1, 12, 12};
  constexpr Field kXyMagFilter{2, 20, 2}, kXyMinFilter{2, 22, 2}, kZFilter{2, 24, 2}, kMipFilter{2, 26, 2};
  constexpr Field kBorderColorType{3, 30, 2};
  std::array<uint32_t, HSABE_SAMPLER_WORDS> words{};
  ASSERT_EQ(describe_sampler(
                kGfx9.images,
                {HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED,
                 HSA_EXT_SAMPLER_FILTER_MODE_LINEAR,
                 HSA_EXT_SAMPLER_FILTER_MODE_NONE,
                 {HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT, HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE,
                  HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT}},
                words),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(kClampX.in(words), 0u) << "WRAP";
  EXPECT_EQ(kClampY.in(words), 2u) << "CLAMP_LAST_TEXEL";
  EXPECT_EQ(kClampZ.in(words), 1u) << "MIRROR";
  EXPECT_EQ(kForceUnnormalized.in(words), 0u);
  EXPECT_EQ(kMinLod.in(words), 0u);
  EXPECT_EQ(kMaxLod.in(words), 0xfffu);
  EXPECT_EQ(kXyMagFilter.in(words), 1u) << "BILINEAR";
  EXPECT_EQ(kXyMinFilter.in(words), 1u);
  EXPECT_EQ(kZFilter.in(words), 0u);
  EXPECT_EQ(kMipFilter.in(words), 0u);
  EXPECT_EQ(kBorderColorType.in(words), 0u) << "transparent black";
  constexpr uint32_t kBorder = HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER;
  ASSERT_EQ(describe_sampler(kGfx9.images,
                             {HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED,
                              HSA_EXT_SAMPLER_FILTER_MODE_NEAREST,
                              HSA_EXT_SAMPLER_FILTER_MODE_NONE,
                              {kBorder, kBorder, kBorder}},
                             words),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(kClampX.in(words), 6u) << "CLAMP_BORDER";
  EXPECT_EQ(kForceUnnormalized.in(words), 1u);
  EXPECT_EQ(kXyMagFilter.in(words), 0u) << "POINT";
}

TEST(SamplerWords, RefuseWhatIsNoMode) {
  std::array<uint32_t, HSABE_SAMPLER_WORDS> words{};
  const auto refused = HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED;
  EXPECT_EQ(describe_sampler(kGfx9.images, {2, 0, 0, {0, 0, 0}}, words), refused);
  EXPECT_EQ(describe_sampler(kGfx9.images, {0, 2, 0, {0, 0, 0}}, words), refused);
  for (const int axis : {0, 1, 2}) {
    hsa_ext_sampler_descriptor_v2_t sampler{};
    sampler.address_modes[axis] = 5;
    EXPECT_EQ(describe_sampler(kGfx9.images, sampler, words), refused) << axis;
  }
}

// Metadata as graphics drivers write it: a header, and eight words for an image at address 0.
struct Metadata {
  uint32_t version = 1;
  uint32_t device = 0x1002'6860;
  uint32_t words[8] = {};
  const hsa_amd_image_descriptor_t& get() const {
    return *reinterpret_cast<const hsa_amd_image_descriptor_t*>(this);
  }
};

TEST(ForeignImage, IsMovedToAddress) {
  Metadata metadata;
  metadata.words[1] = 10u << 20;  // 8_8_8_8
  metadata.words[2] = 300u | 66u << 14;
  metadata.words[3] = 9u << 28 | 26u << 20;  // SW_64KB_S_X
  metadata.words[4] = 319u << 13;
  metadata.words[5] = 1u << 17;  // of the metadata's address, bits 47:40
  metadata.words[7] = 0x1000;    // bits 39:8
  hsabe_image_layout_t layout{};
  Words words{};
  ASSERT_EQ(describe_foreign_image(gfx9::kImages, kVega10, 0x6860, plane(301, 67), metadata.get(), kAddress,
                                   layout, words),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[0], static_cast<uint32_t>(kAddress >> 8));
  EXPECT_EQ(si::kBaseAddressHi.in(words), kAddress >> 40);
  EXPECT_EQ(words[2], metadata.words[2]);
  EXPECT_EQ(si::kSwMode.in(words), 26u);
  EXPECT_EQ(si::kDstSelW.in(words), 7u);
  const uint64_t compressed = kAddress + (uint64_t{1} << 40) + 0x100000;
  EXPECT_EQ(words[7], static_cast<uint32_t>(compressed >> 8));
  EXPECT_EQ((Field{5, 17, 8}).in(words), compressed >> 40);
  EXPECT_EQ(layout.linear, 0u) << "nobody here knows how it is laid out";
  EXPECT_EQ(words[10], 301u);
}

TEST(ForeignImage, OfRowsHasLayout) {
  Metadata metadata;
  metadata.words[1] = 10u << 20;
  metadata.words[4] = 511u << 13;
  hsabe_image_layout_t layout{};
  Words words{};
  ASSERT_EQ(describe_foreign_image(gfx9::kImages, kVega10, 0x6860, plane(301, 67), metadata.get(), kAddress,
                                   layout, words),
            HSA_STATUS_SUCCESS);
  EXPECT_NE(layout.linear, 0u);
  EXPECT_EQ(layout.row_pitch, 2048u);
  EXPECT_EQ(layout.size, 2048u * 67);
}

TEST(ForeignImage, RejectsOtherVersionDeviceOrElement) {
  const auto refused = HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
  hsabe_image_layout_t layout{};
  Words words{};
  const auto status = [&](const Generation& on, const Metadata& metadata) {
    return describe_foreign_image(on.images, on.version, 0x6860, plane(64, 64), metadata.get(), kAddress,
                                  layout, words);
  };
  Metadata right;
  right.words[1] = 10u << 20;
  EXPECT_EQ(status(kGfx8, right), HSA_STATUS_SUCCESS);
  EXPECT_EQ(status(kGfx9, right), HSA_STATUS_SUCCESS);
  Metadata version = right;
  version.version = 2;
  EXPECT_EQ(status(kGfx9, version), refused);
  Metadata device = right;
  device.device = 0x1002'687f;
  EXPECT_EQ(status(kGfx9, device), refused);
  Metadata element = right;
  element.words[1] = 12u << 20;  // 16_16_16_16
  EXPECT_EQ(status(kGfx8, element), refused);
  EXPECT_EQ(status(kGfx9, element), refused);
  Metadata combined;
  combined.words[1] = 56u << 20;  // 8_8_8_8_UNORM
  EXPECT_EQ(status(kGfx103, combined), HSA_STATUS_SUCCESS);
  combined.words[1] = 71u << 20;  // 16_16_16_16_FLOAT
  EXPECT_EQ(status(kGfx103, combined), refused);
}

}  // namespace
}  // namespace rigel::gfx
