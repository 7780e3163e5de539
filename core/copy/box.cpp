#include "core/copy/box.hpp"

#include <algorithm>

#include "core/copy/block_copy.hpp"

namespace rigel {
namespace {

Result<BoxSide> make_side(const hsa_pitched_ptr_t& box, const hsa_dim3_t& offset, const hsa_dim3_t& range,
                          const char* name) {
  const auto base = reinterpret_cast<uintptr_t>(box.base);
  if (box.base == nullptr || base % 4 != 0 || box.pitch % 4 != 0 || box.slice % 4 != 0) {
    return fail(
        HSA_STATUS_ERROR_INVALID_ARGUMENT,
        "{} box: address {}, pitch {} and slice {} must be multiples of 4, and the address must not be NULL",
        name, box.base, box.pitch, box.slice);
  }
  // Offsets and ranges have 32 bits, so these additions cannot overflow.
  const uint64_t right = uint64_t{offset.x} + range.x;
  const uint64_t bottom = uint64_t{offset.y} + range.y;
  if (right > box.pitch) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} box: rows end at byte {}, past the pitch of {} bytes",
                name, right, box.pitch);
  }
  if (box.slice != 0 && bottom > box.slice / box.pitch) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "{} box: {} rows with a pitch of {} bytes exceed the slice of {} bytes", name, bottom,
                box.pitch, box.slice);
  }
  if (range.z > 1 && box.slice == 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} box: the slice is 0, but the range has several layers",
                name);
  }

  size_t layers = 0, rows = 0, begin = 0, end = 0, last_layer = 0, last_row = 0;
  bool overflow = __builtin_mul_overflow(size_t{offset.z}, box.slice, &layers);
  overflow |= __builtin_mul_overflow(size_t{offset.y}, box.pitch, &rows);
  overflow |= __builtin_add_overflow(layers, rows, &begin);
  overflow |= __builtin_add_overflow(begin, size_t{offset.x}, &begin);
  overflow |= __builtin_mul_overflow(size_t{range.z - 1}, box.slice, &last_layer);
  overflow |= __builtin_mul_overflow(size_t{range.y - 1}, box.pitch, &last_row);
  overflow |= __builtin_add_overflow(last_layer, last_row, &end);
  overflow |= __builtin_add_overflow(end, size_t{range.x}, &end);
  uintptr_t last = 0;
  overflow |= __builtin_add_overflow(base, begin, &last);
  overflow |= __builtin_add_overflow(last, end, &last);
  if (overflow) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} box: the addresses overflow", name);
  return BoxSide{static_cast<unsigned char*>(box.base) + begin, box.pitch, box.slice, end};
}

}  // namespace

Result<Box> make_box(const hsa_pitched_ptr_t& destination, const hsa_dim3_t& destination_offset,
                     const hsa_pitched_ptr_t& source, const hsa_dim3_t& source_offset,
                     const hsa_dim3_t& range) {
  if (range.x == 0 || range.y == 0 || range.z == 0) return Box{};
  const auto to = make_side(destination, destination_offset, range, "destination");
  if (!to) return error(to.error());
  const auto from = make_side(source, source_offset, range, "source");
  if (!from) return error(from.error());
  return Box{*to, *from, range.x, range.y, range.z};
}

void copy_rows(const Box& box, size_t first, size_t count) noexcept {
  const bool dense = box.destination.pitch == box.width && box.source.pitch == box.width;
  while (count > 0) {
    const size_t layer = first / box.height;
    const size_t row = first % box.height;
    const size_t here = std::min(count, box.height - row);  // rows in this layer
    unsigned char* to = box.destination.start + layer * box.destination.slice + row * box.destination.pitch;
    const unsigned char* from = box.source.start + layer * box.source.slice + row * box.source.pitch;
    if (dense) {
      copy_bytes(to, from, here * box.width);
    } else {
      for (size_t i = 0; i < here; ++i) {
        copy_bytes(to, from, box.width);
        to += box.destination.pitch;
        from += box.source.pitch;
      }
    }
    first += here;
    count -= here;
  }
}

}  // namespace rigel
