// A box of memory: rows of bytes in layers, as in hsa_amd_memory_async_copy_rect. Arithmetic that is checked
// once, in make_box; later computations cannot overflow or leave the boxes.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>

#include "api/support/status.hpp"

namespace rigel {

/// One side of a copy: the address of its first row, and the distances between rows and layers.
struct BoxSide {
  unsigned char* start = nullptr;
  size_t pitch = 0;   ///< in bytes
  size_t slice = 0;   ///< in bytes
  size_t extent = 0;  ///< in bytes, from `start` to the end of the last row
};

struct Box {
  BoxSide destination;
  BoxSide source;
  size_t width = 0;   ///< length of a row, in bytes
  size_t height = 0;  ///< rows in a layer
  size_t depth = 0;   ///< layers

  bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }
  size_t rows() const noexcept { return height * depth; }
};

/// Checks and combines the arguments of hsa_amd_memory_async_copy_rect, none of them null. An empty range
/// makes an empty box. Fails with INVALID_ARGUMENT in these cases:
/// - An address, pitch or slice is not a multiple of 4.
/// - A row is longer than its pitch, or a layer longer than its slice.
/// - There are several layers, but the slice is 0.
/// - The box leaves the address space.
Result<Box> make_box(const hsa_pitched_ptr_t& destination, const hsa_dim3_t& destination_offset,
                     const hsa_pitched_ptr_t& source, const hsa_dim3_t& source_offset,
                     const hsa_dim3_t& range);

/// Copies `count` rows from row `first` with the calling thread.
void copy_rows(const Box& box, size_t first, size_t count) noexcept;

}  // namespace rigel
