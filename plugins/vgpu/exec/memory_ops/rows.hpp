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
inline unsigned last_lane(uint64_t exec) {
  return 63u - static_cast<unsigned>(std::countl_zero(exec));
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

/// Whether active lanes' values are `start + lane * step` (modulo 2^32).
template <unsigned W>
[[gnu::always_inline]] inline bool is_ramp(const uint32_t* values, uint64_t exec, uint32_t start,
                                           uint32_t step) {
#if RIGEL_SIMD_LEVEL == 2
  const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  __m512i expected = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(start)),
                                      _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(step))));
  const __m512i chunk = _mm512_set1_epi32(static_cast<int>(step * 16));
  __m512i wrong = _mm512_setzero_si512();
  if (exec == kAllLanes<W>) {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      wrong = _mm512_or_si512(wrong, _mm512_xor_si512(_mm512_load_si512(values + i), expected));
      expected = _mm512_add_epi32(expected, chunk);
    }
  } else {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      const auto mask = static_cast<__mmask16>(exec >> i);
      wrong = _mm512_or_si512(wrong, _mm512_maskz_xor_epi32(mask, _mm512_load_si512(values + i), expected));
      expected = _mm512_add_epi32(expected, chunk);
    }
  }
  return _mm512_test_epi32_mask(wrong, wrong) == 0;
#else
  uint32_t wrong = 0;
  if (exec == kAllLanes<W>) {
    for (unsigned lane = 0; lane < W; ++lane) wrong |= values[lane] ^ (start + lane * step);
  } else {
    for_lanes<W>(exec, [&](unsigned lane) { wrong |= values[lane] ^ (start + lane * step); });
  }
  return wrong == 0;
#endif
}

template <unsigned W>
[[gnu::always_inline]] inline bool is_uniform(const uint32_t* values, uint64_t exec, uint32_t value) {
#if RIGEL_SIMD_LEVEL == 2
  const __m512i expected = _mm512_set1_epi32(static_cast<int>(value));
  __m512i wrong = _mm512_setzero_si512();
  if (exec == kAllLanes<W>) {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      wrong = _mm512_or_si512(wrong, _mm512_xor_si512(_mm512_load_si512(values + i), expected));
    }
  } else {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      const auto mask = static_cast<__mmask16>(exec >> i);
      wrong = _mm512_or_si512(wrong, _mm512_maskz_xor_epi32(mask, _mm512_load_si512(values + i), expected));
    }
  }
  return _mm512_test_epi32_mask(wrong, wrong) == 0;
#else
  uint32_t wrong = 0;
  if (exec == kAllLanes<W>) {
    for (unsigned lane = 0; lane < W; ++lane) wrong |= values[lane] ^ value;
  } else {
    for_lanes<W>(exec, [&](unsigned lane) { wrong |= values[lane] ^ value; });
  }
  return wrong == 0;
#endif
}

/// All bits that any active lane's value has.
template <unsigned W>
[[gnu::always_inline]] inline uint32_t union_of(const uint32_t* values, uint64_t exec) {
#if RIGEL_SIMD_LEVEL == 2
  __m512i all = _mm512_setzero_si512();
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    const auto mask = static_cast<__mmask16>(exec >> i);
    all = _mm512_or_si512(all, _mm512_maskz_mov_epi32(mask, _mm512_load_si512(values + i)));
  }
  return static_cast<uint32_t>(_mm512_reduce_or_epi32(all));
#else
  uint32_t all = 0;
  for_lanes<W>(exec, [&](unsigned lane) { all |= values[lane]; });
  return all;
#endif
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

#if RIGEL_SIMD_LEVEL == 2
// Lanes' masks for vectors of memory in which each lane has N dwords.
template <unsigned N>
inline uint64_t spread(uint64_t lanes16) {
  if constexpr (N == 1) {
    return lanes16;
  } else if constexpr (N == 2) {
    return _pdep_u64(lanes16, 0x5555555555555555) * 3;
  } else if constexpr (N == 3) {
    return _pdep_u64(lanes16, 0x1249249249249249) * 7;
  } else {
    return _pdep_u64(lanes16, 0x1111111111111111) * 15;
  }
}

// Which dword of N vectors of 16 comes where. Of two sources each: `low` chooses from vectors 0 and 1,
// `high` from 2 and 3, and `from_high` which of them counts.
struct Shuffle {
  alignas(64) uint32_t low[16];
  alignas(64) uint32_t high[16];
  uint16_t from_high;
};
template <unsigned N>
struct Shuffles {
  Shuffle of[N];
};
template <unsigned N>
constexpr Shuffles<N> gathering() {  // row d, lane i: element i * N + d of memory
  Shuffles<N> result{};
  for (unsigned d = 0; d < N; ++d) {
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned element = i * N + d;
      result.of[d].low[i] = element % 32;
      result.of[d].high[i] = element % 32;
      if (element >= 32) result.of[d].from_high = static_cast<uint16_t>(result.of[d].from_high | 1u << i);
    }
  }
  return result;
}
template <unsigned N>
constexpr Shuffles<N> scattering() {  // vector j of memory, element i: lane e / N of row e % N
  Shuffles<N> result{};
  for (unsigned j = 0; j < N; ++j) {
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned element = j * 16 + i;
      const unsigned source = element % N * 16 + element / N;
      result.of[j].low[i] = source % 32;
      result.of[j].high[i] = source % 32;
      if (source >= 32) result.of[j].from_high = static_cast<uint16_t>(result.of[j].from_high | 1u << i);
    }
  }
  return result;
}
template <unsigned N>
inline constexpr Shuffles<N> kGathering = gathering<N>();
template <unsigned N>
inline constexpr Shuffles<N> kScattering = scattering<N>();

template <unsigned N>
[[gnu::always_inline]] inline __m512i shuffle(const __m512i (&v)[N], const Shuffle& how) {
  const __m512i low = _mm512_permutex2var_epi32(v[0], _mm512_load_si512(how.low), v[1]);
  if constexpr (N == 2) {
    return low;
  } else {
    const __m512i high = _mm512_permutex2var_epi32(v[2], _mm512_load_si512(how.high), v[N - 1]);
    return _mm512_mask_blend_epi32(how.from_high, low, high);
  }
}
#endif

#if RIGEL_SIMD_LEVEL == 2
template <unsigned W, unsigned N, bool kAll>
[[gnu::always_inline]] inline void load_vectors(uint32_t* to, const std::byte* host, uint64_t exec) {
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    __m512i in[N];
    const auto mask = static_cast<__mmask16>(exec >> i);
    const uint64_t wide = kAll ? 0 : spread<N>(mask);
    RIGEL_UNROLL
    for (unsigned j = 0; j < N; ++j) {
      const std::byte* const from = host + i * 4 * N + j * 64;
      in[j] = kAll ? _mm512_loadu_si512(from)
                   : _mm512_maskz_loadu_epi32(static_cast<__mmask16>(wide >> (j * 16)), from);
    }
    RIGEL_UNROLL
    for (unsigned d = 0; d < N; ++d) {
      __m512i out;
      if constexpr (N == 1) {
        out = in[0];
      } else {
        out = shuffle<N>(in, kGathering<N>.of[d]);
      }
      if constexpr (kAll) {
        _mm512_store_si512(to + d * W + i, out);
      } else {
        _mm512_mask_store_epi32(to + d * W + i, mask, out);
      }
    }
  }
}

template <unsigned W, unsigned N, bool kAll>
[[gnu::always_inline]] inline void store_vectors(const uint32_t* from, std::byte* host, uint64_t exec) {
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    __m512i in[N];
    RIGEL_UNROLL
    for (unsigned d = 0; d < N; ++d) in[d] = _mm512_load_si512(from + d * W + i);
    const uint64_t wide = kAll ? 0 : spread<N>(static_cast<__mmask16>(exec >> i));
    RIGEL_UNROLL
    for (unsigned j = 0; j < N; ++j) {
      __m512i out;
      if constexpr (N == 1) {
        out = in[0];
      } else {
        out = shuffle<N>(in, kScattering<N>.of[j]);
      }
      std::byte* const to = host + i * 4 * N + j * 64;
      if constexpr (kAll) {
        _mm512_storeu_si512(to, out);
      } else {
        _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(wide >> (j * 16)), out);
      }
    }
  }
}
#endif

/// Loads N dwords of each lane from consecutive places: lane 0's would be at `host`.
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void load_consecutive(std::byte* rows, const std::byte* host, uint64_t exec) {
#if RIGEL_SIMD_LEVEL == 2
  exec == kAllLanes<W> ? load_vectors<W, N, true>(row(rows, 0), host, exec)
                       : load_vectors<W, N, false>(row(rows, 0), host, exec);
#else
  auto* const to = row(rows, 0);
  if (N == 1 && exec == kAllLanes<W>) {
    std::memcpy(to, host, W * 4);
    return;
  }
  for_lanes<W>(exec, [&](unsigned lane) {
    uint32_t value[N];
    // Two dwords at a time, so that aligned pairs are not torn.
    for (unsigned d = 0; d + 1 < N; d += 2) {
      const auto both = load_as<uint64_t>(host + lane * size_t{N * 4} + d * 4);
      value[d] = static_cast<uint32_t>(both);
      value[d + 1] = static_cast<uint32_t>(both >> 32);
    }
    if constexpr (N % 2 == 1) value[N - 1] = load_as<uint32_t>(host + lane * size_t{N * 4} + (N - 1) * 4);
    for (unsigned d = 0; d < N; ++d) to[d * W + lane] = value[d];
  });
#endif
}

/// Stores N dwords of each lane to consecutive places: lane 0's would go to `host`.
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void store_consecutive(std::byte* rows, std::byte* host, uint64_t exec) {
#if RIGEL_SIMD_LEVEL == 2
  exec == kAllLanes<W> ? store_vectors<W, N, true>(row(rows, 0), host, exec)
                       : store_vectors<W, N, false>(row(rows, 0), host, exec);
#else
  const auto* const from = row(rows, 0);
  if (N == 1 && exec == kAllLanes<W>) {
    std::memcpy(host, from, W * 4);
    return;
  }
  for_lanes<W>(exec, [&](unsigned lane) {
    std::byte* const to = host + lane * size_t{N * 4};
    for (unsigned d = 0; d + 1 < N; d += 2) {
      store_as<uint64_t>(to + d * 4, from[d * W + lane] | uint64_t{from[(d + 1) * W + lane]} << 32);
    }
    if constexpr (N % 2 == 1) store_as<uint32_t>(to + (N - 1) * 4, from[(N - 1) * W + lane]);
  });
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

/// The lanes, of all W, whose value is in [low, high]; low <= high.
template <unsigned W>
[[gnu::always_inline]] inline uint64_t lanes_between(const uint32_t* values, uint32_t low, uint32_t high) {
  uint64_t lanes = 0;
#if RIGEL_SIMD_LEVEL == 2
  const __m512i from = _mm512_set1_epi32(static_cast<int>(low));
  const __m512i range = _mm512_set1_epi32(static_cast<int>(high - low));
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 16) {
    const __mmask16 inside =
        _mm512_cmple_epu32_mask(_mm512_sub_epi32(_mm512_load_si512(values + i), from), range);
    lanes |= uint64_t{inside} << i;
  }
#else
  for (unsigned lane = 0; lane < W; ++lane) {
    lanes |= uint64_t{values[lane] - low <= high - low} << lane;
  }
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

/// The lanes, of all W, whose value is not `start + lane * step`.
template <unsigned W>
[[gnu::always_inline]] inline uint64_t lanes_off_ramp(const uint64_t* values, uint64_t start, uint64_t step) {
  uint64_t lanes = 0;
#if RIGEL_SIMD_LEVEL == 2
  const __m512i steps = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                           _mm512_set1_epi64(static_cast<long long>(step)));
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += 8) {
    const __m512i expected =
        _mm512_add_epi64(steps, _mm512_set1_epi64(static_cast<long long>(start + i * step)));
    lanes |= uint64_t{_mm512_cmpneq_epi64_mask(_mm512_load_si512(values + i), expected)} << i;
  }
#else
  for (unsigned lane = 0; lane < W; ++lane) {
    lanes |= uint64_t{values[lane] != start + lane * step} << lane;
  }
#endif
  return lanes;
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
