// Images of RDNA: the words of gfx10 and gfx11 differ in the numbers of formats and in a bit. Those of gfx12
// have the formats of gfx11, and wider fields. Sources: ISA manuals; ROCr, resource_gfx11.h and
// resource_gfx12.h.
#pragma once

#include <algorithm>
#include <span>

#include "backends/common/image.hpp"

namespace rigel::gfx {

/// IMG_FORMAT_*: one number for data and number format.
struct CombinedFormat {
  DataFormat data;
  NumberFormat number;
  uint32_t value;
};

/// Formats that have the same number on all chips of RDNA.
constexpr CombinedFormat kRdnaFormats[] = {
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
    {DataFormat::k16_16, NumberFormat::kFloat, 29},
    // clang-format on
};

/// Formats besides kRdnaFormats from gfx11 on.
constexpr CombinedFormat kCompactFormats[] = {
    // clang-format off
    {DataFormat::k2_10_10_10, NumberFormat::kUnorm, 36},
    {DataFormat::k8_8_8_8, NumberFormat::kUnorm, 42},     {DataFormat::k8_8_8_8, NumberFormat::kSnorm, 43},
    {DataFormat::k8_8_8_8, NumberFormat::kUint, 46},      {DataFormat::k8_8_8_8, NumberFormat::kSint, 47},
    {DataFormat::k32_32, NumberFormat::kUint, 48},        {DataFormat::k32_32, NumberFormat::kSint, 49},
    {DataFormat::k32_32, NumberFormat::kFloat, 50},       {DataFormat::k16_16_16_16, NumberFormat::kUnorm, 51},
    {DataFormat::k16_16_16_16, NumberFormat::kSnorm, 52}, {DataFormat::k16_16_16_16, NumberFormat::kUint, 55},
    {DataFormat::k16_16_16_16, NumberFormat::kSint, 56},  {DataFormat::k16_16_16_16, NumberFormat::kFloat, 57},
    {DataFormat::k32_32_32_32, NumberFormat::kUint, 61},  {DataFormat::k32_32_32_32, NumberFormat::kSint, 62},
    {DataFormat::k32_32_32_32, NumberFormat::kFloat, 63}, {DataFormat::k8_8_8_8, NumberFormat::kSrgb, 66},
    {DataFormat::k5_6_5, NumberFormat::kUnorm, 68},      {DataFormat::k1_5_5_5, NumberFormat::kUnorm, 69},
    // clang-format on
};

struct RdnaImages {
  std::span<const CombinedFormat> formats;  ///< Formats besides kRdnaFormats.
  unsigned buffer_format_bits;              ///< Size of the format's number in buffer resources.
  bool has_resource_level;                  ///< RESOURCE_LEVEL, which must be 1.
  bool has_wide_fields = false;  ///< The words of gfx12, whose arrays and volumes have narrower rows.
};

/// The functions of `ImageGeneration`.
template <const RdnaImages& kRdna>
struct RdnaImageFunctions {
  static constexpr uint64_t kPitchAlignment = 256;  // bytes
  static constexpr uint64_t kNarrowPitchAlignment = 128;
  static constexpr uint32_t kLinear = 0;  // SW_LINEAR
  static constexpr uint32_t kSelects = 0xfff;
  static constexpr unsigned kFormatBits = kRdna.has_wide_fields ? 8 : 9;  // gfx11 has 8, and the ninth is 0
  static constexpr unsigned kFormatShift = kRdna.has_wide_fields ? 17 : 20;
  static constexpr unsigned kPlanesBits = kRdna.has_wide_fields ? 14 : 13;
  static constexpr unsigned kPitchBits = kRdna.has_wide_fields ? 16 : 14;

  template <typename Matches>
  static const CombinedFormat* find(Matches matches) {
    for (const auto formats : {std::span<const CombinedFormat>(kRdnaFormats), kRdna.formats}) {
      const auto found = std::ranges::find_if(formats, matches);
      if (found != formats.end()) return &*found;
    }
    return nullptr;
  }

  static uint32_t combined(const ImageFormat& format) {
    const CombinedFormat* const found = find([&](const CombinedFormat& candidate) {
      return candidate.data == format.data && candidate.number == format.number;
    });
    return found != nullptr ? found->value : 0;  // IMG_FORMAT_INVALID
  }

  static uint32_t element_size(uint32_t value) {
    const CombinedFormat* const found =
        find([&](const CombinedFormat& candidate) { return candidate.value == value; });
    return found != nullptr ? gfx::element_size(found->data) : 0;
  }

  /// Whether the resource can contain a row pitch: from gfx10.3 on, for images of one plane, in the field for
  /// the number of planes.
  static bool tells_pitch(const ImageShape& shape, GfxVersion version) {
    return (version.major > 10 || version.minor >= 3) && !shape.is_array() && !shape.is_volume();
  }

  static uint64_t row_pitch(const ImageShape& shape) {
    const uint64_t row = uint64_t{shape.width} * shape.format.element_size;
    const bool is_narrow = kRdna.has_wide_fields && (shape.is_array() || shape.is_volume());
    const uint64_t alignment = is_narrow ? kNarrowPitchAlignment : kPitchAlignment;
    return (row + alignment - 1) & ~(alignment - 1);
  }

  static bool takes_row_pitch(const ImageShape& shape, GfxVersion version, uint64_t pitch) {
    constexpr uint64_t kMost = 1 << kPitchBits;  // elements
    if (!tells_pitch(shape, version)) return pitch == row_pitch(shape);
    return pitch % kPitchAlignment == 0 && pitch / shape.format.element_size <= kMost;
  }

  static void describe(const ImageShape& shape, GfxVersion version, uint64_t address, uint64_t pitch,
                       ResourceWords words) {
    words[0] = static_cast<uint32_t>(address >> 8);
    words[1] = field(address >> 40, 0, 8) | field(combined(shape.format), kFormatShift, kFormatBits) |
               field(shape.width - 1, 30, 2);
    words[2] = field((shape.width - 1) >> 2, 0, 12) | field(shape.height - 1, 14, 14) |
               field(kRdna.has_resource_level, 31, 1);
    words[3] = selects(shape.format) | field(kLinear, 20, 5) | field(shape.format.border_swizzle, 25, 3) |
               field(resource_type(shape.geometry), 28, 4);
    if (tells_pitch(shape, version)) {
      words[4] = field(pitch / shape.format.element_size - 1, 0, kPitchBits);
    } else {
      words[4] = field((shape.is_array() ? shape.layers : shape.depth) - 1, 0, kPlanesBits);
    }
  }

  static void describe_buffer(const ImageShape& shape, uint64_t address, ResourceWords words) {
    words[0] = static_cast<uint32_t>(address);
    words[1] = field(address >> 32, 0, 16) | field(shape.format.element_size, 16, 14);
    words[2] = shape.width;  // in strides; there is one
    words[3] = selects(shape.format) | field(combined(shape.format), 12, kRdna.buffer_format_bits) |
               field(kRdna.has_resource_level, 24, 1);
  }

  static bool adopt(const ImageShape& shape, uint64_t address, ResourceWords words) {
    if (element_size(words[1] >> kFormatShift & ((1u << kFormatBits) - 1)) != shape.format.element_size)
      return false;
    words[0] = static_cast<uint32_t>(address >> 8);
    words[1] = (words[1] & ~(field(~0u, 0, 8) | field(~0u, kFormatShift, kFormatBits))) |
               field(address >> 40, 0, 8) | field(combined(shape.format), kFormatShift, kFormatBits);
    words[3] = (words[3] & ~kSelects) | selects(shape.format);
    if (shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1D || shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA) {
      // Graphics drivers describe them as planes of one row.
      words[3] = (words[3] & ~field(~0u, 28, 4)) | field(resource_type(shape.geometry), 28, 4);
    }
    if (kRdna.has_wide_fields) return true;  // no metadata
    // META_DATA_ADDRESS is an offset here: its lowest eight bits are in word 6.
    const uint64_t metadata = (uint64_t{words[7]} << 16 | uint64_t{words[6] >> 24} << 8) + address;
    words[6] = (words[6] & ~field(~0u, 24, 8)) | field(metadata >> 8, 24, 8);
    words[7] = static_cast<uint32_t>(metadata >> 16);
    return true;
  }

  static uint64_t row_pitch_of(const ImageShape& shape, GfxVersion version,
                               std::span<const uint32_t, 8> words) {
    if ((words[3] >> 20 & 0x1f) != kLinear) return 0;
    if (!tells_pitch(shape, version)) return row_pitch(shape);
    const uint64_t told = uint64_t{(words[4] & ((1u << kPitchBits) - 1)) + 1} * shape.format.element_size;
    return told < row_pitch(shape) ? row_pitch(shape) : told;  // 0 means the minimum pitch
  }

  static constexpr ImageGeneration make() {
    return {
        .row_pitch = row_pitch,
        .takes_row_pitch = takes_row_pitch,
        .row_pitch_alignment = kPitchAlignment,
        .slice_row_alignment = kPitchAlignment,
        .lod_bits = kRdna.has_wide_fields ? 13 : 12,
        .describe = describe,
        .describe_buffer = describe_buffer,
        .adopt = adopt,
        .row_pitch_of = row_pitch_of,
    };
  }
};

}  // namespace rigel::gfx
