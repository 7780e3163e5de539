// Rows of a wave against memory: the loops over lanes that memory handlers are made of, with AVX-512 forms
// of those that matter. A row is W dwords, one a lane, aligned to 64 bytes. Included by files that are
// compiled for each SIMD level.
//
// `host` is always the address of something that all active lanes lie within; what inactive lanes would
// touch is not touched.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/simd.hpp"

#if RIGEL_SIMD_LEVEL == 2
#pragma GCC diagnostic push  // GCC's own "undefined" vectors
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

template <unsigned W>
constexpr uint64_t kAllLanes = W == 64 ? ~uint64_t{0} : 0xffffffffu;

inline uint32_t* row(std::byte* registers, uint32_t offset) {
  return reinterpret_cast<uint32_t*>(__builtin_assume_aligned(registers + offset, 64));
}

inline uint32_t scalar(const std::byte* registers, uint32_t offset) {
  uint32_t value;
  std::memcpy(&value, registers + offset, sizeof value);
  return value;
}

inline uint64_t scalar64(const std::byte* registers, uint32_t offset) {
  uint64_t value;
  std::memcpy(&value, registers + offset, sizeof value);
  return value;
}

template <class T>
inline T load_as(const std::byte* host) {
  T value;
  std::memcpy(&value, host, sizeof value);
  return value;
}

template <class T>
inline void store_as(std::byte* host, T value) {
  std::memcpy(host, &value, sizeof value);
}

inline unsigned first_lane(uint64_t exec) {
  return static_cast<unsigned>(std::countr_zero(exec));
}

/// Calls `each(lane)` for the active lanes, lowest first.
template <unsigned W, class Each>
[[gnu::always_inline]] inline void for_lanes(uint64_t exec, Each each) {
  if (exec == kAllLanes<W>) {
    for (unsigned lane = 0; lane < W; ++lane) each(lane);
  } else {
    for (uint64_t left = exec; left != 0; left &= left - 1) each(first_lane(left));
  }
}

template <unsigned W>
[[gnu::always_inline]] inline void fill_row(uint32_t* to, uint32_t value, uint64_t exec) {
#if RIGEL_SIMD_LEVEL == 2
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    _mm512_mask_store_epi32(to + i, static_cast<__mmask16>(exec >> i),
                            _mm512_set1_epi32(static_cast<int>(value)));
  }
#else
  for_lanes<W>(exec, [&](unsigned lane) { to[lane] = value; });
#endif
}

/// Loads a dword of each lane from consecutive places: lane 0's would be at `host`.
template <unsigned W>
[[gnu::always_inline]] inline void load_consecutive(uint32_t* to, const std::byte* host, uint64_t exec) {
  if (exec == kAllLanes<W>) {
    std::memcpy(to, host, W * 4);
    return;
  }
#if RIGEL_SIMD_LEVEL == 2
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    const auto mask = static_cast<__mmask16>(exec >> i);
    _mm512_mask_store_epi32(to + i, mask, _mm512_maskz_loadu_epi32(mask, host + i * 4));
  }
#else
  for_lanes<W>(exec, [&](unsigned lane) { to[lane] = load_as<uint32_t>(host + lane * size_t{4}); });
#endif
}

/// Stores a dword of each lane to consecutive places: lane 0's would go to `host`.
template <unsigned W>
[[gnu::always_inline]] inline void store_consecutive(const uint32_t* from, std::byte* host, uint64_t exec) {
  if (exec == kAllLanes<W>) {
    std::memcpy(host, from, W * 4);
    return;
  }
#if RIGEL_SIMD_LEVEL == 2
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16)
    _mm512_mask_storeu_epi32(host + i * 4, static_cast<__mmask16>(exec >> i), _mm512_load_si512(from + i));
#else
  for_lanes<W>(exec, [&](unsigned lane) { store_as(host + lane * size_t{4}, from[lane]); });
#endif
}

/// The lanes, of all W, whose value is at most `limit`.
template <unsigned W>
[[gnu::always_inline]] inline uint64_t lanes_up_to(const uint32_t* values, uint32_t limit) {
  uint64_t lanes = 0;
#if RIGEL_SIMD_LEVEL == 2
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    const __mmask16 below =
        _mm512_cmple_epu32_mask(_mm512_load_si512(values + i), _mm512_set1_epi32(static_cast<int>(limit)));
    lanes |= uint64_t{below} << i;
  }
#else
  for (unsigned lane = 0; lane < W; ++lane) lanes |= uint64_t{values[lane] <= limit} << lane;
#endif
  return lanes;
}

/// The same of `values[lane] - base`.
template <unsigned W>
[[gnu::always_inline]] inline uint64_t lanes_up_to(const uint64_t* values, uint64_t base, uint64_t limit) {
  uint64_t lanes = 0;
#if RIGEL_SIMD_LEVEL == 2
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 8) {
    const __m512i from =
        _mm512_sub_epi64(_mm512_load_si512(values + i), _mm512_set1_epi64(static_cast<long long>(base)));
    const __mmask8 below = _mm512_cmple_epu64_mask(from, _mm512_set1_epi64(static_cast<long long>(limit)));
    lanes |= uint64_t{below} << i;
  }
#else
  for (unsigned lane = 0; lane < W; ++lane) lanes |= uint64_t{values[lane] - base <= limit} << lane;
#endif
  return lanes;
}

/// Whether active lanes' values are `start + lane * step`.
template <unsigned W>
[[gnu::always_inline]] inline bool is_ramp(const uint64_t* values, uint64_t exec, uint64_t start,
                                           uint64_t step) {
#if RIGEL_SIMD_LEVEL == 2
  __m512i expected = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(start)),
                                      _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                                         _mm512_set1_epi64(static_cast<long long>(step))));
  __m512i wrong = _mm512_setzero_si512();
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 8) {
    const auto mask = static_cast<__mmask8>(exec >> i);
    wrong = _mm512_or_si512(wrong, _mm512_maskz_xor_epi64(mask, _mm512_load_si512(values + i), expected));
    expected = _mm512_add_epi64(expected, _mm512_set1_epi64(static_cast<long long>(step * 8)));
  }
  return _mm512_test_epi64_mask(wrong, wrong) == 0;
#else
  uint64_t wrong = 0;
  for (unsigned lane = 0; lane < W; ++lane)
    wrong |= (values[lane] ^ (start + lane * step)) & (0 - (exec >> lane & 1));
  return wrong == 0;
#endif
}

/// Loads N dwords of each lane, by pairs that are not torn, from where `place(lane)` says. One lane after the
/// other: on many processors that is faster than their gathers are.
template <unsigned W, unsigned N, class Place>
[[gnu::always_inline]] inline void load_each(uint32_t* to, uint64_t exec, Place place) {
  for_lanes<W>(exec, [&](unsigned lane) {
    const std::byte* const from = place(lane);
    for (unsigned d = 0; d + 1 < N; d += 2) {
      const auto both = load_as<uint64_t>(from + d * 4);
      to[d * W + lane] = static_cast<uint32_t>(both);
      to[(d + 1) * W + lane] = static_cast<uint32_t>(both >> 32);
    }
    if constexpr (N % 2 == 1) to[(N - 1) * W + lane] = load_as<uint32_t>(from + (N - 1) * 4);
  });
}

/// Stores likewise; where lanes overlap, the highest wins.
template <unsigned W, unsigned N, class Place>
[[gnu::always_inline]] inline void store_each(const uint32_t* from, uint64_t exec, Place place) {
  for_lanes<W>(exec, [&](unsigned lane) {
    std::byte* const to = place(lane);
    for (unsigned d = 0; d + 1 < N; d += 2) {
      store_as<uint64_t>(to + d * 4, from[d * W + lane] | uint64_t{from[(d + 1) * W + lane]} << 32);
    }
    if constexpr (N % 2 == 1) store_as<uint32_t>(to + (N - 1) * 4, from[(N - 1) * W + lane]);
  });
}

/// Calls `with(std::integral_constant<unsigned, N>)` for 1 … 4.
template <class With>
[[gnu::always_inline]] inline void with_dwords(unsigned count, With with) {
  switch (count) {
    case 1:
      return with(std::integral_constant<unsigned, 1>());
    case 2:
      return with(std::integral_constant<unsigned, 2>());
    case 3:
      return with(std::integral_constant<unsigned, 3>());
    default:
      return with(std::integral_constant<unsigned, 4>());
  }
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
