#include "backends/gfx9/image.hpp"

namespace rigel::gfx9 {
namespace {

using gfx::field;
using gfx::ImageShape;

constexpr uint64_t kPitchAlignment = 256;  // bytes
constexpr uint32_t kLinear = 0;            // SW_LINEAR
constexpr uint32_t kSelects = 0xfff;

uint64_t row_pitch(const ImageShape& shape) {
  const uint64_t row = uint64_t{shape.width} * shape.format.element_size;
  return (row + kPitchAlignment - 1) & ~(kPitchAlignment - 1);
}

bool takes_row_pitch(const ImageShape& shape, gfx::GfxVersion, uint64_t pitch) {
  constexpr uint64_t kMost = 1 << 16;  // elements
  return pitch % kPitchAlignment == 0 && pitch / shape.format.element_size <= kMost;
}

void describe(const ImageShape& shape, gfx::GfxVersion, uint64_t address, uint64_t pitch,
              gfx::ResourceWords words) {
  words[0] = static_cast<uint32_t>(address >> 8);
  words[1] = field(address >> 40, 0, 8) | field(static_cast<uint32_t>(shape.format.data), 20, 6) |
             field(static_cast<uint32_t>(shape.format.number), 26, 4);
  words[2] = field(shape.width - 1, 0, 14) | field(shape.height - 1, 14, 14);
  words[3] =
      gfx::selects(shape.format) | field(kLinear, 20, 5) | field(gfx::resource_type(shape.geometry), 28, 4);
  const uint32_t planes = shape.is_array() ? shape.layers : shape.depth;
  words[4] = field(planes - 1, 0, 13) | field(pitch / shape.format.element_size - 1, 13, 16) |
             field(shape.format.border_swizzle, 29, 3);
}

void describe_buffer(const ImageShape& shape, uint64_t address, gfx::ResourceWords words) {
  words[0] = static_cast<uint32_t>(address);
  words[1] = field(address >> 32, 0, 16) | field(shape.format.element_size, 16, 14);
  words[2] = shape.width;  // in strides, because instructions use an index
  words[3] = gfx::selects(shape.format) | field(static_cast<uint32_t>(shape.format.number), 12, 3) |
             field(static_cast<uint32_t>(shape.format.data), 15, 4);
}

bool adopt(const ImageShape& shape, uint64_t address, gfx::ResourceWords words) {
  const auto data = static_cast<gfx::DataFormat>(words[1] >> 20 & 0x3f);
  if (gfx::element_size(data) != shape.format.element_size) return false;
  words[0] = static_cast<uint32_t>(address >> 8);
  words[1] = (words[1] & ~(field(~0u, 0, 8) | field(~0u, 20, 10))) | field(address >> 40, 0, 8) |
             field(static_cast<uint32_t>(shape.format.data), 20, 6) |
             field(static_cast<uint32_t>(shape.format.number), 26, 4);
  words[3] = (words[3] & ~kSelects) | gfx::selects(shape.format);
  if (shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1D || shape.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA) {
    // Graphics drivers describe them as planes of one row.
    words[3] = (words[3] & ~field(~0u, 28, 4)) | field(gfx::resource_type(shape.geometry), 28, 4);
  }
  // META_DATA_ADDRESS is an offset here: the high bits are in word 5.
  const uint64_t metadata = (uint64_t{words[5] >> 17 & 0xff} << 40 | uint64_t{words[7]} << 8) + address;
  words[5] = (words[5] & ~field(~0u, 17, 8)) | field(metadata >> 40, 17, 8);
  words[7] = static_cast<uint32_t>(metadata >> 8);
  return true;
}

uint64_t row_pitch_of(const ImageShape& shape, gfx::GfxVersion, std::span<const uint32_t, 8> words) {
  if ((words[3] >> 20 & 0x1f) != kLinear) return 0;
  return uint64_t{(words[4] >> 13 & 0xffff) + 1} * shape.format.element_size;
}

}  // namespace

constinit const gfx::ImageGeneration kImages = {
    .row_pitch = row_pitch,
    .takes_row_pitch = takes_row_pitch,
    .row_pitch_alignment = kPitchAlignment,
    .slice_row_alignment = 1,
    .lod_bits = 12,
    .describe = describe,
    .describe_buffer = describe_buffer,
    .adopt = adopt,
    .row_pitch_of = row_pitch_of,
};

}  // namespace rigel::gfx9
