// Buffer descriptors (V#): four scalar registers that describe a buffer's address, records and range. Loads
// out of range return 0; stores and atomics out of range do nothing.
//
// Range check: `offset` is the sum of VOFFSET and the instruction's offset. An access must end within the
// range. Plain loads and stores are checked per dword, formats and atomics as a whole.
//
//  gfx8    Swizzled with a stride: index < NUM_RECORDS, and the access ends within STRIDE.
//          Otherwise offset + index * STRIDE + SOFFSET ends within NUM_RECORDS bytes.
//  gfx9    ADD_TID_ENABLE without IDXEN: no check.
//          IDXEN and a stride: index < NUM_RECORDS.
//          Otherwise offset + SOFFSET ends within NUM_RECORDS bytes.
//  gfx10   OOB_SELECT 0: index < NUM_RECORDS, and the access ends within STRIDE.
//          OOB_SELECT 1: index < NUM_RECORDS.
//          OOB_SELECT 2: NUM_RECORDS is not 0.
//          OOB_SELECT 3: NUM_RECORDS becomes max(NUM_RECORDS - SOFFSET, 0).
//            Swizzled with a stride: as OOB_SELECT 0 with that value.
//            Otherwise offset ends within that number of bytes; index and stride have no effect.
//
// From gfx9 on, VOFFSET and the instruction's offset are added in 32 bits. On gfx8 a 33-bit sum is out of
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
//  * rocBLAS's kernels: SOFFSET is the row of a tile, and rows past the matrix must read as 0.
//  * LLVM's SelectMUBUFScratchOffen, Mesa's aco_optimizer.cpp (vaddr_prevent_overflow): gfx8 does not wrap.
//
// There are no measurements of gfx8 to gfx10. Manuals up to RDNA 2 compare where an access begins, as they
// do for gfx950. Mesa's ac_descriptors.c has other rules for gfx10 (`offset >= STRIDE` for OOB_SELECT 0,
// `swizzle_address >= NUM_RECORDS` for 3 with a swizzle). Aligned accesses to whole records have the same
// result under all rules.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec {

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0;  ///< Distance of records in bytes.
  uint32_t records = 0;
  bool swizzled = false;
  bool add_tid = false;  ///< The lane number is added to the index.
  uint8_t element_bytes = 4;
  uint8_t index_stride = 8;                    ///< Number of records whose elements are interleaved.
  uint8_t select[4] = {};                      ///< Per component: 0, 1, or component 4 … 7 of memory.
  uint8_t data_format = 0, number_format = 0;  ///< gfx8, gfx9
  uint8_t format = 0;                          ///< gfx10
  uint8_t out_of_bounds = 0;                   ///< gfx10: OOB_SELECT

  static constexpr BufferResource decode(const uint32_t (&words)[4], isa::BufferRules rules,
                                         bool has_compact_formats = false) {
    BufferResource r;
    r.base = words[0] | uint64_t{words[1] & 0xffff} << 32;
    r.stride = words[1] >> 16 & 0x3fff;
    r.swizzled = words[1] >> 31 != 0;
    r.records = words[2];
    for (unsigned i = 0; i < 4; ++i) r.select[i] = words[3] >> 3 * i & 7;
    r.index_stride = static_cast<uint8_t>(8u << (words[3] >> 21 & 3));
    r.add_tid = (words[3] >> 23 & 1) != 0;
    if (rules == isa::BufferRules::kSelected) {
      r.format = words[3] >> 12 & (has_compact_formats ? 0x3f : 0x7f);
      if (has_compact_formats) r.swizzled = words[1] >> 30 != 0;
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

  /// Whether the descriptor is scratch memory: only the lane number selects the record.
  constexpr bool is_scratch(bool has_index) const { return swizzled && add_tid && !has_index; }

  /// Whether VOFFSET and the instruction's offset are added in 32 bits.
  static constexpr bool offsets_wrap(isa::BufferRules rules) { return rules != isa::BufferRules::kBySwizzle; }

  /// Returns the number of bytes from offset 0 on that are in range, or nothing if the check depends on the
  /// index. `scalar` is SOFFSET.
  constexpr std::optional<uint64_t> byte_range(uint64_t scalar, bool has_index,
                                               isa::BufferRules rules) const {
    const uint64_t bytes = remaining(records, scalar);
    switch (rules) {
      case isa::BufferRules::kBySwizzle:
        // The data format bits are scratch's stride (decode()), which does not count here.
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

  /// Returns how many bytes of an access at `offset` of record `index` are in range. An access that is
  /// checked as a whole compares this with its size.
  constexpr uint64_t in_range(uint64_t index, uint64_t offset, uint64_t scalar, bool has_index,
                              isa::BufferRules rules) const {
    if (const auto bytes = byte_range(scalar, has_index, rules)) return remaining(*bytes, offset);
    const uint64_t record_bytes = index < records ? remaining(stride, offset) : 0;
    switch (rules) {
      case isa::BufferRules::kBySwizzle:
        return swizzled ? record_bytes : remaining(records, scalar + offset + index * stride);
      case isa::BufferRules::kByIndex:
        break;
      case isa::BufferRules::kSelected:
        if (out_of_bounds == 0) return record_bytes;
        if (out_of_bounds == 3) return index < remaining(records, scalar) ? record_bytes : 0;
        break;
    }
    return index < records ? kUnlimited : 0;
  }

 private:
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  static constexpr uint64_t remaining(uint64_t limit, uint64_t offset) {
    return offset < limit ? limit - offset : 0;
  }
};

}  // namespace rigel::vgpu::exec
