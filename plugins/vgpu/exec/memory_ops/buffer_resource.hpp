// Buffer descriptors (V#): four scalar registers that say where a buffer is, how its records lie and which
// part of it may be accessed. Loads out of range give 0; stores and atomics out of range do nothing.
//
// The range check. `offset` is the sum of VOFFSET and the instruction's offset. An access must end within the
// range. Plain loads and stores are checked dword by dword, formats and atomics in whole.
//
//  gfx8    Swizzled with a stride: index < NUM_RECORDS, and the access ends within STRIDE.
//          Else the access, at offset + index * STRIDE + SOFFSET, ends within NUM_RECORDS bytes.
//  gfx9    ADD_TID_ENABLE without IDXEN: no check.
//          IDXEN and a stride: index < NUM_RECORDS.
//          Else the access, at offset + SOFFSET, ends within NUM_RECORDS bytes.
//  gfx10   OOB_SELECT 0: index < NUM_RECORDS, and the access ends within STRIDE.
//          OOB_SELECT 1: index < NUM_RECORDS.
//          OOB_SELECT 2: NUM_RECORDS is not 0.
//          OOB_SELECT 3: SOFFSET is subtracted from NUM_RECORDS, which becomes 0 if SOFFSET is greater.
//            Swizzled with a stride: then as OOB_SELECT 0. Else the access, at offset, ends within
//            NUM_RECORDS bytes: index and stride do not count.
//
// From gfx9 on, VOFFSET and the instruction's offset are added in 32 bits. On gfx8 a sum of 33 bits is out of
// range. The sum with SOFFSET never wraps.
//
// Sources:
//  * The ISA manuals' "Range Checking". GCN 3 and Vega: `buffer_offset >= num_records - sgpr_offset`. RDNA 4,
//    table 56: OOB_SELECT as above ('In this mode, "num_records" is reduced by "sgpr_offset"'); its 9.4.1.2:
//    the check "includes the payload", "the stride field is ignored".
//  * ROCm/rocm-systems pull request 10928 measured gfx950: SOFFSET counts, accesses must end in range, which
//    checks there are, and what wraps. Its rules for RDNA 3 and 4 (addr_calc_buffer.h) are table 56.
//  * ROCm/rocMLIR pull request 678 has OOB_SELECT 3 of the chips up to gfx1030:
//    `offset + lengthOfOp > numRecords - sgproffset`.
//  * rocBLAS's kernels depend on it: SOFFSET has the row of a tile; rows beyond the matrix must read as 0.
//  * LLVM's SelectMUBUFScratchOffen, Mesa's aco_optimizer.cpp (vaddr_prevent_overflow): gfx8 does not wrap.
//
// Uncertain are cases without a measurement. The manuals up to RDNA 2 compare where an access begins, as they
// do for gfx950. Mesa's ac_descriptors.c gives other rules for gfx10 (`offset >= STRIDE` for OOB_SELECT 0,
// `swizzle_address >= NUM_RECORDS` for 3 with a swizzle). Aligned accesses to whole records are alike.
#pragma once

#include <cstdint>
#include <optional>

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

  /// Memory of lanes by their numbers: no register has another index.
  constexpr bool is_scratch(bool has_index) const { return swizzled && add_tid && !has_index; }

  /// Whether VOFFSET and the instruction's offset are added in 32 bits.
  static constexpr bool offsets_wrap(isa::BufferRules rules) { return rules != isa::BufferRules::kBySwizzle; }

  /// The number of bytes from offset 0 on that are in range; nothing if the check needs the index. `scalar`
  /// is SOFFSET.
  constexpr std::optional<uint64_t> byte_range(uint64_t scalar, bool has_index,
                                               isa::BufferRules rules) const {
    const uint64_t bytes = left(records, scalar);
    switch (rules) {
      case isa::BufferRules::kBySwizzle:
        // The stride of scratch is the bits of a data format (decode()). It does not count.
        if (is_scratch(has_index) || stride == 0 || (!swizzled && !has_index && !add_tid)) return bytes;
        return std::nullopt;
      case isa::BufferRules::kByIndex:
        if (!has_index && add_tid) return kUnlimited;
        if (!has_index || stride == 0) return bytes;
        return std::nullopt;
      case isa::BufferRules::kSelected:
        if (out_of_bounds == 2) return records == 0 ? 0 : kUnlimited;
        if (out_of_bounds == 3 && (!swizzled || stride == 0)) return bytes;
        return std::nullopt;
    }
    return std::nullopt;
  }

  /// How many bytes of an access at `offset` of record `index` are in range, from its first on. An access
  /// that is checked in whole compares this with its size.
  constexpr uint64_t in_range(uint64_t index, uint64_t offset, uint64_t scalar, bool has_index,
                              isa::BufferRules rules) const {
    if (const auto bytes = byte_range(scalar, has_index, rules)) return left(*bytes, offset);
    const uint64_t of_record = index < records ? left(stride, offset) : 0;
    switch (rules) {
      case isa::BufferRules::kBySwizzle:
        return swizzled ? of_record : left(records, scalar + offset + index * stride);
      case isa::BufferRules::kByIndex:
        break;
      case isa::BufferRules::kSelected:
        if (out_of_bounds == 0) return of_record;
        if (out_of_bounds == 3) return index < left(records, scalar) ? of_record : 0;
        break;
    }
    return index < records ? kUnlimited : 0;
  }

 private:
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  static constexpr uint64_t left(uint64_t limit, uint64_t at) { return at < limit ? limit - at : 0; }
};

}  // namespace rigel::vgpu::exec
