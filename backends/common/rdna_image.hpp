// Images of RDNA: the words of gfx10 and gfx11 differ in the numbers of formats and in a bit.
#pragma once

#include "backends/common/image.hpp"

namespace rigel::gfx {

/// IMG_FORMAT_*: one number for data and number format.
struct CombinedFormat {
  DataFormat data;
  NumberFormat number;
  uint32_t value;
};

struct RdnaImages {
  std::span<const CombinedFormat> formats;
  unsigned buffer_format_bits;  ///< Of the format's number in resources of buffers.
  bool has_resource_level;      ///< RESOURCE_LEVEL, which must be 1.
};

/// The functions of `ImageGeneration`.
template <const RdnaImages& kRdna>
struct RdnaImageFunctions {
  static constexpr uint64_t kPitchAlignment = 256;  // bytes
  static constexpr uint32_t kLinear = 0;            // SW_LINEAR
  static constexpr uint32_t kSelects = 0xfff;
  static constexpr unsigned kFormatBits = 9;  // gfx11 has 8, and the ninth is 0

  static uint32_t combined(const ImageFormat& format) {
    for (const CombinedFormat& candidate : kRdna.formats) {
      if (candidate.data == format.data && candidate.number == format.number) return candidate.value;
    }
    return 0;  // IMG_FORMAT_INVALID
  }

  static uint32_t element_size(uint32_t value) {
    for (const CombinedFormat& candidate : kRdna.formats) {
      if (candidate.value == value) return gfx::element_size(candidate.data);
    }
    return 0;
  }

  /// Whether the resource can contain a row pitch: from gfx10.3 on, for images of one plane, in the field for
  /// the number of planes.
  static bool tells_pitch(const ImageShape& shape, GfxVersion version) {
    return (version.major > 10 || version.minor >= 3) && !shape.is_array() && !shape.is_volume();
  }

  static uint64_t row_pitch(const ImageShape& shape) {
    const uint64_t row = uint64_t{shape.width} * shape.format.element_size;
    return (row + kPitchAlignment - 1) & ~(kPitchAlignment - 1);
  }

  static bool takes_row_pitch(const ImageShape& shape, GfxVersion version, uint64_t pitch) {
    constexpr uint64_t kMost = 1 << 14;  // elements
    if (!tells_pitch(shape, version)) return pitch == row_pitch(shape);
    return pitch % kPitchAlignment == 0 && pitch / shape.format.element_size <= kMost;
  }

  static void describe(const ImageShape& shape, GfxVersion version, uint64_t address, uint64_t pitch,
                       ResourceWords words) {
    words[0] = static_cast<uint32_t>(address >> 8);
    words[1] = field(address >> 40, 0, 8) | field(combined(shape.format), 20, kFormatBits) |
               field(shape.width - 1, 30, 2);
    words[2] = field((shape.width - 1) >> 2, 0, 12) | field(shape.height - 1, 14, 14) |
               field(kRdna.has_resource_level, 31, 1);
    words[3] = selects(shape.format) | field(kLinear, 20, 5) | field(shape.format.border_swizzle, 25, 3) |
               field(resource_type(shape.geometry), 28, 4);
    if (tells_pitch(shape, version)) {
      words[4] = field(pitch / shape.format.element_size - 1, 0, 14);
    } else {
      words[4] = field((shape.is_array() ? shape.layers : shape.depth) - 1, 0, 13);
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
    if (element_size(words[1] >> 20 & 0x1ff) != shape.format.element_size) return false;
    words[0] = static_cast<uint32_t>(address >> 8);
    words[1] = (words[1] & ~(field(~0u, 0, 8) | field(~0u, 20, kFormatBits))) | field(address >> 40, 0, 8) |
               field(combined(shape.format), 20, kFormatBits);
    words[3] = (words[3] & ~kSelects) | selects(shape.format);
    if (shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1D || shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA) {
      // Graphics drivers describe them as planes of one row.
      words[3] = (words[3] & ~field(~0u, 28, 4)) | field(resource_type(shape.geometry), 28, 4);
    }
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
    const uint64_t told = uint64_t{(words[4] & 0x3fff) + 1} * shape.format.element_size;
    return told < row_pitch(shape) ? row_pitch(shape) : told;  // 0 means the minimum pitch
  }

  static constexpr ImageGeneration make() {
    return {
        .row_pitch = row_pitch,
        .takes_row_pitch = takes_row_pitch,
        .row_pitch_alignment = kPitchAlignment,
        .describe = describe,
        .describe_buffer = describe_buffer,
        .adopt = adopt,
        .row_pitch_of = row_pitch_of,
    };
  }
};

}  // namespace rigel::gfx
