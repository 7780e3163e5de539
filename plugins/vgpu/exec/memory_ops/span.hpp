// Execution of vector memory instructions in two steps: the addressing mode computes each lane's address (a
// Span), then access_span() moves the data.
//
// *Errors:* a lane that faults stops the wave. Wave::fault_* has the lowest faulting lane's first
// inaccessible byte, and the function returns false. Accesses of other lanes that are already complete
// remain, as on hardware.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"
#include "plugins/vgpu/exec/simd.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

struct Span {
  alignas(64) uint64_t va[64];  ///< First byte; valid for active lanes.
  uint64_t active[4] = {};      ///< Lanes that access dword k; each a subset of the previous one.
  uint64_t dword_stride = 4;    ///< Distance of a lane's dwords: more than 4 in swizzled memory.

  void all_dwords(uint64_t exec) {
    for (uint64_t& lanes : active) lanes = exec;
  }
};

/// Lanes in swizzled memory: a lane's elements are `element_stride` bytes apart, with other lanes' elements
/// between them.
struct SwizzledSpan {
  alignas(64) uint64_t base[64];    ///< Address of the lane's byte 0; read for all lanes.
  alignas(64) uint64_t offset[64];  ///< Offset in the lane's memory.
  uint64_t active[4] = {};
  uint64_t element_bytes = 4;  ///< A power of two.
  uint64_t element_stride = 4;

  uint64_t address(unsigned lane, uint64_t at) const {
    return base[lane] + (at >> std::countr_zero(element_bytes)) * element_stride + at % element_bytes;
  }
};

/// Rows of the data, as the first of `Shape::dwords()` rows. For atomics: the operands' rows (two operands
/// for compare-and-swap) and the rows of the old value.
struct DataRows {
  uint32_t data = 0;
  uint32_t result = 0;
  bool returns = false;
};

/// Move data between a wave's rows and memory that contains the bytes of all lanes. A lane's host address
/// is its address plus `distance`. Consecutive and uniform addresses need few loads and stores.
void load_at_distance(const Shape& shape, const Span& span, uint64_t distance, unsigned width,
                      std::byte* registers);
void store_at_distance(const Shape& shape, const Span& span, uint64_t distance, unsigned width,
                       std::byte* registers);

/// Loads to `result`, except lanes of active[0] that are not in active[k]; stores `data`; or executes an
/// atomic. Atomics are atomic for all threads and in lane order, with addresses aligned down.
bool access_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows);

/// The same in swizzled memory. Accesses need not be aligned.
bool access_swizzled(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& swizzled,
                     const DataRows& rows);

/// Sets the results of lanes that are out of range, in `exec` but not in `active`, to 0.
void zero_results(const Wave* wave, const Shape& shape, uint32_t result, const uint64_t (&active)[4],
                  uint64_t exec);

/// Records a fault in the wave and returns false.
inline bool stop_with(Wave* wave, const VmFault& fault) {
  wave->stop = Stop::kFault;
  wave->fault_va = fault.va;
  wave->fault_access = static_cast<uint8_t>(fault.access);
  wave->fault_reason = static_cast<uint8_t>(fault.reason);
  return false;
}

/// Returns a register's value after loading a sub-dword `value`; `previous` is its previous value.
template <class Signed = int32_t, class Unsigned>
[[gnu::always_inline]] inline Unsigned narrow_to_register(const Shape& shape, Unsigned value,
                                                          Unsigned previous) {
  if (shape.sign) {
    const unsigned shift = 32 - 8u * shape.bytes;
    value = std::bit_cast<Unsigned>(std::bit_cast<Signed>(value << shift) >> shift);
  }
  if (!shape.d16) return value;
  if (shape.clears_half) return shape.high ? value << 16 : value & 0xffff;
  return shape.high ? value << 16 | (previous & 0xffff) : (previous & 0xffff0000) | (value & 0xffff);
}

/// Returns the value that a sub-dword store writes, in its low bits.
template <class Unsigned>
[[gnu::always_inline]] inline Unsigned narrow_from_register(const Shape& shape, Unsigned value) {
  return shape.high ? value >> 16 : value;
}

template <unsigned W, class T, bool kWhole, class Place>
[[gnu::always_inline]] inline void load_narrow_as(const Shape& shape, uint32_t* to, uint64_t exec,
                                                  Place place) {
  for_lanes<W>(exec, [&](unsigned lane) {
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(load_as<T>(place(lane))));
    to[lane] = kWhole ? value : narrow_to_register(shape, value, to[lane]);
  });
}

/// Sub-dword load or store per lane at `place(lane)`.
template <unsigned W, class Place>
[[gnu::always_inline]] inline void load_narrow_each(const Shape& shape, uint32_t* to, uint64_t exec,
                                                    Place place) {
  if (shape.d16) {
    shape.bytes == 1 ? load_narrow_as<W, uint8_t, false>(shape, to, exec, place)
                     : load_narrow_as<W, uint16_t, false>(shape, to, exec, place);
  } else if (shape.sign) {
    shape.bytes == 1 ? load_narrow_as<W, int8_t, true>(shape, to, exec, place)
                     : load_narrow_as<W, int16_t, true>(shape, to, exec, place);
  } else {
    shape.bytes == 1 ? load_narrow_as<W, uint8_t, true>(shape, to, exec, place)
                     : load_narrow_as<W, uint16_t, true>(shape, to, exec, place);
  }
}

template <unsigned W, class Place>
[[gnu::always_inline]] inline void store_narrow_each(const Shape& shape, const uint32_t* from, uint64_t exec,
                                                     Place place) {
  const unsigned shift = shape.high ? 16 : 0;
  if (shape.bytes == 1) {
    for_lanes<W>(exec,
                 [&](unsigned lane) { store_as(place(lane), static_cast<uint8_t>(from[lane] >> shift)); });
  } else {
    for_lanes<W>(exec,
                 [&](unsigned lane) { store_as(place(lane), static_cast<uint16_t>(from[lane] >> shift)); });
  }
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
