// Buffer descriptors (V#): four scalar registers that say where a buffer is, how its records lie and what of
// it may be accessed. The layout differs between generations, and more so what is out of range:
//
//  gfx8    bytes if there is no stride or no swizzle, else records and the stride
//  gfx9    bytes unless the instruction has an index and there is a stride; then records
//          Both count the scalar offset when they count bytes, and look at where a dword begins.
//  gfx10   OOB_SELECT says; the scalar offset does not count, and a dword must fit in whole.
//
// Plain loads and stores are checked dword by dword, formats and atomics in whole.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec {

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0;  ///< Bytes from one record to the next.
  uint32_t records = 0;
  bool swizzled = false;
  bool add_tid = false;  ///< The lane's number is added to the index.
  uint8_t element_bytes = 4;
  uint8_t index_stride = 8;                    ///< Records whose elements are interleaved.
  uint8_t select[4] = {};                      ///< 0, 1, or 4 … 7 for the components
  uint8_t data_format = 0, number_format = 0;  ///< gfx8, gfx9
  uint8_t format = 0;                          ///< gfx10
  uint8_t out_of_bounds = 0;                   ///< gfx10: OOB_SELECT

  static constexpr BufferResource decode(const uint32_t (&words)[4], isa::BufferRules rules) {
    BufferResource r;
    r.base = words[0] | uint64_t{words[1] & 0xffff} << 32;
    r.stride = words[1] >> 16 & 0x3fff;
    r.swizzled = words[1] >> 31 != 0;
    r.records = words[2];
    for (unsigned i = 0; i < 4; ++i) r.select[i] = words[3] >> 3 * i & 7;
    r.index_stride = static_cast<uint8_t>(8u << (words[3] >> 21 & 3));
    r.add_tid = (words[3] >> 23 & 1) != 0;
    if (rules == isa::BufferRules::kSelected) {
      r.format = words[3] >> 12 & 0x7f;
      r.out_of_bounds = words[3] >> 28 & 3;
      return r;
    }
    r.number_format = words[3] >> 12 & 7;
    r.data_format = words[3] >> 15 & 0xf;
    if (r.add_tid) r.stride |= uint32_t{r.data_format} << 14;
    if (rules == isa::BufferRules::kBySwizzle)
      r.element_bytes = static_cast<uint8_t>(2u << (words[3] >> 19 & 3));
    return r;
  }

  /// The lanes' own memory: the lane's number is its record, and no register has another.
  constexpr bool is_scratch(bool has_index) const { return swizzled && add_tid && !has_index; }

  /// The sum of the register's offset and the instruction's. That of scratch has 32 bits from gfx9 on: compilers fold the
  /// constant part of an index into the instruction, and what is left in the register may be negative
  /// (SelectMUBUFScratchOffen in LLVM's AMDGPUISelDAGToDAG.cpp). On gfx8 such a sum is out of range.
  constexpr bool offsets_wrap(bool has_index, isa::BufferRules rules) const {
    return is_scratch(has_index) && rules != isa::BufferRules::kBySwizzle;
  }

  /// How many bytes of an access at `offset` of record `index` are in range, from its first on; whoever
  /// accesses in whole compares with the size. `scalar` is the scalar offset.
  constexpr uint64_t in_range(uint64_t index, uint64_t offset, uint64_t scalar, bool has_index,
                              isa::BufferRules rules) const {
    const auto left = [](uint64_t limit, uint64_t at) { return at < limit ? limit - at : 0; };
    constexpr uint64_t kAll = 16;
    if (rules != isa::BufferRules::kSelected) {
      // Scratch has a stride by accident: bits of a data format, which no lane's number makes count.
      const bool structured = stride != 0 && !is_scratch(has_index) &&
                              (rules == isa::BufferRules::kBySwizzle ? swizzled : has_index);
      // Any dword that begins in range counts.
      const uint64_t of_record = swizzled ? 0 : index * stride;
      if (!structured) return dwords_up(left(records, offset + of_record + scalar));
      if (index >= records) return 0;
      return swizzled ? dwords_up(left(stride, offset)) : kAll;
    }
    switch (out_of_bounds) {
      case 0:
        return index >= records ? 0 : left(stride, offset);
      case 1:
        return index >= records ? 0 : kAll;
      case 2:
        return records == 0 ? 0 : kAll;
      default:
        if (swizzled && stride != 0) return index >= records ? 0 : left(stride, offset);
        return left(records, offset + (has_index ? index * stride : 0));
    }
  }

  /// Whether offsets alone decide, for instructions without an index.
  constexpr bool is_range_of_bytes(bool has_index, isa::BufferRules rules) const {
    if (has_index || swizzled != add_tid) return false;  // Where both are, it is scratch.
    if (rules != isa::BufferRules::kSelected) return true;
    return out_of_bounds == 2 || (out_of_bounds == 3 && (!swizzled || stride == 0));
  }

  /// Of such: how many offsets, from 0 on, have at least `size` bytes in range.
  constexpr uint64_t offsets_with(uint64_t size, uint64_t scalar, isa::BufferRules rules) const {
    if (rules == isa::BufferRules::kSelected) {
      if (out_of_bounds == 2) return records == 0 ? 0 : ~uint64_t{0};
      return records < size ? 0 : records - size + 1;
    }
    const uint64_t before = scalar + dwords_up(size) - 4;  // of the last dword
    return records < before ? 0 : records - before;
  }

  static constexpr uint64_t dwords_up(uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; }
};

}  // namespace rigel::vgpu::exec
