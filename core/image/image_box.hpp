// Blocks of elements in memory: what image regions are as boxes of bytes. Pure; any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstddef>

#include "core/base/status.hpp"
#include "core/copy/box.hpp"

namespace rigel {

/// Where a linear image's elements lie, with an array's layers as its last dimension: rows of an array of
/// rows, otherwise planes.
struct ImageSteps {
  size_t element = 0;  ///< bytes
  size_t row = 0;      ///< bytes from y to y + 1
  size_t plane = 0;    ///< bytes from z to z + 1
  uint32_t x = 1;      ///< how many there are
  uint32_t y = 1;
  uint32_t z = 1;
};

ImageSteps image_steps(const hsa_ext_image_descriptor_t& image, const hsabe_image_layout_t& layout);

/// Steps in the application's memory that a block of `range` elements is copied to or from: pitches that are
/// less than the block needs stand for what it needs. INVALID_ARGUMENT: it would be more than there can be.
Result<ImageSteps> memory_steps(const hsa_ext_image_descriptor_t& image, size_t element,
                                const hsa_dim3_t& range, size_t row_pitch, size_t slice_pitch);

/// A range, of which dimensions that the image does not have may be 0. INVALID_ARGUMENT: not in the image.
Result<hsa_dim3_t> check_region(const ImageSteps& image, const hsa_dim3_t& offset, const hsa_dim3_t& range);

/// The side of a box that begins at an offset.
BoxSide image_side(const ImageSteps& steps, void* data, const hsa_dim3_t& offset, const hsa_dim3_t& range);

}  // namespace rigel
