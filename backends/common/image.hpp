// Images and samplers of AMD GPUs: limits, layouts, and the words for image instructions.
//
// Every image consists of rows: tiled layouts are not supported. Pitches and words that depend on the
// generation are in tables (ImageGeneration: backends/gfx*/image.cpp). Pure; any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstdint>
#include <span>

#include "backends/common/image_format.hpp"
#include "backends/common/quirks.hpp"

namespace rigel::gfx {

/// An image with all dimensions at least 1, and its format; parameter of generations' functions.
struct ImageShape {
  uint32_t geometry = 0;
  uint32_t width = 1;
  uint32_t height = 1;
  uint32_t depth = 1;
  uint32_t layers = 1;
  ImageFormat format;

  bool is_buffer() const { return geometry == HSA_EXT_IMAGE_GEOMETRY_1DB; }
  bool is_array() const {
    return geometry == HSA_EXT_IMAGE_GEOMETRY_1DA || geometry == HSA_EXT_IMAGE_GEOMETRY_2DA ||
           geometry == HSA_EXT_IMAGE_GEOMETRY_2DADEPTH;
  }
  bool is_volume() const { return geometry == HSA_EXT_IMAGE_GEOMETRY_3D; }
};

/// The words of a resource: four of a buffer, or eight of an image.
using ResourceWords = std::span<uint32_t, 8>;

struct ImageGeneration {
  uint64_t (*row_pitch)(const ImageShape& shape);
  /// Whether a row pitch is supported. `pitch` is a multiple of the element and at least `row_pitch`.
  bool (*takes_row_pitch)(const ImageShape& shape, GfxVersion version, uint64_t pitch);
  uint32_t row_pitch_alignment;
  uint32_t slice_row_alignment;  ///< Slices are as large as if row pitches were multiples of this.
  uint8_t lod_bits;              ///< Size of MIN_LOD and MAX_LOD in samplers.

  void (*describe)(const ImageShape& shape, GfxVersion version, uint64_t address, uint64_t row_pitch,
                   ResourceWords words);
  void (*describe_buffer)(const ImageShape& shape, uint64_t address, ResourceWords words);
  /// Converts words of another driver, for the image at offset 0, to `address` and this format. Returns false
  /// if their elements have a different size.
  bool (*adopt)(const ImageShape& shape, uint64_t address, ResourceWords words);
  /// Returns the row pitch of such words for images that consist of rows; 0 for others.
  uint64_t (*row_pitch_of)(const ImageShape& shape, GfxVersion version, std::span<const uint32_t, 8> words);
};

/// Bits of a word from `first` on.
constexpr uint32_t field(uint64_t value, unsigned first, unsigned bits) {
  return static_cast<uint32_t>((value & ((uint64_t{1} << bits) - 1)) << first);
}

constexpr uint32_t field(Select value, unsigned first) {
  return field(static_cast<uint32_t>(value), first, 3);
}

/// The four selects, in bits 11:0 of word 3 in every generation, for images and buffers.
uint32_t selects(const ImageFormat& format);

/// SQ_RSRC_IMG_*.
uint32_t resource_type(uint32_t geometry);

void image_limits(const ImageGeneration& generation, hsabe_image_limits_t& limits);

hsabe_status_t lay_out_image(const ImageGeneration& generation, GfxVersion version,
                             const hsa_ext_image_descriptor_t& image, uint32_t data_layout,
                             uint64_t row_pitch, uint64_t slice_pitch, hsabe_image_layout_t& out);

hsabe_status_t describe_image(const ImageGeneration& generation, GfxVersion version,
                              const hsa_ext_image_descriptor_t& image, const hsabe_image_layout_t& layout,
                              uint64_t address, std::span<uint32_t, HSABE_IMAGE_WORDS> words);

/// `device_id` is the PCI id of the device in the other driver's metadata.
hsabe_status_t describe_foreign_image(const ImageGeneration& generation, GfxVersion version,
                                      uint32_t device_id, const hsa_ext_image_descriptor_t& image,
                                      const hsa_amd_image_descriptor_t& metadata, uint64_t address,
                                      hsabe_image_layout_t& out,
                                      std::span<uint32_t, HSABE_IMAGE_WORDS> words);

/// Writes the words of a sampler.
hsabe_status_t describe_sampler(const ImageGeneration& generation,
                                const hsa_ext_sampler_descriptor_v2_t& sampler,
                                std::span<uint32_t, HSABE_SAMPLER_WORDS> words);

}  // namespace rigel::gfx
