#include "core/image/image_box.hpp"

#include <algorithm>
#include <cstdint>

namespace rigel {
namespace {

bool is_array_of_rows(const hsa_ext_image_descriptor_t& image) {
  return image.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA;
}

uint32_t at_least_1(size_t size) {
  return std::max(static_cast<uint32_t>(size), 1u);
}

}  // namespace

ImageSteps image_steps(const hsa_ext_image_descriptor_t& image, const hsabe_image_layout_t& layout) {
  ImageSteps steps;
  steps.element = layout.element_size;
  steps.row = is_array_of_rows(image) ? layout.slice_pitch : layout.row_pitch;
  steps.plane = layout.slice_pitch;
  steps.x = at_least_1(image.width);
  steps.y = is_array_of_rows(image) ? at_least_1(image.array_size) : at_least_1(image.height);
  steps.z = is_array_of_rows(image) ? 1 : std::max(at_least_1(image.depth), at_least_1(image.array_size));
  return steps;
}

Result<ImageSteps> memory_steps(const hsa_ext_image_descriptor_t& image, size_t element,
                                const hsa_dim3_t& range, size_t row_pitch, size_t slice_pitch) {
  ImageSteps steps;
  steps.element = element;
  steps.row = std::max(row_pitch, range.x * element);
  if (is_array_of_rows(image)) steps.row = std::max(steps.row, slice_pitch);
  size_t rows = 0, all = 0;
  bool overflow = __builtin_mul_overflow(steps.row, size_t{range.y}, &rows);
  steps.plane = is_array_of_rows(image) ? rows : std::max(slice_pitch, rows);
  overflow |= __builtin_mul_overflow(steps.plane, size_t{range.z}, &all);
  if (overflow || all > PTRDIFF_MAX) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "image region: the addresses overflow with pitches of {} and {} bytes", row_pitch,
                slice_pitch);
  }
  steps.x = range.x;
  steps.y = range.y;
  steps.z = range.z;
  return steps;
}

Result<hsa_dim3_t> check_region(const ImageSteps& image, const hsa_dim3_t& offset, const hsa_dim3_t& range) {
  hsa_dim3_t actual = range;
  if (image.y == 1 && actual.y == 0) actual.y = 1;
  if (image.z == 1 && actual.z == 0) actual.z = 1;
  const auto within = [](uint32_t begin, uint32_t count, uint32_t size) {
    return begin <= size && count <= size - begin;
  };
  if (!within(offset.x, actual.x, image.x) || !within(offset.y, actual.y, image.y) ||
      !within(offset.z, actual.z, image.z)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "image region: {} x {} x {} elements at ({}, {}, {}) exceed the image of {} x {} x {}",
                actual.x, actual.y, actual.z, offset.x, offset.y, offset.z, image.x, image.y, image.z);
  }
  return actual;
}

BoxSide image_side(const ImageSteps& steps, void* data, const hsa_dim3_t& offset, const hsa_dim3_t& range) {
  BoxSide side;
  side.start = static_cast<unsigned char*>(data) + offset.z * steps.plane + offset.y * steps.row +
               offset.x * steps.element;
  side.pitch = steps.row;
  side.slice = steps.plane;
  if (range.x != 0 && range.y != 0 && range.z != 0)
    side.extent = (range.z - 1) * steps.plane + (range.y - 1) * steps.row + range.x * steps.element;
  return side;
}

}  // namespace rigel
