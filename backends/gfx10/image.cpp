#include "backends/gfx10/image.hpp"

namespace rigel::gfx10 {
namespace {

using gfx::DataFormat;
using gfx::field;
using gfx::ImageShape;
using gfx::NumberFormat;

constexpr uint64_t kPitchAlignment = 256;  // bytes
constexpr uint32_t kLinear = 0;            // SW_LINEAR
constexpr uint32_t kSelects = 0xfff;

/// IMG_FORMAT_*: one number for data and number format.
struct CombinedFormat {
  DataFormat data;
  NumberFormat number;
  uint32_t value;
};

constexpr CombinedFormat kFormats[] = {
    // clang-format off
    {DataFormat::k8, NumberFormat::kUnorm, 1},            {DataFormat::k8, NumberFormat::kSnorm, 2},
    {DataFormat::k8, NumberFormat::kUint, 5},             {DataFormat::k8, NumberFormat::kSint, 6},
    {DataFormat::k16, NumberFormat::kUnorm, 7},           {DataFormat::k16, NumberFormat::kSnorm, 8},
    {DataFormat::k16, NumberFormat::kUint, 11},           {DataFormat::k16, NumberFormat::kSint, 12},
    {DataFormat::k16, NumberFormat::kFloat, 13},          {DataFormat::k8_8, NumberFormat::kUnorm, 14},
    {DataFormat::k8_8, NumberFormat::kSnorm, 15},         {DataFormat::k8_8, NumberFormat::kUint, 18},
    {DataFormat::k8_8, NumberFormat::kSint, 19},          {DataFormat::k32, NumberFormat::kUint, 20},
    {DataFormat::k32, NumberFormat::kSint, 21},           {DataFormat::k32, NumberFormat::kFloat, 22},
    {DataFormat::k16_16, NumberFormat::kUnorm, 23},       {DataFormat::k16_16, NumberFormat::kSnorm, 24},
    {DataFormat::k16_16, NumberFormat::kUint, 27},        {DataFormat::k16_16, NumberFormat::kSint, 28},
    {DataFormat::k16_16, NumberFormat::kFloat, 29},       {DataFormat::k2_10_10_10, NumberFormat::kUnorm, 50},
    {DataFormat::k8_8_8_8, NumberFormat::kUnorm, 56},     {DataFormat::k8_8_8_8, NumberFormat::kSnorm, 57},
    {DataFormat::k8_8_8_8, NumberFormat::kUint, 60},      {DataFormat::k8_8_8_8, NumberFormat::kSint, 61},
    {DataFormat::k32_32, NumberFormat::kUint, 62},        {DataFormat::k32_32, NumberFormat::kSint, 63},
    {DataFormat::k32_32, NumberFormat::kFloat, 64},       {DataFormat::k16_16_16_16, NumberFormat::kUnorm, 65},
    {DataFormat::k16_16_16_16, NumberFormat::kSnorm, 66}, {DataFormat::k16_16_16_16, NumberFormat::kUint, 69},
    {DataFormat::k16_16_16_16, NumberFormat::kSint, 70},  {DataFormat::k16_16_16_16, NumberFormat::kFloat, 71},
    {DataFormat::k32_32_32_32, NumberFormat::kUint, 75},  {DataFormat::k32_32_32_32, NumberFormat::kSint, 76},
    {DataFormat::k32_32_32_32, NumberFormat::kFloat, 77}, {DataFormat::k8_8_8_8, NumberFormat::kSrgb, 130},
    {DataFormat::k5_6_5, NumberFormat::kUnorm, 133},      {DataFormat::k1_5_5_5, NumberFormat::kUnorm, 134},
    // clang-format on
};

uint32_t combined(const gfx::ImageFormat& format) {
  for (const CombinedFormat& candidate : kFormats) {
    if (candidate.data == format.data && candidate.number == format.number) return candidate.value;
  }
  return 0;  // IMG_FORMAT_INVALID
}

uint32_t element_size(uint32_t value) {
  for (const CombinedFormat& candidate : kFormats) {
    if (candidate.value == value) return gfx::element_size(candidate.data);
  }
  return 0;
}

/// Whether the resource can contain a row pitch: from gfx10.3 on, for images of one plane, in the field for
/// the number of planes.
bool tells_pitch(const ImageShape& shape, gfx::GfxVersion version) {
  return version.minor >= 3 && !shape.is_array() && !shape.is_volume();
}

uint64_t row_pitch(const ImageShape& shape) {
  const uint64_t row = uint64_t{shape.width} * shape.format.element_size;
  return (row + kPitchAlignment - 1) & ~(kPitchAlignment - 1);
}

bool takes_row_pitch(const ImageShape& shape, gfx::GfxVersion version, uint64_t pitch) {
  constexpr uint64_t kMost = 1 << 14;  // elements
  if (!tells_pitch(shape, version)) return pitch == row_pitch(shape);
  return pitch % kPitchAlignment == 0 && pitch / shape.format.element_size <= kMost;
}

void describe(const ImageShape& shape, gfx::GfxVersion version, uint64_t address, uint64_t pitch,
              gfx::ResourceWords words) {
  words[0] = static_cast<uint32_t>(address >> 8);
  words[1] =
      field(address >> 40, 0, 8) | field(combined(shape.format), 20, 9) | field(shape.width - 1, 30, 2);
  words[2] = field((shape.width - 1) >> 2, 0, 12) | field(shape.height - 1, 14, 14) |
             field(1, 31, 1);  // RESOURCE_LEVEL
  words[3] = gfx::selects(shape.format) | field(kLinear, 20, 5) | field(shape.format.border_swizzle, 25, 3) |
             field(gfx::resource_type(shape.geometry), 28, 4);
  if (tells_pitch(shape, version)) {
    words[4] = field(pitch / shape.format.element_size - 1, 0, 14);
  } else {
    words[4] = field((shape.is_array() ? shape.layers : shape.depth) - 1, 0, 13);
  }
}

void describe_buffer(const ImageShape& shape, uint64_t address, gfx::ResourceWords words) {
  words[0] = static_cast<uint32_t>(address);
  words[1] = field(address >> 32, 0, 16) | field(shape.format.element_size, 16, 14);
  words[2] = shape.width;  // in strides; there is one
  words[3] =
      gfx::selects(shape.format) | field(combined(shape.format), 12, 7) | field(1, 24, 1);  // RESOURCE_LEVEL
}

bool adopt(const ImageShape& shape, uint64_t address, gfx::ResourceWords words) {
  if (element_size(words[1] >> 20 & 0x1ff) != shape.format.element_size) return false;
  words[0] = static_cast<uint32_t>(address >> 8);
  words[1] = (words[1] & ~(field(~0u, 0, 8) | field(~0u, 20, 9))) | field(address >> 40, 0, 8) |
             field(combined(shape.format), 20, 9);
  words[3] = (words[3] & ~kSelects) | gfx::selects(shape.format);
  if (shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1D || shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA) {
    // Graphics drivers describe them as planes of one row.
    words[3] = (words[3] & ~field(~0u, 28, 4)) | field(gfx::resource_type(shape.geometry), 28, 4);
  }
  // META_DATA_ADDRESS is an offset here: its lowest eight bits are in word 6.
  const uint64_t metadata = (uint64_t{words[7]} << 16 | uint64_t{words[6] >> 24} << 8) + address;
  words[6] = (words[6] & ~field(~0u, 24, 8)) | field(metadata >> 8, 24, 8);
  words[7] = static_cast<uint32_t>(metadata >> 16);
  return true;
}

uint64_t row_pitch_of(const ImageShape& shape, gfx::GfxVersion version, std::span<const uint32_t, 8> words) {
  if ((words[3] >> 20 & 0x1f) != kLinear) return 0;
  if (!tells_pitch(shape, version)) return row_pitch(shape);
  const uint64_t told = uint64_t{(words[4] & 0x3fff) + 1} * shape.format.element_size;
  return told < row_pitch(shape) ? row_pitch(shape) : told;  // 0 means the minimum pitch
}

}  // namespace

constinit const gfx::ImageGeneration kImages = {
    .row_pitch = row_pitch,
    .takes_row_pitch = takes_row_pitch,
    .row_pitch_alignment = kPitchAlignment,
    .describe = describe,
    .describe_buffer = describe_buffer,
    .adopt = adopt,
    .row_pitch_of = row_pitch_of,
};

}  // namespace rigel::gfx10
