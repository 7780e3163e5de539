#include "backends/common/image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>

namespace rigel::gfx {
namespace {

constexpr uint64_t kAlignment = 256;  // unit of an image's address words
constexpr uint32_t kAmd = 0x1002;     // PCI vendor

/// Maximum width, height, depth and layers, by geometry.
constexpr uint32_t kMaxExtent[HSABE_IMAGE_GEOMETRIES][4] = {
    {16384, 1, 1, 1},         // 1D
    {16384, 16384, 1, 1},     // 2D
    {16384, 16384, 8192, 1},  // 3D
    {16384, 1, 1, 8192},      // 1DA
    {16384, 16384, 1, 8192},  // 2DA
    {UINT32_MAX, 1, 1, 1},    // 1DB
    {16384, 16384, 1, 1},     // 2DDEPTH
    {16384, 16384, 1, 8192},  // 2DADEPTH
};

// Descriptors contain 0 or 1 for dimensions that a geometry does not have.
bool fits(const size_t given, uint32_t most) {
  return given <= most && (given != 0 || most == 1);
}

hsabe_status_t shape_of(const hsa_ext_image_descriptor_t& image, ImageShape& shape) {
  const auto geometry = static_cast<uint32_t>(image.geometry);
  shape.format = image_format(geometry, image.format);
  if (shape.format.capability == 0) return HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
  const uint32_t(&most)[4] = kMaxExtent[geometry];
  if (!fits(image.width, most[0]) || !fits(image.height, most[1]) || !fits(image.depth, most[2]) ||
      !fits(image.array_size, most[3])) {
    return HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED;
  }
  const auto at_least_1 = [](size_t size) { return std::max(static_cast<uint32_t>(size), 1u); };
  shape.geometry = geometry;
  shape.width = at_least_1(image.width);
  shape.height = at_least_1(image.height);
  shape.depth = at_least_1(image.depth);
  shape.layers = at_least_1(image.array_size);
  return HSA_STATUS_SUCCESS;
}

uint64_t slice_pitch_of(const ImageGeneration& generation, const ImageShape& shape, uint64_t row_pitch) {
  if (!shape.is_array() && !shape.is_volume()) return row_pitch * shape.height;
  const uint64_t unit = generation.slice_row_alignment;
  return (row_pitch + unit - 1) / unit * unit * shape.height;
}

/// Data after the resource for compilers' image functions: type, order and width.
void describe_for_compilers(const hsa_ext_image_descriptor_t& image,
                            std::span<uint32_t, HSABE_IMAGE_WORDS> words) {
  words[8] = image.format.channel_type;
  words[9] = image.format.channel_order;
  words[10] = static_cast<uint32_t>(image.width);
  words[11] = 0;
}

/// SQ_TEX_CLAMP_*. For an undefined mode, kernels guarantee coordinates inside the image.
std::optional<uint32_t> clamp(uint32_t address_mode) {
  switch (address_mode) {
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED:
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT:
      return 0;  // WRAP
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT:
      return 1;  // MIRROR
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE:
      return 2;  // CLAMP_LAST_TEXEL
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER:
      return 6;  // CLAMP_BORDER
    default:
      return std::nullopt;
  }
}

}  // namespace

uint32_t selects(const ImageFormat& format) {
  return field(format.select[0], 0) | field(format.select[1], 3) | field(format.select[2], 6) |
         field(format.select[3], 9);
}

uint32_t resource_type(uint32_t geometry) {
  switch (geometry) {
    case HSA_EXT_IMAGE_GEOMETRY_1D:
      return 8;
    case HSA_EXT_IMAGE_GEOMETRY_2D:
    case HSA_EXT_IMAGE_GEOMETRY_2DDEPTH:
      return 9;
    case HSA_EXT_IMAGE_GEOMETRY_3D:
      return 10;
    case HSA_EXT_IMAGE_GEOMETRY_1DA:
      return 12;
    case HSA_EXT_IMAGE_GEOMETRY_2DA:
    case HSA_EXT_IMAGE_GEOMETRY_2DADEPTH:
      return 13;
    default:
      return 0;  // a buffer
  }
}

void image_limits(const ImageGeneration& generation, hsabe_image_limits_t& limits) {
  static_assert(sizeof limits.most == sizeof kMaxExtent);
  std::memcpy(limits.most, kMaxExtent, sizeof kMaxExtent);
  limits.read_handles = 128;
  limits.write_handles = 64;
  limits.samplers = 16;
  limits.row_pitch_alignment = generation.row_pitch_alignment;
}

hsabe_status_t lay_out_image(const ImageGeneration& generation, GfxVersion version,
                             const hsa_ext_image_descriptor_t& image, uint32_t data_layout,
                             uint64_t row_pitch, uint64_t slice_pitch, hsabe_image_layout_t& out) {
  ImageShape shape;
  if (const hsabe_status_t status = shape_of(image, shape); status != HSA_STATUS_SUCCESS) return status;
  const uint64_t element = shape.format.element_size;
  out.element_size = shape.format.element_size;
  out.linear = 1;
  out.alignment = kAlignment;
  const uint64_t least = generation.row_pitch(shape);
  const bool takes =
      row_pitch % element == 0 && row_pitch >= least && generation.takes_row_pitch(shape, version, row_pitch);
  if (shape.is_buffer()) {
    // There is one row, and a pitch could only make it larger. Its size in bytes must fit in 32 bits.
    out.row_pitch = out.slice_pitch = shape.width * element;
    if (out.row_pitch > std::numeric_limits<uint32_t>::max())
      return HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED;
    out.size = takes ? row_pitch : least;
    return HSA_STATUS_SUCCESS;
  }
  if (data_layout == HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE) {
    out.row_pitch = least;
  } else {
    out.row_pitch = row_pitch == 0 ? shape.width * element : row_pitch;
    if (row_pitch == 0 ? out.row_pitch != least : !takes) return HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED;
  }
  // A resource does not contain the slice pitch, so only one value is valid.
  out.slice_pitch = slice_pitch_of(generation, shape, out.row_pitch);
  if (slice_pitch != 0 && slice_pitch != out.slice_pitch) return HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED;
  out.size = out.slice_pitch * shape.depth * shape.layers;
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t describe_image(const ImageGeneration& generation, GfxVersion version,
                              const hsa_ext_image_descriptor_t& image, const hsabe_image_layout_t& layout,
                              uint64_t address, std::span<uint32_t, HSABE_IMAGE_WORDS> words) {
  ImageShape shape;
  if (const hsabe_status_t status = shape_of(image, shape); status != HSA_STATUS_SUCCESS) return status;
  std::fill(words.begin(), words.end(), 0u);
  if (shape.is_buffer()) {
    generation.describe_buffer(shape, address, words.first<8>());
  } else {
    generation.describe(shape, version, address, layout.row_pitch, words.first<8>());
  }
  describe_for_compilers(image, words);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t describe_foreign_image(const ImageGeneration& generation, GfxVersion version,
                                      uint32_t device_id, const hsa_ext_image_descriptor_t& image,
                                      const hsa_amd_image_descriptor_t& metadata, uint64_t address,
                                      hsabe_image_layout_t& out,
                                      std::span<uint32_t, HSABE_IMAGE_WORDS> words) {
  if (metadata.version != 1 || metadata.deviceID != (kAmd << 16 | device_id))
    return HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
  ImageShape shape;
  if (const hsabe_status_t status = shape_of(image, shape); status != HSA_STATUS_SUCCESS) return status;
  out.element_size = shape.format.element_size;
  out.alignment = kAlignment;
  out.size = out.row_pitch = out.slice_pitch = 0;
  out.linear = 0;
  std::fill(words.begin(), words.end(), 0u);
  if (shape.is_buffer()) {
    generation.describe_buffer(shape, address, words.first<8>());
    out.linear = 1;
    out.size = out.row_pitch = out.slice_pitch = uint64_t{shape.width} * shape.format.element_size;
  } else {
    // Eight words of a resource follow the header, whose last member is the first of them.
    const auto* const bytes = reinterpret_cast<const std::byte*>(&metadata);
    std::memcpy(words.data(), bytes + offsetof(hsa_amd_image_descriptor_t, data), 8 * sizeof(uint32_t));
    if (!generation.adopt(shape, address, words.first<8>()))
      return HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
    if (const uint64_t pitch = generation.row_pitch_of(shape, version, words.first<8>()); pitch != 0) {
      out.linear = 1;
      out.row_pitch = pitch;
      out.slice_pitch = slice_pitch_of(generation, shape, pitch);
      out.size = out.slice_pitch * shape.depth * shape.layers;
    }
  }
  describe_for_compilers(image, words);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t describe_sampler(const ImageGeneration& generation,
                                const hsa_ext_sampler_descriptor_v2_t& sampler,
                                std::span<uint32_t, HSABE_SAMPLER_WORDS> words) {
  const auto x = clamp(sampler.address_modes[0]);
  const auto y = clamp(sampler.address_modes[1]);
  const auto z = clamp(sampler.address_modes[2]);
  const bool modes = sampler.coordinate_mode <= HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED &&
                     sampler.filter_mode <= HSA_EXT_SAMPLER_FILTER_MODE_LINEAR;
  if (!x || !y || !z || !modes) return HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED;
  const bool in_elements = sampler.coordinate_mode == HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED;
  const uint32_t filter =
      sampler.filter_mode == HSA_EXT_SAMPLER_FILTER_MODE_LINEAR ? 1 : 0;  // BILINEAR, POINT
  std::fill(words.begin(), words.end(), 0u);
  words[0] = field(*x, 0, 3) | field(*y, 3, 3) | field(*z, 6, 3) | field(in_elements, 15, 1);
  words[1] = field(4095, generation.lod_bits, 12);         // MAX_LOD: all levels
  words[2] = field(filter, 20, 2) | field(filter, 22, 2);  // XY_MAG_FILTER, XY_MIN_FILTER
  // Word 3 is 0: the border is transparent black.
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::gfx
