// Loops over lanes that move a wave's rows to and from memory; memory handlers consist of these. A row is W
// dwords, one per lane, aligned to 64 bytes. Files that are compiled for each SIMD level include this
// header.
//
// `host` is the address of memory that contains the elements of all active lanes. Memory of inactive lanes
// is not accessed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/simd.hpp"

#if RIGEL_SIMD_LEVEL == 2
#pragma GCC diagnostic push  // GCC's headers have deliberately undefined vectors
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include "plugins/vgpu/exec/vector/lanes.hpp"

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

/// Four dwords that one access moves.
using Quad [[gnu::vector_size(16)]] = uint32_t;

/// Load or store with exactly one host instruction. Other threads see an aligned value as a whole.
template <class T>
[[gnu::always_inline]] inline T load_at_once(const std::byte* host) {
  using Anywhere [[gnu::aligned(1), gnu::may_alias]] = T;
  return *reinterpret_cast<const volatile Anywhere*>(host);
}
template <class T>
[[gnu::always_inline]] inline void store_at_once(std::byte* host, T value) {
  using Anywhere [[gnu::aligned(1), gnu::may_alias]] = T;
  *reinterpret_cast<volatile Anywhere*>(host) = value;
}

/// Moves an element of N dwords, with the atomicity of wave_memory.hpp: accesses of four or two dwords,
/// then one.
template <unsigned N>
[[gnu::always_inline]] inline void load_element(uint32_t* registers, const std::byte* host) {
  constexpr unsigned kPiece = N >= 4 ? 4 : N >= 2 ? 2 : 1;
  using Piece = std::conditional_t<kPiece == 4, Quad, std::conditional_t<kPiece == 2, uint64_t, uint32_t>>;
  const auto piece = load_at_once<Piece>(host);
  std::memcpy(registers, &piece, sizeof piece);
  if constexpr (N > kPiece) load_element<N - kPiece>(registers + kPiece, host + sizeof piece);
}
template <unsigned N>
[[gnu::always_inline]] inline void store_element(std::byte* host, const uint32_t* registers) {
  constexpr unsigned kPiece = N >= 4 ? 4 : N >= 2 ? 2 : 1;
  using Piece = std::conditional_t<kPiece == 4, Quad, std::conditional_t<kPiece == 2, uint64_t, uint32_t>>;
  Piece piece;
  std::memcpy(&piece, registers, sizeof piece);
  store_at_once(host, piece);
  if constexpr (N > kPiece) store_element<N - kPiece>(host + sizeof piece, registers + kPiece);
}

constexpr unsigned first_lane(uint64_t exec) {
  return static_cast<unsigned>(std::countr_zero(exec));
}

/// The lanes of a mask, lowest first, as a range of lane numbers.
struct LanesOf {
  uint64_t remaining = 0;

  constexpr LanesOf begin() const { return *this; }
  static constexpr std::default_sentinel_t end() { return {}; }
  constexpr unsigned operator*() const { return first_lane(remaining); }
  constexpr void operator++() { remaining &= remaining - 1; }
  constexpr bool operator==(std::default_sentinel_t) const { return remaining == 0; }
};
constexpr LanesOf lanes_of(uint64_t exec) {
  return {exec};
}

template <unsigned W, class Each>
[[gnu::always_inline]] inline void for_lanes(uint64_t exec, Each each) {
  if (exec == kAllLanes<W>) {
    for (unsigned lane = 0; lane < W; ++lane) each(lane);
  } else {
    for (const unsigned lane : lanes_of(exec)) each(lane);
  }
}

/// Returns the mask bits of one vector's lanes; `lane` is the first.
template <class V>
[[gnu::always_inline]] inline uint32_t bits_from(uint64_t exec, unsigned lane) {
  return static_cast<uint32_t>(exec >> lane) & ((uint32_t{1} << kCount<V>)-1);
}
template <class V>
[[gnu::always_inline]] inline V vector_at(const auto* values, unsigned lane) {
  return load<V>(reinterpret_cast<const std::byte*>(values + lane));
}

template <unsigned W>
[[gnu::always_inline]] inline void fill_row(uint32_t* to, uint32_t value, uint64_t exec) {
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += kLanes) {
    store(reinterpret_cast<std::byte*>(to + i),
          blended(bits_from<U32>(exec, i), splat<U32>(value), vector_at<U32>(to, i)));
  }
}

/// Loads consecutive dwords; `host` is the address for lane 0.
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

/// Stores consecutive dwords; `host` is the address for lane 0.
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

/// Returns the lanes, active or not, whose value is at most `limit`.
template <unsigned W>
[[gnu::always_inline]] inline uint64_t lanes_up_to(const uint32_t* values, uint32_t limit) {
  uint64_t lanes = 0;
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += kLanes)
    lanes |= uint64_t{le(vector_at<U32>(values, i), splat<U32>(limit))} << i;
  return lanes;
}

/// The same for `values[lane] - base`.
template <unsigned W>
[[gnu::always_inline]] inline uint64_t lanes_up_to(const uint64_t* values, uint64_t base, uint64_t limit) {
  uint64_t lanes = 0;
  RIGEL_UNROLL
  for (unsigned i = 0; i < W; i += kCount<U64>)
    lanes |= uint64_t{le(vector_at<U64>(values, i) - base, splat<U64>(limit))} << i;
  return lanes;
}

/// Whether the active lanes' values are `start + lane * step`.
template <unsigned W>
[[gnu::always_inline]] inline bool is_ramp(const uint64_t* values, uint64_t exec, uint64_t start,
                                           uint64_t step) {
  U64 expected, mismatches{};
  for (int lane = 0; lane < kCount<U64>; ++lane) expected[lane] = start + static_cast<unsigned>(lane) * step;
  const auto compare = [&](auto all_lanes) {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += kCount<U64>) {
      U64 differs = vector_at<U64>(values, i) ^ expected;
      if constexpr (!all_lanes.value) differs &= bits_as<U64>(lane_mask64(bits_from<U64>(exec, i)));
      mismatches |= differs;
      expected += step * kCount<U64>;
    }
  };
  exec == kAllLanes<W> ? compare(std::true_type()) : compare(std::false_type());
  return ne(mismatches, U64{}) == 0;
}

/// Transposes a 4 by 4 matrix of dwords: four lanes' elements to or from four rows.
[[gnu::always_inline]] inline void transpose(Quad (&rows)[4]) {
  const Quad low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Quad low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Quad high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/// Calls `four(lane)` for four adjacent lanes that are all active, and `one(lane)` for other active lanes,
/// in ascending order.
template <unsigned W, class Four, class One>
[[gnu::always_inline]] inline void for_quads(uint64_t exec, Four four, One one) {
  for (unsigned lane = 0; lane < W; lane += 4) {
    const uint64_t active = exec >> lane & 15;
    if (active == 15) [[likely]] {
      four(lane);
    } else {
      for (const unsigned i : lanes_of(active)) one(lane + i);
    }
  }
}

/// Loads an element of N dwords per lane from `place(lane)`. Lane by lane: on many CPUs that is faster than
/// gather instructions.
template <unsigned W, unsigned N, class Place>
[[gnu::always_inline]] inline void load_each(uint32_t* to, uint64_t exec, Place place) {
  const auto one = [&](unsigned lane) {
    uint32_t element[N];
    load_element<N>(element, place(lane));
    for (unsigned d = 0; d < N; ++d) to[d * W + lane] = element[d];
  };
  if constexpr (N == 4) {
    const auto four = [&](unsigned lane) {
      Quad rows[4];
      for (unsigned i = 0; i < 4; ++i) rows[i] = load_at_once<Quad>(place(lane + i));
      transpose(rows);
      for (unsigned d = 0; d < 4; ++d) std::memcpy(to + d * W + lane, &rows[d], sizeof rows[d]);
    };
    for_quads<W>(exec, four, one);
  } else {
    for_lanes<W>(exec, one);
  }
}

/// Stores an element per lane. If lanes overlap, the highest wins.
template <unsigned W, unsigned N, class Place>
[[gnu::always_inline]] inline void store_each(const uint32_t* from, uint64_t exec, Place place) {
  const auto one = [&](unsigned lane) {
    uint32_t element[N];
    for (unsigned d = 0; d < N; ++d) element[d] = from[d * W + lane];
    store_element<N>(place(lane), element);
  };
  if constexpr (N == 4) {
    const auto four = [&](unsigned lane) {
      Quad rows[4];
      for (unsigned d = 0; d < 4; ++d) std::memcpy(&rows[d], from + d * W + lane, sizeof rows[d]);
      transpose(rows);
      for (unsigned i = 0; i < 4; ++i) store_at_once(place(lane + i), rows[i]);
    };
    for_quads<W>(exec, four, one);
  } else {
    for_lanes<W>(exec, one);
  }
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
