#include "backends/gfx8/image.hpp"

#include <algorithm>
#include <bit>

namespace rigel::gfx8 {
namespace {

using gfx::field;
using gfx::ImageShape;

constexpr uint32_t kLinearAligned = 8;     // the tiling index for rows in the driver's table
constexpr uint32_t kNonCoherent = 1;       // MTYPE_NC
constexpr uint32_t kPipeInterleave = 256;  // contiguous bytes of a memory channel

/// Rows start at multiples of 64 bytes and of eight elements; planes at multiples of a channel's bytes and of
/// 64 elements, for which rows are lengthened.
uint64_t row_pitch(const ImageShape& shape) {
  const uint64_t element = shape.format.element_size;
  const uint64_t row = std::max<uint64_t>(8, 64 / element);
  const uint64_t plane = std::max<uint64_t>(64, kPipeInterleave / element);
  uint64_t pitch = (shape.width + row - 1) / row * row;
  while (pitch * shape.height % plane != 0) pitch += row;
  return pitch * element;
}

/// Accepts any default pitch of an image with the same number of elements per row.
bool takes_row_pitch(const ImageShape& shape, gfx::GfxVersion, uint64_t pitch) {
  constexpr uint64_t kMost = 1 << 14;  // elements
  const uint64_t elements = pitch / shape.format.element_size;
  if (elements > kMost) return false;
  ImageShape wider = shape;
  wider.width = static_cast<uint32_t>(elements);
  return row_pitch(wider) == pitch;
}

void describe(const ImageShape& shape, gfx::GfxVersion, uint64_t address, uint64_t pitch,
              gfx::ResourceWords words) {
  words[0] = static_cast<uint32_t>(address >> 8);
  words[1] = field(address >> 40, 0, 8) | field(static_cast<uint32_t>(shape.format.data), 20, 6) |
             field(static_cast<uint32_t>(shape.format.number), 26, 4) | field(kNonCoherent, 30, 2);
  words[2] = field(shape.width - 1, 0, 14) | field(shape.height - 1, 14, 14);
  const bool pow2_pad = std::has_single_bit(pitch) && std::has_single_bit(shape.height);  // as in ROCr
  words[3] = gfx::selects(shape.format) | field(kLinearAligned, 20, 5) | field(pow2_pad, 25, 1) |
             field(gfx::resource_type(shape.geometry), 28, 4);
  const uint32_t planes = shape.is_array() ? shape.layers : shape.depth;
  words[4] = field(planes - 1, 0, 13) | field(pitch / shape.format.element_size - 1, 13, 14);
  words[5] = field(shape.is_array() ? shape.layers - 1 : 0, 13, 13);  // LAST_ARRAY
}

void describe_buffer(const ImageShape& shape, uint64_t address, gfx::ResourceWords words) {
  words[0] = static_cast<uint32_t>(address);
  words[1] = field(address >> 32, 0, 16) | field(shape.format.element_size, 16, 14);
  words[2] = shape.width * shape.format.element_size;  // vector memory instructions count bytes
  words[3] = gfx::selects(shape.format) | field(static_cast<uint32_t>(shape.format.number), 12, 3) |
             field(static_cast<uint32_t>(shape.format.data), 15, 4) | field(kNonCoherent, 27, 3);
}

constexpr uint32_t kSelects = 0xfff;

bool adopt(const ImageShape& shape, uint64_t address, gfx::ResourceWords words) {
  const auto data = static_cast<gfx::DataFormat>(words[1] >> 20 & 0x3f);
  if (gfx::element_size(data) != shape.format.element_size) return false;
  words[0] = static_cast<uint32_t>(address >> 8);
  words[1] = (words[1] & ~(field(~0u, 0, 8) | field(~0u, 20, 12))) | field(address >> 40, 0, 8) |
             field(static_cast<uint32_t>(shape.format.data), 20, 6) |
             field(static_cast<uint32_t>(shape.format.number), 26, 4) | field(kNonCoherent, 30, 2);
  // not through the IOMMU
  words[3] = (words[3] & ~(kSelects | field(1, 27, 1))) | gfx::selects(shape.format);
  words[7] += static_cast<uint32_t>(address >> 8);  // META_DATA_ADDRESS is an offset here
  return true;
}

uint64_t row_pitch_of(const ImageShape& shape, gfx::GfxVersion, std::span<const uint32_t, 8> words) {
  if ((words[3] >> 20 & 0x1f) != kLinearAligned) return 0;
  return uint64_t{(words[4] >> 13 & 0x3fff) + 1} * shape.format.element_size;
}

}  // namespace

constinit const gfx::ImageGeneration kImages = {
    .row_pitch = row_pitch,
    .takes_row_pitch = takes_row_pitch,
    .row_pitch_alignment = 64 * 16,  // alignment of a plane with the largest elements
    .slice_row_alignment = 1,
    .lod_bits = 12,
    .describe = describe,
    .describe_buffer = describe_buffer,
    .adopt = adopt,
    .row_pitch_of = row_pitch_of,
};

}  // namespace rigel::gfx8
