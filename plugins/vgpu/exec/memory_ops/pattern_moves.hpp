// Accesses by patterns that are known (pattern.hpp), and gathers for the rest. For AVX-512.
#pragma once

#include "plugins/vgpu/exec/memory_ops/pattern.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

#if RIGEL_SIMD_LEVEL == 2
namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Whether the addresses are the pattern's, and it has moves.
template <unsigned W>
[[gnu::always_inline]] inline bool matches(const Pattern& pattern, uint64_t kind, const uint32_t* addresses,
                                           uint64_t exec) {
  const __m512i from = _mm512_set1_epi32(static_cast<int>(addresses[first_lane(exec)]));
  __m512i wrong = _mm512_setzero_si512();
  if (exec == kAllLanes<W>) {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      const __m512i relative = _mm512_sub_epi32(_mm512_load_si512(addresses + i), from);
      wrong = _mm512_or_si512(wrong, _mm512_xor_si512(relative, _mm512_load_si512(pattern.relative + i)));
    }
  } else {
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      const __m512i relative =
          _mm512_maskz_sub_epi32(static_cast<__mmask16>(exec >> i), _mm512_load_si512(addresses + i), from);
      wrong = _mm512_or_si512(wrong, _mm512_xor_si512(relative, _mm512_load_si512(pattern.relative + i)));
    }
  }
  return _mm512_test_epi32_mask(wrong, wrong) == 0 && pattern.exec == exec && pattern.kind == kind &&
         pattern.near;
}

/// What is known of these addresses, or null.
template <unsigned W>
[[gnu::noinline]] inline const Pattern* find_pattern(Patterns& patterns, const void* site,
                                                     const PatternKind& kind, const uint32_t* addresses,
                                                     uint64_t exec) {
  if (!patterns.hopeful(site)) return nullptr;
  const __m512i from = _mm512_set1_epi32(static_cast<int>(addresses[first_lane(exec)]));
  alignas(64) uint32_t relative[64];
  for (unsigned i = 0; i < 64; i += 16) {
    const auto mask = static_cast<__mmask16>(i < W ? exec >> i : 0);
    _mm512_store_si512(relative + i,
                       _mm512_maskz_sub_epi32(mask, _mm512_load_si512(addresses + i % W), from));
  }
  return patterns.find(site, kind, exec, relative);
}

/// Where moves take their vectors from. Of pairs' stores, the second element's rows are elsewhere.
template <bool kPair>
struct MovesFrom {
  const std::byte* first;
  std::ptrdiff_t second = 0;
  [[gnu::always_inline]] const std::byte* operator[](int32_t from) const {
    if constexpr (!kPair) return first + from;
    return first + from + (from >= Pattern::kSecond ? second : 0);
  }
};

template <unsigned kSources, bool kMasked, bool kPair>
[[gnu::always_inline]] inline void move_all(const Pattern& pattern, MovesFrom<kPair> in, std::byte* out) {
  const Pattern::Move* move = pattern.moves;
  const Pattern::Move* const end = move + pattern.count;
#pragma GCC unroll 2
  for (; move != end; ++move) {
    const __m512i index =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(move->index)));
    const __m512i first = _mm512_loadu_si512(in[move->from[0]]);
    __m512i value;
    if constexpr (kSources == 1) {
      value = _mm512_maskz_permutexvar_epi32(0xffff, index, first);
    } else {
      value = _mm512_permutex2var_epi32(first, index, _mm512_loadu_si512(in[move->from[1]]));
    }
    if constexpr (kSources == 4) {
      const __m512i high = _mm512_permutex2var_epi32(_mm512_loadu_si512(in[move->from[2]]), index,
                                                     _mm512_loadu_si512(in[move->from[3]]));
      value = _mm512_mask_blend_epi32(move->high, value, high);
    }
    if constexpr (kMasked) {
      _mm512_mask_storeu_epi32(out + move->to, move->mask, value);
    } else {
      _mm512_storeu_si512(out + move->to, value);
    }
  }
}

template <unsigned kSources, bool kPair>
[[gnu::always_inline]] inline void move_masked(const Pattern& pattern, MovesFrom<kPair> in, std::byte* out) {
  pattern.masked ? move_all<kSources, true>(pattern, in, out) : move_all<kSources, false>(pattern, in, out);
}

/// Moves data from memory to rows or the other way round, as the pattern's kind says. Memory is that of the
/// first active lane.
template <bool kPair>
[[gnu::always_inline]] inline void apply(const Pattern& pattern, MovesFrom<kPair> in, std::byte* out) {
  switch (pattern.sources) {
    case 1:
      return move_masked<1>(pattern, in, out);
    case 2:
      return move_masked<2>(pattern, in, out);
    default:
      return move_masked<4>(pattern, in, out);
  }
}

[[gnu::always_inline]] inline void load_by(const Pattern& pattern, const std::byte* memory, std::byte* rows) {
  apply(pattern, MovesFrom<false>{memory}, rows);
}
[[gnu::always_inline]] inline void store_by(const Pattern& pattern, const std::byte* rows,
                                            std::byte* memory) {
  apply(pattern, MovesFrom<false>{rows}, memory);
}
/// `second`: the rows of a pair's second element.
[[gnu::always_inline]] inline void store_by(const Pattern& pattern, const std::byte* rows,
                                            const std::byte* second, std::byte* memory) {
  apply(pattern, MovesFrom<true>{rows, second - rows - Pattern::kSecond}, memory);
}

// N dwords of 16 lanes, one vector of lanes after the other.
template <unsigned N>
[[gnu::always_inline]] inline void gather_vector(__m512i (&out)[N], const std::byte* base,
                                                 const uint32_t* offsets) {
  constexpr unsigned kVectors = N == 3 ? 4 : N;  // of memory, as loaded: each lane's dwords together
  __m512i in[kVectors];
  RIGEL_UNROLL
  for (unsigned v = 0; v < kVectors; ++v) {
    __m128i part[4];
    RIGEL_UNROLL
    for (unsigned p = 0; p < 4; ++p) {
      const uint32_t* const lanes = offsets + (v * 4 + p) * 4 / kVectors;
      if constexpr (N == 1) {
        const auto at = [&](unsigned i) { return load_as<int>(base + lanes[i]); };
        part[p] = _mm_insert_epi32(
            _mm_insert_epi32(_mm_insert_epi32(_mm_cvtsi32_si128(at(0)), at(1), 1), at(2), 2), at(3), 3);
      } else if constexpr (N == 2) {
        const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(base + lanes[0]));
        part[p] = _mm_castpd_si128(
            _mm_loadh_pd(_mm_castsi128_pd(low), reinterpret_cast<const double*>(base + lanes[1])));
      } else if constexpr (N == 3) {
        part[p] = _mm_insert_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(base + lanes[0])),
                                   load_as<int>(base + lanes[0] + 8), 2);
      } else {
        part[p] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(base + lanes[0]));
      }
    }
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(part[0]), part[1], 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(part[2]), part[3], 1);
    in[v] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  if constexpr (N == 1) {
    out[0] = in[0];
  } else {
    RIGEL_UNROLL
    for (unsigned d = 0; d < N; ++d) out[d] = shuffle<kVectors>(in, kGathering<kVectors>.of[d]);
  }
}

/// Loads N dwords of each active lane from `base + offsets[lane]`. The offsets may be where the data go.
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void gather(uint32_t* to, const std::byte* base, const uint32_t* offsets,
                                          uint64_t exec) {
  alignas(64) uint32_t valid[W];
  const uint32_t* lanes = offsets;
  const bool all = exec == kAllLanes<W>;
  if (!all || N > 1) {
    const __m512i other = _mm512_set1_epi32(static_cast<int>(offsets[first_lane(exec)]));
    RIGEL_UNROLL
    for (unsigned i = 0; i < W; i += 16) {
      _mm512_store_si512(valid + i, _mm512_mask_mov_epi32(other, static_cast<__mmask16>(exec >> i),
                                                          _mm512_load_si512(offsets + i)));
    }
    lanes = valid;
  }
#pragma GCC unroll 1
  for (unsigned i = 0; i < W; i += 16) {
    __m512i out[N];
    gather_vector<N>(out, base, lanes + i);
    RIGEL_UNROLL
    for (unsigned d = 0; d < N; ++d) {
      _mm512_mask_store_epi32(to + d * W + i, static_cast<__mmask16>(exec >> i), out[d]);
    }
  }
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
#endif
