// Memory accesses of compiled kernels: contiguous lanes, uniform addresses, and any lanes in one extent.
// Compiled to bitcode and inlined (kernel_memory.cpp). A function returns false, without effect, if it does
// not support the access; the interpreter's handler then executes it.
//
// A row is an array of W dwords. Constant indices allow LLVM to turn rows into values.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "plugins/vgpu/compiler/access_flags.hpp"
#include "plugins/vgpu/compiler/code/unlikely.hpp"
#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/span.hpp"
#include "plugins/vgpu/exec/vector/lanes.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using namespace compiler::access_flags;
using compiler::Linkage;

constexpr uint32_t kAllOf = (uint32_t{1} << kLanes) - 1;

[[gnu::always_inline]] inline U32 vector_of(const uint32_t* row, unsigned vector) {
  return vector_at<U32>(row, vector * kLanes);
}

// The active lanes of a vector. At AVX2, LLVM would extract bits that come from another block one at a time,
// but not the result of a comparison.
struct Active {
  [[gnu::always_inline]] Active(uint64_t exec, unsigned vector)
      : bits(bits_from<U32>(exec, vector * kLanes)) {
#if RIGEL_SIMD_LEVEL == 1
    const unsigned first = vector * kLanes % 32;
    U32 own;
    for (unsigned lane = 0; lane < kLanes; ++lane) own[lane] = uint32_t{1} << (first + lane);
    lanes = bits_as<U32>((splat<U32>(static_cast<uint32_t>(exec >> (vector * kLanes - first))) & own) == own);
#endif
  }

  uint32_t bits;
#if RIGEL_SIMD_LEVEL == 1
  U32 lanes;
#endif
};

// Writes the results of active lanes; inactive lanes keep their values if `keeps`.
[[gnu::always_inline]] inline void put(uint32_t* row, unsigned vector, U32 value, const Active& active,
                                       bool keeps) {
  std::byte* const at = reinterpret_cast<std::byte*>(row + vector * kLanes);
#if RIGEL_SIMD_LEVEL == 2
  store(at, keeps ? blended(active.bits, value, load<U32>(at)) : value);
#else
  store(at, keeps ? select(active.lanes, value, load<U32>(at)) : value);
#endif
}

[[gnu::always_inline]] inline U32 lane_numbers() {
  U32 numbers;
  for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = static_cast<uint32_t>(lane);
  return numbers;
}

// Copies a row to memory for indexing by a variable lane, subtracting `origin`.
template <unsigned W>
[[gnu::always_inline]] inline void copy_row(uint32_t* to, const uint32_t* from, uint32_t origin) {
  RIGEL_UNROLL
  for (unsigned v = 0; v < W / kLanes; ++v)
    store(reinterpret_cast<std::byte*>(to + v * kLanes), vector_of(from, v) - origin);
}

// The value of a variable lane, usually the first.
template <unsigned W>
[[gnu::always_inline]] inline uint32_t value_of(const uint32_t* row, unsigned lane) {
  if (lane == 0) [[likely]]
    return row[0];
  alignas(64) uint32_t values[W];
  copy_row<W>(values, row, 0);
  return values[lane];
}

// Collects lanes that are active and differ from expected values.
class Mismatch {
 public:
#if RIGEL_SIMD_LEVEL == 2
  [[gnu::always_inline]] void add_unequal(U32 a, U32 b, const Active& active) {
    differences_ |= ne(a, b) & active.bits;
  }
  [[gnu::always_inline]] bool any() const {
    return differences_ != 0;
  }

 private:
  uint32_t differences_ = 0;
#else
  [[gnu::always_inline]] void add_unequal(U32 a, U32 b, const Active& active) {
    differences_ |= (a ^ b) & active.lanes;
  }
  [[gnu::always_inline]] bool any() const {
    return _mm256_testz_si256(bits_as<__m256i>(differences_), bits_as<__m256i>(differences_)) == 0;
  }

 private:
  U32 differences_{};
#endif
};

// Usually the first vector decides.
template <unsigned W>
[[gnu::always_inline]] inline bool all_are(const uint32_t* row, uint64_t exec, U32 expected, uint32_t step) {
  Mismatch first, others;
  first.add_unequal(vector_of(row, 0), expected, Active(exec, 0));
  if (first.any()) return false;
  RIGEL_UNROLL
  for (unsigned v = 1; v < W / kLanes; ++v) {
    expected += step;
    others.add_unequal(vector_of(row, v), expected, Active(exec, v));
  }
  return !others.any();
}

[[gnu::always_inline]] inline U32 masked_load(const Active& active, const std::byte* from) {
#if RIGEL_SIMD_LEVEL == 2
  return bits_as<U32>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(active.bits), from));
#else
  return bits_as<U32>(
      _mm256_maskload_epi32(reinterpret_cast<const int*>(from), bits_as<__m256i>(active.lanes)));
#endif
}
[[gnu::always_inline]] inline void masked_store(const Active& active, std::byte* to, U32 value) {
#if RIGEL_SIMD_LEVEL == 2
  _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(active.bits), bits_as<__m512i>(value));
#else
  if (active.bits == kAllOf) [[likely]]
    return store(to, value);
  _mm256_maskstore_epi32(reinterpret_cast<int*>(to), bits_as<__m256i>(active.lanes), bits_as<__m256i>(value));
#endif
}

using Two [[gnu::vector_size(2 * sizeof(U32))]] = uint32_t;
using Four [[gnu::vector_size(4 * sizeof(U32))]] = uint32_t;
using Numbers = std::make_index_sequence<kLanes>;

#pragma clang diagnostic ignored "-Wpsabi"  // No function is called across this boundary.

// Conversions between N vectors, each with one dword of every lane, and N vectors with each lane's dwords
// adjacent. One shuffle of all: LLVM would otherwise emit a dozen moves of single dwords.
template <size_t... I>
[[gnu::always_inline]] inline Two joined(U32 low, U32 high, std::index_sequence<I...>) {
  return __builtin_shufflevector(low, high, I...);
}
template <size_t... I>
[[gnu::always_inline]] inline Four joined(Two low, Two high, std::index_sequence<I...>) {
  return __builtin_shufflevector(low, high, I...);
}
template <unsigned N>
[[gnu::always_inline]] inline auto joined(const U32 (&vectors)[N]) {
  constexpr std::make_index_sequence<2 * kLanes> kTwo;
  const Two low = joined(vectors[0], vectors[1], kTwo);
  if constexpr (N == 2) {
    return low;
  } else {
    return joined(low, joined(vectors[2], vectors[N - 1], kTwo), std::make_index_sequence<4 * kLanes>());
  }
}
template <unsigned N, size_t d, class All, size_t... I>
[[gnu::always_inline]] inline U32 every(const All& elements, std::index_sequence<I...>) {
  return __builtin_shufflevector(elements, elements, (I * N + d)...);
}
template <unsigned N, size_t kPart, class All, size_t... I>
[[gnu::always_inline]] inline U32 interleave(const All& rows, std::index_sequence<I...>) {
  return __builtin_shufflevector(rows, rows,
                                 ((kPart * kLanes + I) % N * kLanes + (kPart * kLanes + I) / N)...);
}

// Calls f with each index as a constant.
template <size_t... I, class F>
[[gnu::always_inline]] inline void with_each(std::index_sequence<I...>, F f) {
  (f(std::integral_constant<size_t, I>()), ...);
}

// Loads contiguous elements; `at` is the place of lane 0, active or not.
template <unsigned W, unsigned N, bool kInLds>
[[gnu::always_inline]] inline void load_contiguous(const std::byte* at, uint64_t exec, uint32_t* const* rows,
                                                   bool keeps) {
  RIGEL_UNROLL
  for (unsigned v = 0; v < W / kLanes; ++v) {
    const std::byte* const from = at + v * kLanes * N * 4;
    if constexpr (N == 1) {
      put(rows[0], v, masked_load(Active(exec, v), from), Active(exec, v), keeps);
    } else {
      U32 loaded[N];
      RIGEL_UNROLL
      for (unsigned d = 0; d < N; ++d) {
        const std::byte* const part = from + d * kLanes * 4;
        // At once: LLVM would load only the part that the shuffle uses, or load a part twice.
        loaded[d] = kInLds ? load<U32>(part) : load_at_once<U32>(part);
      }
      with_each(std::make_index_sequence<N>(), [&](auto d) {
        put(rows[d], v, every<N, d>(joined(loaded), Numbers()), Active(exec, v), keeps);
      });
    }
  }
}
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void store_contiguous(std::byte* at, uint64_t exec, uint32_t* const* rows) {
  RIGEL_UNROLL
  for (unsigned v = 0; v < W / kLanes; ++v) {
    std::byte* const to = at + v * kLanes * N * 4;
    if constexpr (N == 1) {
      masked_store(Active(exec, v), to, vector_of(rows[0], v));
    } else {
      U32 stored[N];
      RIGEL_UNROLL
      for (unsigned d = 0; d < N; ++d) stored[d] = vector_of(rows[d], v);
      with_each(std::make_index_sequence<N>(), [&](auto part) {
        store(to + part * kLanes * 4, interleave<N, part>(joined(stored), Numbers()));
      });
    }
  }
}

// Loads one element for all lanes.
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void load_one(const std::byte* at, uint64_t exec, uint32_t* const* rows,
                                            bool keeps) {
  uint32_t values[N];
  load_element<N>(values, at);
  RIGEL_UNROLL
  for (unsigned d = 0; d < N; ++d) {
    RIGEL_UNROLL
    for (unsigned v = 0; v < W / kLanes; ++v) put(rows[d], v, splat<U32>(values[d]), Active(exec, v), keeps);
  }
}

[[gnu::always_inline]] inline U32 gathered(const std::byte* base, U32 offsets, const Active& active) {
#if RIGEL_SIMD_LEVEL == 2
  return bits_as<U32>(_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), static_cast<__mmask16>(active.bits),
                                                  bits_as<__m512i>(offsets), base, 1));
#else
  return bits_as<U32>(_mm256_mask_i32gather_epi32(_mm256_setzero_si256(), reinterpret_cast<const int*>(base),
                                                  bits_as<__m256i>(offsets), bits_as<__m256i>(active.lanes),
                                                  1));
#endif
}

template <unsigned W>
[[gnu::always_inline]] inline bool all_below(const uint32_t* row, uint64_t exec, uint32_t origin,
                                             uint32_t limit) {
  Mismatch beyond;
  RIGEL_UNROLL
  for (unsigned v = 0; v < W / kLanes; ++v) {
    const U32 place = vector_of(row, v) - origin, most = splat<U32>(limit);
    beyond.add_unequal(place > most ? place : most, most, Active(exec, v));
  }
  return !beyond.any();
}

// Two loads if all lanes are active and within 32 dwords after the first lane, as in rows of tiles.
[[gnu::always_inline]] inline U32 near_or_gathered(const std::byte* base, U32 offsets, const Active& active) {
#if RIGEL_SIMD_LEVEL == 2
  const U32 distances = offsets - splat<U32>(offsets[0]);
  if (active.bits == kAllOf && mask_bits(bits_as<I32>((distances & ~uint32_t{0x7c}) != 0)) == 0) {
    const std::byte* const at = base + offsets[0];
    return bits_as<U32>(_mm512_permutex2var_epi32(_mm512_loadu_si512(at), bits_as<__m512i>(distances >> 2),
                                                  _mm512_loadu_si512(at + 64)));
  }
#endif
  return gathered(base, offsets, active);
}

constexpr Access access_of(bool stores) {
  return stores ? Access::kWrite : Access::kRead;
}

template <unsigned W>
constexpr uint64_t kWholeWave = W == 64 ? ~uint64_t{0} : 0xffffffff;

template <unsigned W, class Do>
[[gnu::always_inline]] inline void for_each_lane(uint64_t exec, Do lane) {
  if (exec == kWholeWave<W>) {
#pragma clang loop unroll_count(4)
    for (unsigned i = 0; i < W; ++i) lane(i);
  } else {
#pragma clang loop unroll(disable)
    for (uint64_t left = exec; left != 0; left &= left - 1)
      lane(static_cast<unsigned>(__builtin_ctzll(left)));
  }
}

// Copies an element between memory and this thread's buffer.
template <size_t kBytes>
[[gnu::always_inline]] inline void load_copy(std::byte* own, const std::byte* host) {
  if constexpr (kBytes < 4) {
    std::memcpy(own, host, kBytes);
  } else {
    uint32_t element[kBytes / 4];
    load_element<kBytes / 4>(element, host);
    std::memcpy(own, element, kBytes);
  }
}
template <size_t kBytes>
[[gnu::always_inline]] inline void store_copy(std::byte* host, const std::byte* own) {
  if constexpr (kBytes < 4) {
    std::memcpy(host, own, kBytes);
  } else {
    uint32_t element[kBytes / 4];
    std::memcpy(element, own, kBytes);
    store_element<kBytes / 4>(host, element);
  }
}

// Copies elements at `base` + places[lane] - `origin` to a contiguous buffer. Elements are accessed as a
// whole: another wave may store them concurrently.
template <unsigned W, size_t kBytes>
[[gnu::always_inline]] inline void collect(std::byte* elements, const std::byte* base, const uint32_t* places,
                                           uint32_t origin, uint64_t exec) {
  alignas(64) uint32_t offsets[W];
  copy_row<W>(offsets, places, origin);
  for_each_lane<W>(exec,
                   [&](unsigned lane) { load_copy<kBytes>(elements + lane * kBytes, base + offsets[lane]); });
}
template <unsigned W, size_t kBytes>
[[gnu::always_inline]] inline void distribute(const std::byte* elements, std::byte* base,
                                              const uint32_t* places, uint32_t origin, uint64_t exec) {
  alignas(64) uint32_t offsets[W];
  copy_row<W>(offsets, places, origin);
  for_each_lane<W>(
      exec, [&](unsigned lane) { store_copy<kBytes>(base + offsets[lane], elements + lane * kBytes); });
}

// How the elements of active lanes are arranged.
enum class Arrangement : uint8_t { kContiguous, kSame, kScattered };

// `start` is the place of the first active lane. The first two lanes decide which arrangement is tested.
template <unsigned W, unsigned N, bool kStores>
[[gnu::always_inline]] inline Arrangement arrangement_of(const uint32_t* places, uint32_t start,
                                                         unsigned first, uint64_t exec) {
  const bool same = !kStores && (exec & 3) == 3 && places[1] == start;
  if (N != 1 && !same && exec != kWholeWave<W>) return Arrangement::kScattered;
  const uint32_t step = same ? 0 : N * 4;
  const U32 expected = splat<U32>(start - first * step) + lane_numbers() * step;
  if (!all_are<W>(places, exec, expected, step * kLanes)) return Arrangement::kScattered;
  return same ? Arrangement::kSame : Arrangement::kContiguous;
}

// Stores rows. `at` is the place of lane 0, active or not; for kApart, the address to which each lane's place
// minus `origin` is added.
template <unsigned W, unsigned N>
[[gnu::always_inline]] inline void store_rows(Arrangement how, std::byte* at, const uint32_t* places,
                                              uint32_t origin, uint64_t exec, uint32_t* const* rows) {
  alignas(64) std::byte elements[W * N * 4];
  const bool is_scattered = how == Arrangement::kScattered;
  store_contiguous<W, N>(is_scattered ? elements : at, is_scattered ? kWholeWave<W> : exec, rows);
  if (is_scattered) distribute<W, N * 4>(elements, at, places, origin, exec);
}
template <unsigned W, unsigned N, bool kInLds>
[[gnu::always_inline]] inline void load_rows(Arrangement how, const std::byte* at, const uint32_t* places,
                                             uint32_t origin, uint64_t exec, uint32_t* const* rows,
                                             bool keeps) {
  if (how == Arrangement::kSame) return load_one<W, N>(at, exec, rows, keeps);
  if constexpr (N == 1) {
    if (how == Arrangement::kContiguous) return load_contiguous<W, N, kInLds>(at, exec, rows, keeps);
    RIGEL_UNROLL
    for (unsigned v = 0; v < W / kLanes; ++v) {
      const U32 offsets = vector_of(places, v) - origin;
      const Active active(exec, v);
      put(rows[0], v, kInLds ? near_or_gathered(at, offsets, active) : gathered(at, offsets, active), active,
          keeps);
    }
  } else {
    alignas(64) std::byte elements[W * N * 4];
    const bool is_scattered = how == Arrangement::kScattered;
    if (is_scattered) collect<W, N * 4>(elements, at, places, origin, exec);
    load_contiguous<W, N, kInLds>(is_scattered ? elements : at, exec, rows, keeps);
  }
}

// Loads or stores bytes and words at `base` + places[lane] - `origin`.
template <unsigned W, class T, bool kStores>
[[gnu::always_inline]] inline void move_narrow(std::byte* base, const uint32_t* places, uint32_t origin,
                                               uint64_t exec, uint32_t* row, uint32_t flags) {
  using Elements [[gnu::vector_size(sizeof(T) * kLanes)]] = T;
  Shape shape;
  shape.bytes = sizeof(T);
  shape.sign = (flags & kSigned) != 0, shape.d16 = (flags & kD16) != 0, shape.high = (flags & kHigh) != 0;
  shape.clears_half = (flags & kClearsHalf) != 0;
  const uint32_t first = places[0] - origin;
  const bool is_contiguous =
      exec == kWholeWave<W> && first <= ~uint32_t{0} - W * sizeof(T) &&
      all_are<W>(places, exec, splat<U32>(places[0]) + lane_numbers() * uint32_t{sizeof(T)},
                 sizeof(T) * kLanes);
  alignas(64) std::byte scattered[W * sizeof(T)];
  std::byte* const at = is_contiguous ? base + first : scattered;
  if (!kStores && !is_contiguous) collect<W, sizeof(T)>(scattered, base, places, origin, exec);
  RIGEL_UNROLL
  for (unsigned v = 0; v < W / kLanes; ++v) {
    Elements elements;
    std::byte* const part = at + v * sizeof elements;
    if constexpr (kStores) {
      elements = __builtin_convertvector(narrow_from_register(shape, vector_of(row, v)), Elements);
      std::memcpy(part, &elements, sizeof elements);
    } else {
      std::memcpy(&elements, part, sizeof elements);
      const U32 value = __builtin_convertvector(elements, U32);
      put(row, v, narrow_to_register<I32>(shape, value, vector_of(row, v)), Active(exec, v),
          (flags & kKeeps) != 0);
    }
  }
  if (kStores && !is_contiguous) distribute<W, sizeof(T)>(scattered, base, places, origin, exec);
}

// If all active lanes share the upper address dword, adds it to `base` and returns true. False also for FLAT
// apertures. `high`: the upper dwords, or null if `base` is complete.
template <unsigned W>
[[gnu::always_inline]] inline bool find_base(const Wave* wave, const uint32_t* high, uint64_t exec, bool flat,
                                             uint64_t& base) {
  if (high == nullptr) return true;
  const uint32_t upper = value_of<W>(high, static_cast<unsigned>(__builtin_ctzll(exec)));
  if (flat && (upper == wave->shared_aperture_hi || upper == wave->private_aperture_hi)) return false;
  base += uint64_t{upper} << 32;
  return all_are<W>(high, exec, splat<U32>(upper), 0);
}

// Returns the host address; null: the handler must execute the access. Sites share 256 cache slots; a miss is
// normal for the first waves.
[[gnu::always_inline]] inline std::byte* place_of(WaveMemory* memory, const Linkage* linkage,
                                                  const MicroOp* site, uint64_t va, uint64_t bytes,
                                                  Access access) {
  const WaveMemory::Extent& extent = memory->last_extent(site, access);
  const uint64_t into = va - extent.begin;
  if (into < extent.bytes && bytes <= extent.bytes - into) [[likely]]
    return extent.host + into;
  return compiler::unlikely_find(linkage, memory, site, va, bytes, access);
}

// Returns the host address of an extent that contains the elements of all active lanes, and in `origin` the
// number to subtract from lanes' values to get offsets in it. `first`: the value of one active lane.
template <unsigned W>
[[gnu::always_inline]] inline std::byte* find_extent(const Wave* wave, const Linkage* linkage,
                                                     const MicroOp* site, const uint32_t* low, uint32_t first,
                                                     uint64_t base, uint64_t exec, uint32_t bytes,
                                                     Access access, uint32_t& origin) {
  if (place_of(wave->memory, linkage, site, base + first, bytes, access) == nullptr) return nullptr;
  const WaveMemory::Extent& extent = wave->memory->last_extent(site, access);
  const uint64_t ahead = extent.begin - base, into = base - extent.begin;
  const bool is_inside = into < extent.bytes;  // Whether `base` is inside of the extent.
  if (!is_inside && ahead > 0xffffffff) return nullptr;
  origin = is_inside ? 0 : static_cast<uint32_t>(ahead);
  // Gathers use signed offsets, and a value below `origin` must not wrap around into the extent.
  const uint64_t room = std::min<uint64_t>(
      {is_inside ? extent.bytes - into : extent.bytes, 0x7fffffff, (uint64_t{1} << 32) - origin});
  if (room < bytes || !all_below<W>(low, exec, origin, static_cast<uint32_t>(room) - bytes)) return nullptr;
  return is_inside ? extent.host + into : extent.host;
}

template <unsigned W, class T, bool kStores>
[[gnu::always_inline]] inline bool reach_global_narrow(Wave* wave, const Linkage* linkage,
                                                       const MicroOp* site, const uint32_t* low,
                                                       const uint32_t* high, uint64_t base, uint64_t exec,
                                                       uint32_t* row, uint32_t flags) {
  if (exec == 0) return true;
  if (!find_base<W>(wave, high, exec, (flags & kFlat) != 0, base)) return false;
  uint32_t origin = 0;
  const uint32_t first = value_of<W>(low, static_cast<unsigned>(__builtin_ctzll(exec)));
  std::byte* const extent_host =
      find_extent<W>(wave, linkage, site, low, first, base, exec, sizeof(T), access_of(kStores), origin);
  if (extent_host == nullptr) return false;
  move_narrow<W, T, kStores>(extent_host, low, origin, exec, row, flags);
  return true;
}

template <unsigned W, class T, bool kStores>
[[gnu::always_inline]] inline bool reach_lds_narrow(std::byte* lds, uint32_t limit, const uint32_t* addresses,
                                                    uint32_t offset, uint64_t exec, uint32_t* row,
                                                    uint32_t flags) {
  if (exec == 0) return true;
  if (limit < sizeof(T)) return false;
  if ((flags & kAligned) != 0 && sizeof(T) == 2) {
    Mismatch misaligned;
    RIGEL_UNROLL
    for (unsigned v = 0; v < W / kLanes; ++v)
      misaligned.add_unequal((vector_of(addresses, v) + offset) & 1u, U32{}, Active(exec, v));
    if (misaligned.any()) return false;
  }
  if (!all_below<W>(addresses, exec, 0 - offset, limit - static_cast<uint32_t>(sizeof(T)))) return false;
  move_narrow<W, T, kStores>(lds, addresses, 0 - offset, exec, row, flags);
  return true;
}

// Whether vectors of contiguous elements split an aligned pair of dwords, as with three dwords per element.
template <unsigned N>
[[gnu::always_inline]] inline bool has_pairs_across_vectors(const std::byte* at) {
  return N == 3 && reinterpret_cast<uintptr_t>(at) % 8 != 0;
}

template <unsigned W, unsigned N, bool kStores>
[[gnu::always_inline]] inline bool reach_global(Wave* wave, const Linkage* linkage, const MicroOp* site,
                                                const uint32_t* low, const uint32_t* high, uint64_t base,
                                                uint64_t exec, uint32_t* const* rows, uint32_t flags) {
  constexpr uint32_t kStep = N * 4;
  if (exec == 0) return true;
  if (!find_base<W>(wave, high, exec, (flags & kFlat) != 0, base)) return false;
  const auto first = static_cast<unsigned>(__builtin_ctzll(exec));
  const unsigned last = 63 - static_cast<unsigned>(__builtin_clzll(exec));
  const uint32_t start = value_of<W>(low, first);
  Arrangement how = arrangement_of<W, N, kStores>(low, start, first, exec);
  uint32_t origin = 0;
  std::byte* at = nullptr;
  if (how == Arrangement::kScattered) {
    at = find_extent<W>(wave, linkage, site, low, start, base, exec, kStep, access_of(kStores), origin);
    if (at == nullptr) return false;
  } else {
    const uint32_t bytes = how == Arrangement::kSame ? kStep : (last - first + 1) * kStep;
    if (start > 0xffffffff - bytes) return false;
    at = place_of(wave->memory, linkage, site, base + start, bytes, access_of(kStores));
    if (at == nullptr) return false;
    if (how == Arrangement::kContiguous) at -= first * kStep;
  }
  if (how == Arrangement::kContiguous && has_pairs_across_vectors<N>(at)) {
    how = Arrangement::kScattered;
    origin = start - first * kStep;
  }
  if constexpr (kStores) {
    store_rows<W, N>(how, at, low, origin, exec, rows);
  } else {
    load_rows<W, N, false>(how, at, low, origin, exec, rows, (flags & kKeeps) != 0);
  }
  return true;
}

// Accesses LDS, of which `limit` bytes are accessible. One thread uses it, so the order of dwords cannot be
// observed.
template <unsigned W, unsigned N, bool kStores>
[[gnu::always_inline]] inline bool reach_lds(std::byte* lds, uint32_t limit, const uint32_t* addresses,
                                             uint32_t offset, uint64_t exec, uint32_t* const* rows,
                                             uint32_t flags) {
  constexpr uint32_t kStep = N * 4;
  if (exec == 0) return true;
  if (limit < kStep) return false;
  if ((flags & kAligned) != 0) {
    constexpr uint32_t kLowBits = (N == 3 ? 16 : kStep) - 1;
    Mismatch misaligned;
    RIGEL_UNROLL
    for (unsigned v = 0; v < W / kLanes; ++v)
      misaligned.add_unequal((vector_of(addresses, v) + offset) & kLowBits, U32{}, Active(exec, v));
    if (misaligned.any()) return false;
  }
  if (!all_below<W>(addresses, exec, 0 - offset, limit - kStep)) return false;
  const auto first = static_cast<unsigned>(__builtin_ctzll(exec));
  const uint32_t start = value_of<W>(addresses, first);
  const Arrangement how = arrangement_of<W, N, kStores>(addresses, start, first, exec);
  std::byte* at = lds;
  if (how != Arrangement::kScattered) at += static_cast<uint32_t>(start + offset);
  if (how == Arrangement::kContiguous) at -= first * kStep;
  if constexpr (kStores) {
    store_rows<W, N>(how, at, addresses, 0 - offset, exec, rows);
  } else {
    load_rows<W, N, true>(how, at, addresses, 0 - offset, exec, rows, (flags & kKeeps) != 0);
  }
  return true;
}

// One lane after the other, since lanes may share an address. A loop over memory: unrolled code would be
// long.
template <unsigned W>
[[gnu::always_inline]] inline bool lds_atomic(std::byte* lds, uint32_t limit, const uint32_t* addresses,
                                              uint32_t offset, uint64_t exec, uint32_t* const* rows,
                                              Atomic atomic) {
  if (exec == 0) return true;
  if (limit < 4 || !all_below<W>(addresses, exec, 0 - offset, limit - 4)) return false;
  alignas(64) uint32_t places[W], first[W], second[W], old[W];
  copy_row<W>(places, addresses, 0 - offset);
  copy_row<W>(first, rows[0], 0);
  if (has_two_operands(atomic)) copy_row<W>(second, rows[1], 0);
  if (rows[2] != nullptr) copy_row<W>(old, rows[2], 0);
  with_atomic(atomic, [&](auto which) {
    if constexpr (!is_float(which.value)) {
      const auto lane = [&](unsigned i) {
        std::byte* const place = lds + (places[i] & ~3u);
        uint32_t old_value;
        std::memcpy(&old_value, place, 4);
        const uint32_t new_value = next_in_lds<which.value, uint32_t>(
            old_value, first[i], has_two_operands(which.value) ? second[i] : 0);
        std::memcpy(place, &new_value, 4);
        old[i] = old_value;
      };
      for_each_lane<W>(exec, lane);
    }
  });
  if (rows[2] != nullptr) copy_row<W>(rows[2], old, 0);
  return true;
}

template <unsigned W>
[[gnu::always_inline]] inline bool global_atomic(Wave* wave, const Linkage* linkage, const MicroOp* site,
                                                 const uint32_t* low, const uint32_t* high, uint64_t base,
                                                 uint64_t exec, uint32_t* const* rows, uint32_t flags,
                                                 Atomic atomic) {
  if (exec == 0) return true;
  if (!find_base<W>(wave, high, exec, (flags & kFlat) != 0, base)) return false;
  uint32_t origin = 0;
  const uint32_t start = value_of<W>(low, static_cast<unsigned>(__builtin_ctzll(exec)));
  std::byte* const extent_host =
      find_extent<W>(wave, linkage, site, low, start, base, exec, 4, Access::kWrite, origin);
  // Only the lanes' offsets are rounded down to dwords below, so the extent must be aligned.
  if (extent_host == nullptr || reinterpret_cast<uintptr_t>(extent_host) % 4 != 0) return false;
  alignas(64) uint32_t places[W], first[W], second[W], old[W];
  copy_row<W>(places, low, origin);
  copy_row<W>(first, rows[0], 0);
  if (has_two_operands(atomic)) copy_row<W>(second, rows[1], 0);
  if (rows[2] != nullptr) copy_row<W>(old, rows[2], 0);
  with_atomic(atomic, [&](auto which) {
    if constexpr (!is_float(which.value)) {
#pragma clang loop unroll(disable)
      for (uint64_t left = exec; left != 0;) {
        const uint32_t place = places[__builtin_ctzll(left)] & ~3u;
        left &= ~atomically_in_a_row<which.value>(
            reinterpret_cast<uint32_t*>(extent_host + place), left, old,
            [&](unsigned lane) { return (places[lane] & ~3u) == place; },
            [&](unsigned lane) { return first[lane]; },
            [&](unsigned lane) { return has_two_operands(which.value) ? second[lane] : 0; });
      }
    }
  });
  if (rows[2] != nullptr) copy_row<W>(rows[2], old, 0);
  return true;
}

}  // namespace

// Functions that kernel_memory.cpp calls by name. flags: access_flags.hpp.
#define RIGEL_REACH(W, N)                                                                                 \
  extern "C" [[gnu::used]] bool load_global_##W##_##N(                                                    \
      Wave* wave, const Linkage* linkage, const MicroOp* site, const uint32_t* low, const uint32_t* high, \
      uint64_t base, uint64_t exec, uint32_t** rows, uint32_t flags) {                                    \
    return reach_global<W, N, false>(wave, linkage, site, low, high, base, exec, rows, flags);            \
  }                                                                                                       \
  extern "C" [[gnu::used]] bool store_global_##W##_##N(                                                   \
      Wave* wave, const Linkage* linkage, const MicroOp* site, const uint32_t* low, const uint32_t* high, \
      uint64_t base, uint64_t exec, uint32_t** rows, uint32_t flags) {                                    \
    return reach_global<W, N, true>(wave, linkage, site, low, high, base, exec, rows, flags);             \
  }                                                                                                       \
  extern "C" [[gnu::used]] bool load_lds_##W##_##N(std::byte* lds, uint32_t limit,                        \
                                                   const uint32_t* addresses, uint32_t offset,            \
                                                   uint64_t exec, uint32_t** rows, uint32_t flags) {      \
    return reach_lds<W, N, false>(lds, limit, addresses, offset, exec, rows, flags);                      \
  }                                                                                                       \
  extern "C" [[gnu::used]] bool store_lds_##W##_##N(std::byte* lds, uint32_t limit,                       \
                                                    const uint32_t* addresses, uint32_t offset,           \
                                                    uint64_t exec, uint32_t** rows, uint32_t flags) {     \
    return reach_lds<W, N, true>(lds, limit, addresses, offset, exec, rows, flags);                       \
  }
RIGEL_REACH(64, 1)
RIGEL_REACH(64, 2)
RIGEL_REACH(64, 3)
RIGEL_REACH(64, 4)
RIGEL_REACH(32, 1)
RIGEL_REACH(32, 2)
RIGEL_REACH(32, 3)
RIGEL_REACH(32, 4)

#define RIGEL_REACH_NARROW(W, bytes, T)                                                                   \
  extern "C" [[gnu::used]] bool load_global_narrow_##W##_##bytes(                                         \
      Wave* wave, const Linkage* linkage, const MicroOp* site, const uint32_t* low, const uint32_t* high, \
      uint64_t base, uint64_t exec, uint32_t** rows, uint32_t flags) {                                    \
    return reach_global_narrow<W, T, false>(wave, linkage, site, low, high, base, exec, rows[0], flags);  \
  }                                                                                                       \
  extern "C" [[gnu::used]] bool store_global_narrow_##W##_##bytes(                                        \
      Wave* wave, const Linkage* linkage, const MicroOp* site, const uint32_t* low, const uint32_t* high, \
      uint64_t base, uint64_t exec, uint32_t** rows, uint32_t flags) {                                    \
    return reach_global_narrow<W, T, true>(wave, linkage, site, low, high, base, exec, rows[0], flags);   \
  }                                                                                                       \
  extern "C" [[gnu::used]] bool load_lds_narrow_##W##_##bytes(                                            \
      std::byte* lds, uint32_t limit, const uint32_t* addresses, uint32_t offset, uint64_t exec,          \
      uint32_t** rows, uint32_t flags) {                                                                  \
    return reach_lds_narrow<W, T, false>(lds, limit, addresses, offset, exec, rows[0], flags);            \
  }                                                                                                       \
  extern "C" [[gnu::used]] bool store_lds_narrow_##W##_##bytes(                                           \
      std::byte* lds, uint32_t limit, const uint32_t* addresses, uint32_t offset, uint64_t exec,          \
      uint32_t** rows, uint32_t flags) {                                                                  \
    return reach_lds_narrow<W, T, true>(lds, limit, addresses, offset, exec, rows[0], flags);             \
  }
RIGEL_REACH_NARROW(64, 1, uint8_t)
RIGEL_REACH_NARROW(64, 2, uint16_t)
RIGEL_REACH_NARROW(32, 1, uint8_t)
RIGEL_REACH_NARROW(32, 2, uint16_t)

// rows: operands and result, or null; atomic: isa::Atomic.
extern "C" [[gnu::used]] bool global_atomic_64(Wave* wave, const Linkage* linkage, const MicroOp* site,
                                               const uint32_t* low, const uint32_t* high, uint64_t base,
                                               uint64_t exec, uint32_t** rows, uint32_t flags,
                                               uint32_t atomic) {
  return global_atomic<64>(wave, linkage, site, low, high, base, exec, rows, flags,
                           static_cast<Atomic>(atomic));
}
extern "C" [[gnu::used]] bool global_atomic_32(Wave* wave, const Linkage* linkage, const MicroOp* site,
                                               const uint32_t* low, const uint32_t* high, uint64_t base,
                                               uint64_t exec, uint32_t** rows, uint32_t flags,
                                               uint32_t atomic) {
  return global_atomic<32>(wave, linkage, site, low, high, base, exec, rows, flags,
                           static_cast<Atomic>(atomic));
}
extern "C" [[gnu::used]] bool lds_atomic_64(std::byte* lds, uint32_t limit, const uint32_t* addresses,
                                            uint32_t offset, uint64_t exec, uint32_t** rows,
                                            uint32_t atomic) {
  return lds_atomic<64>(lds, limit, addresses, offset, exec, rows, static_cast<Atomic>(atomic));
}
extern "C" [[gnu::used]] bool lds_atomic_32(std::byte* lds, uint32_t limit, const uint32_t* addresses,
                                            uint32_t offset, uint64_t exec, uint32_t** rows,
                                            uint32_t atomic) {
  return lds_atomic<32>(lds, limit, addresses, offset, exec, rows, static_cast<Atomic>(atomic));
}

// Lays out a handler's results, one row per dword, at the active lanes' offsets.
template <unsigned W>
[[gnu::always_inline]] inline void lay_out(const uint32_t* rows, uint32_t dwords, uint64_t exec,
                                           const uint32_t* offsets, std::byte* memory) {
  for (unsigned lane = 0; lane < W; ++lane) {
    if ((exec >> lane & 1) == 0) continue;
    for (uint32_t d = 0; d < dwords; ++d) std::memcpy(memory + offsets[lane] + d * 4, rows + d * W + lane, 4);
  }
}
extern "C" [[gnu::used, gnu::noinline]] void lay_out_64(const uint32_t* rows, uint32_t dwords, uint64_t exec,
                                                        const uint32_t* offsets, std::byte* memory) {
  lay_out<64>(rows, dwords, exec, offsets, memory);
}
extern "C" [[gnu::used, gnu::noinline]] void lay_out_32(const uint32_t* rows, uint32_t dwords, uint64_t exec,
                                                        const uint32_t* offsets, std::byte* memory) {
  lay_out<32>(rows, dwords, exec, offsets, memory);
}

// Scratch at different offsets, which the first row has; the next rows have the dwords. `bytes`: size of a
// lane's scratch.
template <unsigned W, bool kStore>
[[gnu::always_inline]] inline bool reach_scratch(Wave* wave, const Linkage* linkage, const MicroOp* site,
                                                 uint64_t va, uint64_t bytes, uint32_t further, uint64_t exec,
                                                 uint32_t* rows, uint32_t dwords) {
  U32 most{}, bits{};
  RIGEL_UNROLL
  for (unsigned v = 0; v < W / kLanes; ++v) {
    const U32 offsets = vector_of(rows, v) & bits_as<U32>(lane_mask<U32>(bits_from<U32>(exec, v * kLanes)));
    bits |= offsets;
    most = most > offsets ? most : offsets;
  }
  uint32_t all_bits = further, greatest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    all_bits |= bits[lane];
    greatest = std::max(greatest, uint32_t{most[lane]});
  }
  const uint64_t end = uint64_t{greatest} + further + dwords * 4;
  constexpr uint64_t kMostBytes = uint64_t{1} << 31;  // Limit of a gather.
  if (all_bits % 4 != 0 || end > bytes || end * W > kMostBytes) return false;
  std::byte* const host =
      place_of(wave->memory, linkage, site, va, end * W, kStore ? Access::kWrite : Access::kRead);
  if (host == nullptr) return false;
  if (all_are<W>(rows, exec, splat<U32>(greatest), 0)) {
    for (uint32_t d = 0; d < dwords; ++d) {
      std::byte* const dword = host + uint64_t{greatest + further + d * 4} * W;
      uint32_t* const data = rows + (1 + d) * W;
      RIGEL_UNROLL
      for (unsigned v = 0; v < W / kLanes; ++v) {
        const Active active(exec, v);
        std::byte* const at = dword + v * kLanes * 4;
        if constexpr (kStore) {
          masked_store(active, at, vector_of(data, v));
        } else {
          put(data, v, masked_load(active, at), active, false);
        }
      }
    }
    return true;
  }
  for (uint32_t d = 0; d < dwords; ++d) {
    std::byte* const dword = host + uint64_t{further + d * 4} * W;
    uint32_t* const data = rows + (1 + d) * W;
    if constexpr (kStore) {
      for (unsigned lane = 0; lane < W; ++lane) {
        if ((exec >> lane & 1) != 0) std::memcpy(dword + uint64_t{rows[lane]} * W + lane * 4, data + lane, 4);
      }
    } else {
      RIGEL_UNROLL
      for (unsigned v = 0; v < W / kLanes; ++v) {
        const U32 places = vector_of(rows, v) * W + lane_numbers() * 4u;
        put(data, v, gathered(dword + v * kLanes * 4, places, Active(exec, v)), Active(exec, v), false);
      }
    }
  }
  return true;
}
#define RIGEL_SCRATCH(W)                                                                         \
  extern "C" [[gnu::used, gnu::noinline]] bool load_scratch_##W(                                 \
      Wave* wave, const Linkage* linkage, const MicroOp* site, uint64_t va, uint64_t bytes,      \
      uint32_t further, uint64_t exec, uint32_t* rows, uint32_t dwords) {                        \
    return reach_scratch<W, false>(wave, linkage, site, va, bytes, further, exec, rows, dwords); \
  }                                                                                              \
  extern "C" [[gnu::used, gnu::noinline]] bool store_scratch_##W(                                \
      Wave* wave, const Linkage* linkage, const MicroOp* site, uint64_t va, uint64_t bytes,      \
      uint32_t further, uint64_t exec, uint32_t* rows, uint32_t dwords) {                        \
    return reach_scratch<W, true>(wave, linkage, site, va, bytes, further, exec, rows, dwords);  \
  }
RIGEL_SCRATCH(64)
RIGEL_SCRATCH(32)

extern "C" [[gnu::used]] const WaveMemory::Extent* last_extent(const WaveMemory* memory, const MicroOp* site,
                                                               Access access) {
  return &memory->last_extent(site, access);
}
extern "C" [[gnu::used]] std::byte* place_to_load(WaveMemory* memory, const Linkage* linkage,
                                                  const MicroOp* site, uint64_t va, uint64_t bytes) {
  return place_of(memory, linkage, site, va, bytes, Access::kRead);
}
extern "C" [[gnu::used]] std::byte* place_to_store(WaveMemory* memory, const Linkage* linkage,
                                                   const MicroOp* site, uint64_t va, uint64_t bytes) {
  return place_of(memory, linkage, site, va, bytes, Access::kWrite);
}
}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
