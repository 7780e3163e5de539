// Image regions as boxes of bytes. Pure; any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstddef>

#include "api/support/status.hpp"
#include "core/copy/box.hpp"

namespace rigel {

/// Layout of a linear image's elements; an array's layers are its last dimension: rows for an array of rows,
/// otherwise planes.
struct ImageSteps {
  size_t element = 0;  ///< bytes
  size_t row = 0;      ///< bytes from y to y + 1
  size_t plane = 0;    ///< bytes from z to z + 1
  uint32_t x = 1;      ///< number of elements
  uint32_t y = 1;
  uint32_t z = 1;
};

ImageSteps image_steps(const hsa_ext_image_descriptor_t& image, const hsabe_image_layout_t& layout);

/// Returns the layout of the application's memory for a copy of `range` elements; pitches that are too small
/// mean the minimum. Fails with INVALID_ARGUMENT if sizes overflow.
Result<ImageSteps> memory_steps(const hsa_ext_image_descriptor_t& image, size_t element,
                                const hsa_dim3_t& range, size_t row_pitch, size_t slice_pitch);

/// Returns the range with 1 for dimensions that the image does not have, which may be 0. Fails with
/// INVALID_ARGUMENT if it is not in the image.
Result<hsa_dim3_t> check_region(const ImageSteps& image, const hsa_dim3_t& offset, const hsa_dim3_t& range);

/// Returns the side of a box that starts at an offset.
BoxSide image_side(const ImageSteps& steps, void* data, const hsa_dim3_t& offset, const hsa_dim3_t& range);

}  // namespace rigel
