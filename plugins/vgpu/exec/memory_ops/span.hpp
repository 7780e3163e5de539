// How a vector memory instruction is done: first every lane's address is worked out (a Span), by whatever addressing the
// instruction has; then access_span() moves the data.
//
// A lane that faults stops the wave: Wave::fault_* name the lowest lane's first byte that cannot be accessed,
// and the function answers false. What other lanes did by then stays done, as on hardware.
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
  alignas(64) uint64_t va[64];  ///< Of the first byte; only those of active lanes count.
  uint64_t active[4] = {};      ///< Lanes that access dword k; each a subset of the one before.
  uint64_t dword_stride = 4;    ///< From one dword of a lane to its next: more where memory is swizzled.

  void all_dwords(uint64_t exec) {
    for (uint64_t& lanes : active) lanes = exec;
  }
};

/// Lanes in swizzled memory: elements of one lane lie `element_stride` apart, its neighbours' in between.
struct SwizzledSpan {
  alignas(64) uint64_t base[64];    ///< Of the lane's byte 0. Those of all lanes are read.
  alignas(64) uint64_t offset[64];  ///< In the lane's own memory.
  uint64_t active[4] = {};
  uint64_t element_bytes = 4;  ///< A power of two.
  uint64_t element_stride = 4;

  uint64_t address(unsigned lane, uint64_t at) const {
    return base[lane] + (at >> std::countr_zero(element_bytes)) * element_stride + at % element_bytes;
  }
};

/// Where the data are, in the wave's registers: first of `Shape::dwords()` rows. Atomics: the operand's rows
/// (two operands for compare-and-swap), and where the old value goes.
struct DataRows {
  uint32_t data = 0;
  uint32_t result = 0;
  bool returns = false;
};

/// Between a wave's rows and memory that has the bytes of all lanes: at the host's address `distance` behind the lane's. Lanes that follow
/// each other, or are all at one place, take few loads and stores.
void load_there(const Shape& shape, const Span& span, uint64_t distance, unsigned width, std::byte* to);
void store_there(const Shape& shape, const Span& span, uint64_t distance, unsigned width, std::byte* from);

/// Loads to `result`, where lanes of active[0] that are not in active[k] are left alone; stores `data`; or does an
/// atomic operation: atomic against everybody, lanes one after the other, addresses aligned down as memory does.
bool access_span(const void* site, Wave* wave, const Shape& shape, const Span& span, const DataRows& rows);

/// The same in swizzled memory; accesses need not be aligned.
bool access_swizzled(const void* site, Wave* wave, const Shape& shape, const SwizzledSpan& swizzled,
                     const DataRows& rows);

/// What loads and atomics of lanes give that are out of range, that is, in `exec` and not in `active`: 0.
void zero_results(const Wave* wave, const Shape& shape, uint32_t result, const uint64_t (&active)[4],
                  uint64_t exec);

/// Notes a fault in the wave, and is false.
inline bool stop_with(Wave* wave, const VmFault& fault) {
  wave->stop = Stop::kFault;
  wave->fault_va = fault.va;
  wave->fault_access = static_cast<uint8_t>(fault.access);
  wave->fault_reason = static_cast<uint8_t>(fault.reason);
  return false;
}

/// A sub-dword value of memory as it comes into a register that had `before`.
template <class Signed = int32_t, class Unsigned>
[[gnu::always_inline]] inline Unsigned narrow_to_register(const Shape& shape, Unsigned value,
                                                          Unsigned before) {
  if (shape.sign) {
    const unsigned beside = 32 - 8u * shape.bytes;
    value = std::bit_cast<Unsigned>(std::bit_cast<Signed>(value << beside) >> beside);
  }
  if (!shape.d16) return value;
  return shape.high ? value << 16 | (before & 0xffff) : (before & 0xffff0000) | (value & 0xffff);
}

/// What a sub-dword store writes, in its low bits.
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

/// Sub-dword loads and stores of each lane from where `place(lane)` says.
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
