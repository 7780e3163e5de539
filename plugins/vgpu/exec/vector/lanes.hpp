// Vectors of lanes, as wide as the SIMD level allows: the types of vector handlers. Arithmetic uses the
// compiler's operators; this header has functions for which there is no operator.
//
// A chunk of 32-bit lanes is one host vector. A chunk of 64-bit lanes has half the lanes, from two rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if RIGEL_SIMD_LEVEL > 0
#include <immintrin.h>
#endif

#include "plugins/vgpu/exec/simd.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

constexpr int kLanes = RIGEL_SIMD_LEVEL == 2 ? 16 : RIGEL_SIMD_LEVEL == 1 ? 8 : 4;

using U32 [[gnu::vector_size(kLanes * 4)]] = uint32_t;
using I32 [[gnu::vector_size(kLanes * 4)]] = int32_t;
using F32 [[gnu::vector_size(kLanes * 4)]] = float;
using U64 [[gnu::vector_size(kLanes * 4)]] = uint64_t;
using I64 [[gnu::vector_size(kLanes * 4)]] = int64_t;
using F64 [[gnu::vector_size(kLanes * 4)]] = double;
// 32-bit lanes that accompany 64-bit lanes.
using U32h [[gnu::vector_size(kLanes * 2)]] = uint32_t;
using I32h [[gnu::vector_size(kLanes * 2)]] = int32_t;
using F32h [[gnu::vector_size(kLanes * 2)]] = float;
using U16x2 [[gnu::vector_size(kLanes * 4)]] = uint16_t;
using I16x2 [[gnu::vector_size(kLanes * 4)]] = int16_t;

template <class V>
constexpr int kCount = sizeof(V) / sizeof(std::declval<V>()[0]);

template <class To, class From>
[[gnu::always_inline]] inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

template <class To, class From>
[[gnu::always_inline]] inline To convert(From value) {
  return __builtin_convertvector(value, To);
}

template <class V>
[[gnu::always_inline]] inline V load(const std::byte* source) {
  V value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

template <class V>
[[gnu::always_inline]] inline void store(std::byte* destination, V value) {
  std::memcpy(destination, &value, sizeof value);
}

template <class V, class Scalar>
[[gnu::always_inline]] inline V splat(Scalar value) {
  return value - V{};
}

template <class Mask, class V>
[[gnu::always_inline]] inline V select(Mask mask, V yes, V no) {
  return mask ? yes : no;
}

namespace detail {
template <class V>
struct LaneBits {
  alignas(sizeof(V)) uint32_t bit[kCount<V>];
  constexpr LaneBits() : bit() {
    for (int lane = 0; lane < kCount<V>; ++lane) bit[lane] = uint32_t{1} << lane;
  }
};
template <class V>
constexpr LaneBits<V> kLaneBits;
}  // namespace detail

/// Returns -1 in the lanes whose bit is set, otherwise 0. V is U32 or U32h.
template <class V>
[[gnu::always_inline]] inline auto lane_mask(uint32_t bits) {
  const V bit = load<V>(reinterpret_cast<const std::byte*>(detail::kLaneBits<V>.bit));
  return (bit & splat<V>(bits)) != 0;
}
#if RIGEL_SIMD_LEVEL == 2
template <>
[[gnu::always_inline]] inline auto lane_mask<U32>(uint32_t bits) {
  return reinterpret_cast<I32>(_mm512_movm_epi32(static_cast<__mmask16>(bits)));
}
#elif RIGEL_SIMD_LEVEL == 1 && defined(RIGEL_KERNEL_CODE)
// Without intrinsics, LLVM sees that bits of one operation are lanes of the next (carries, selections), and
// removes both conversions.
using LaneBools = bool __attribute__((ext_vector_type(kLanes)));
template <>
[[gnu::always_inline]] inline auto lane_mask<U32>(uint32_t bits) {
  return -__builtin_convertvector(__builtin_bit_cast(LaneBools, static_cast<uint8_t>(bits)), I32);
}
#endif

[[gnu::always_inline]] inline I64 lane_mask64(uint32_t bits) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<I64>(_mm512_movm_epi64(static_cast<__mmask8>(bits)));
#else
  U64 bit;
  for (int lane = 0; lane < kLanes / 2; ++lane) bit[lane] = uint64_t{1} << lane;
  return (bit & splat<U64>(uint64_t{bits})) != 0;
#endif
}

/// Returns `value` in lanes whose bit is set, otherwise `old`. V is U32 or U32h.
template <class V>
[[gnu::always_inline]] inline V blended(uint32_t bits, V value, V old) {
#if RIGEL_SIMD_LEVEL == 2
  if constexpr (sizeof(V) == 64) {
    return reinterpret_cast<V>(_mm512_mask_blend_epi32(
        static_cast<__mmask16>(bits), reinterpret_cast<__m512i>(old), reinterpret_cast<__m512i>(value)));
  } else {
    return reinterpret_cast<V>(_mm256_mask_blend_epi32(
        static_cast<__mmask8>(bits), reinterpret_cast<__m256i>(old), reinterpret_cast<__m256i>(value)));
  }
#else
  return select(lane_mask<V>(bits), value, old);
#endif
}

/// Converts lanes, which are -1 or 0, to bits.
[[gnu::always_inline]] inline uint32_t mask_bits(I32 mask) {
#if RIGEL_SIMD_LEVEL == 2
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask));
#elif RIGEL_SIMD_LEVEL == 1 && defined(RIGEL_KERNEL_CODE)
  return __builtin_bit_cast(uint8_t, __builtin_convertvector(mask, LaneBools));
#elif RIGEL_SIMD_LEVEL == 1
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
#else
  uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= static_cast<uint32_t>(mask[lane] & 1) << lane;
  return bits;
#endif
}
[[gnu::always_inline]] inline uint32_t mask_bits(I64 mask) {
#if RIGEL_SIMD_LEVEL == 2
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask));
#elif RIGEL_SIMD_LEVEL == 1
  return static_cast<uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
#else
  uint32_t bits = 0;
  for (int lane = 0; lane < kLanes / 2; ++lane) bits |= static_cast<uint32_t>(mask[lane] & 1) << lane;
  return bits;
#endif
}

/// Type of comparisons of V, for both compilers.
template <class V>
using LaneMask = std::conditional_t<sizeof(std::declval<V>()[0]) == 4, I32, I64>;

// Comparisons, as one bit per lane. NaN is not less than, equal to or greater than any value.
template <class V>
[[gnu::always_inline]] inline uint32_t lt(V a, V b) {
  return mask_bits(bits_as<LaneMask<V>>(a < b));
}
template <class V>
[[gnu::always_inline]] inline uint32_t le(V a, V b) {
  return mask_bits(bits_as<LaneMask<V>>(a <= b));
}
template <class V>
[[gnu::always_inline]] inline uint32_t eq(V a, V b) {
  return mask_bits(bits_as<LaneMask<V>>(a == b));
}
template <class V>
[[gnu::always_inline]] inline uint32_t ne(V a, V b) {
  return mask_bits(bits_as<LaneMask<V>>(a != b));
}
#if RIGEL_SIMD_LEVEL == 2
// Without these, the compiler converts mask registers to lanes and back.
#define RIGEL_MASK_COMPARISONS(V, machine, suffix)                                 \
  template <>                                                                      \
  [[gnu::always_inline]] inline uint32_t lt(V a, V b) {                            \
    return _mm512_cmp_##suffix##_mask((machine)a, (machine)b, RIGEL_LT_##machine); \
  }                                                                                \
  template <>                                                                      \
  [[gnu::always_inline]] inline uint32_t le(V a, V b) {                            \
    return _mm512_cmp_##suffix##_mask((machine)a, (machine)b, RIGEL_LE_##machine); \
  }                                                                                \
  template <>                                                                      \
  [[gnu::always_inline]] inline uint32_t eq(V a, V b) {                            \
    return _mm512_cmp_##suffix##_mask((machine)a, (machine)b, RIGEL_EQ_##machine); \
  }                                                                                \
  template <>                                                                      \
  [[gnu::always_inline]] inline uint32_t ne(V a, V b) {                            \
    return _mm512_cmp_##suffix##_mask((machine)a, (machine)b, RIGEL_NE_##machine); \
  }
#define RIGEL_LT___m512i _MM_CMPINT_LT
#define RIGEL_LE___m512i _MM_CMPINT_LE
#define RIGEL_EQ___m512i _MM_CMPINT_EQ
#define RIGEL_NE___m512i _MM_CMPINT_NE
#define RIGEL_LT___m512 _CMP_LT_OQ
#define RIGEL_LE___m512 _CMP_LE_OQ
#define RIGEL_EQ___m512 _CMP_EQ_OQ
#define RIGEL_NE___m512 _CMP_NEQ_UQ
#define RIGEL_LT___m512d _CMP_LT_OQ
#define RIGEL_LE___m512d _CMP_LE_OQ
#define RIGEL_EQ___m512d _CMP_EQ_OQ
#define RIGEL_NE___m512d _CMP_NEQ_UQ
RIGEL_MASK_COMPARISONS(U32, __m512i, epu32)
RIGEL_MASK_COMPARISONS(I32, __m512i, epi32)
RIGEL_MASK_COMPARISONS(F32, __m512, ps)
RIGEL_MASK_COMPARISONS(U64, __m512i, epu64)
RIGEL_MASK_COMPARISONS(I64, __m512i, epi64)
RIGEL_MASK_COMPARISONS(F64, __m512d, pd)
#undef RIGEL_MASK_COMPARISONS
#endif

/// a * b + c, rounded once.
[[gnu::always_inline]] inline F32 fused(F32 a, F32 b, F32 c) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F32>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F32>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  for (int lane = 0; lane < kLanes; ++lane) a[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return a;
#endif
}
[[gnu::always_inline]] inline F64 fused(F64 a, F64 b, F64 c) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F64>(_mm512_fmadd_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b),
                                               reinterpret_cast<__m512d>(c)));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F64>(_mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b),
                                               reinterpret_cast<__m256d>(c)));
#else
  for (int lane = 0; lane < kLanes / 2; ++lane) a[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  return a;
#endif
}

[[gnu::always_inline]] inline F32 square_root(F32 x) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F32>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F32>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#else
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}
[[gnu::always_inline]] inline F64 square_root(F64 x) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F64>(_mm512_maskz_sqrt_pd(0xff, reinterpret_cast<__m512d>(x)));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F64>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(x)));
#else
  for (int lane = 0; lane < kLanes / 2; ++lane) x[lane] = __builtin_sqrt(x[lane]);
  return x;
#endif
}

/// Rounds to an integer in the named direction; keeps the sign of zero. Callers handle denormals.
enum class Rounding : uint8_t { kNearestEven, kDown, kUp, kTowardZero };

#if RIGEL_SIMD_LEVEL == 0
template <class Scalar>
inline Scalar round_half_even(Scalar x) {
  Scalar whole = static_cast<Scalar>(__builtin_trunc(x));
  const Scalar rest = x < whole ? whole - x : x - whole;
  const bool odd = __builtin_trunc(whole / 2) * 2 != whole;
  if (rest > Scalar(0.5) || (rest == Scalar(0.5) && odd)) whole += x < 0 ? -1 : 1;
  return static_cast<Scalar>(__builtin_copysign(whole, x));
}
#endif

template <Rounding R>
[[gnu::always_inline]] inline F32 round_to_integer(F32 x) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F32>(
      _mm512_maskz_roundscale_ps(0xffff, reinterpret_cast<__m512>(x), static_cast<int>(R) | 8));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F32>(_mm256_round_ps(reinterpret_cast<__m256>(x), static_cast<int>(R) | 8));
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    const float v = x[lane];
    const float whole = R == Rounding::kDown         ? __builtin_floorf(v)
                        : R == Rounding::kUp         ? __builtin_ceilf(v)
                        : R == Rounding::kTowardZero ? __builtin_truncf(v)
                                                     : round_half_even(v);
    x[lane] = v != v ? v + v : __builtin_copysignf(whole, v);  // the builtins keep sNaNs and lose -0
  }
  return x;
#endif
}
template <Rounding R>
[[gnu::always_inline]] inline F64 round_to_integer(F64 x) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<F64>(
      _mm512_maskz_roundscale_pd(0xff, reinterpret_cast<__m512d>(x), static_cast<int>(R) | 8));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<F64>(_mm256_round_pd(reinterpret_cast<__m256d>(x), static_cast<int>(R) | 8));
#else
  for (int lane = 0; lane < kLanes / 2; ++lane) {
    const double v = x[lane];
    const double whole = R == Rounding::kDown         ? __builtin_floor(v)
                         : R == Rounding::kUp         ? __builtin_ceil(v)
                         : R == Rounding::kTowardZero ? __builtin_trunc(v)
                                                      : round_half_even(v);
    x[lane] = v != v ? v + v : __builtin_copysign(whole, v);
  }
  return x;
#endif
}

[[gnu::always_inline]] inline U64 zero_extended(U32h v) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<U64>(_mm512_maskz_cvtepu32_epi64(0xff, reinterpret_cast<__m256i>(v)));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<U64>(_mm256_cvtepu32_epi64(reinterpret_cast<__m128i>(v)));
#else
  return convert<U64>(v);
#endif
}
[[gnu::always_inline]] inline U64 widened(U32h low, U32h high) {
  return zero_extended(low) | zero_extended(high) << 32;
}
[[gnu::always_inline]] inline U32h low_dwords(U64 v) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<U32h>(_mm512_maskz_cvtepi64_epi32(0xff, reinterpret_cast<__m512i>(v)));
#else
  return convert<U32h>(v);
#endif
}

namespace detail {
template <class H, class V, size_t... I>
[[gnu::always_inline]] inline H part(V v, std::index_sequence<I...>, std::integral_constant<size_t, 0>) {
  return __builtin_shufflevector(v, v, I...);
}
template <class H, class V, size_t... I>
[[gnu::always_inline]] inline H part(V v, std::index_sequence<I...>, std::integral_constant<size_t, 1>) {
  return __builtin_shufflevector(v, v, (I + sizeof...(I))...);
}
template <class V, class H, size_t... I>
[[gnu::always_inline]] inline V whole(H low, H high, std::index_sequence<I...>) {
  return __builtin_shufflevector(low, high, I...);
}
}  // namespace detail

/// The lower and the upper lanes of a vector, and the reverse.
template <class H, class V>
[[gnu::always_inline]] inline H low_half(V v) {
  return detail::part<H>(v, std::make_index_sequence<kCount<H>>(), std::integral_constant<size_t, 0>());
}
template <class H, class V>
[[gnu::always_inline]] inline H high_half(V v) {
  return detail::part<H>(v, std::make_index_sequence<kCount<H>>(), std::integral_constant<size_t, 1>());
}
template <class V, class H>
[[gnu::always_inline]] inline V joined(H low, H high) {
  return detail::whole<V>(low, high, std::make_index_sequence<kCount<V>>());
}

/// Applies f(F64) to each half of single-precision lanes, which are converted to double and back.
template <class F>
[[gnu::always_inline]] inline F32 in_double(F32 x, F f) {
  return joined<F32>(convert<F32h>(f(convert<F64>(low_half<F32h>(x)))),
                     convert<F32h>(f(convert<F64>(high_half<F32h>(x)))));
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
