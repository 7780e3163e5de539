// Integer functions on lanes for which there is no operator.
#pragma once

#include "plugins/vgpu/exec/vector/lanes.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// 64-bit products of lanes 0, 2, 4 ….
[[gnu::always_inline]] inline U64 even_products(U32 a, U32 b) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<U64>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif RIGEL_SIMD_LEVEL == 1
  return reinterpret_cast<U64>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return (bits_as<U64>(a) & 0xffffffff) * (bits_as<U64>(b) & 0xffffffff);
#endif
}

[[gnu::always_inline]] inline U32 high_product(U32 a, U32 b) {
  const U64 even = even_products(a, b);
  const U64 odd = even_products(bits_as<U32>(bits_as<U64>(a) >> 32), bits_as<U32>(bits_as<U64>(b) >> 32));
  return bits_as<U32>((even >> 32) | (odd & 0xffffffff00000000));
}

[[gnu::always_inline]] inline I32 high_product(I32 a, I32 b) {
  const U32 product = high_product(bits_as<U32>(a), bits_as<U32>(b));
  return bits_as<I32>(product - bits_as<U32>((a >> 31) & b) - bits_as<U32>((b >> 31) & a));
}

// Shifts by any amount; amounts above 31 result in 0.
[[gnu::always_inline]] inline U32 shift_left(U32 value, U32 by) {
#if RIGEL_SIMD_LEVEL == 2
  return bits_as<U32>(_mm512_maskz_sllv_epi32(0xffff, bits_as<__m512i>(value), bits_as<__m512i>(by)));
#elif RIGEL_SIMD_LEVEL == 1
  return bits_as<U32>(_mm256_sllv_epi32(bits_as<__m256i>(value), bits_as<__m256i>(by)));
#else
  return by < 32 ? value << (by & 31) : U32{};
#endif
}
[[gnu::always_inline]] inline U32 shift_right(U32 value, U32 by) {
#if RIGEL_SIMD_LEVEL == 2
  return bits_as<U32>(_mm512_maskz_srlv_epi32(0xffff, bits_as<__m512i>(value), bits_as<__m512i>(by)));
#elif RIGEL_SIMD_LEVEL == 1
  return bits_as<U32>(_mm256_srlv_epi32(bits_as<__m256i>(value), bits_as<__m256i>(by)));
#else
  return by < 32 ? value >> (by & 31) : U32{};
#endif
}

/// 64-bit products of 32-bit lanes.
[[gnu::always_inline]] inline U64 whole_product(U32h a, U32h b) {
  return even_products(bits_as<U32>(zero_extended(a)), bits_as<U32>(zero_extended(b)));
}

template <class V>
[[gnu::always_inline]] inline V min_of(V a, V b) {
  return a < b ? a : b;
}
template <class V>
[[gnu::always_inline]] inline V max_of(V a, V b) {
  return a > b ? a : b;
}
template <class V>
[[gnu::always_inline]] inline V middle_of(V a, V b, V c) {
  return max_of(min_of(a, b), min_of(max_of(a, b), c));
}

[[gnu::always_inline]] inline U32 saturating_add(U32 a, U32 b) {
  const U32 sum = a + b;
  return sum | bits_as<U32>(sum < a);
}
[[gnu::always_inline]] inline U32 saturating_sub(U32 a, U32 b) {
  return a > b ? a - b : U32{};
}
[[gnu::always_inline]] inline I32 saturating_add(I32 a, I32 b) {
  const I32 sum = bits_as<I32>(bits_as<U32>(a) + bits_as<U32>(b));
  const I32 overflow = (a ^ sum) & (b ^ sum);
  return overflow < 0 ? (a >> 31) ^ 0x7fffffff : sum;
}
[[gnu::always_inline]] inline I32 saturating_sub(I32 a, I32 b) {
  const I32 difference = bits_as<I32>(bits_as<U32>(a) - bits_as<U32>(b));
  const I32 overflow = (a ^ b) & (a ^ difference);
  return overflow < 0 ? (a >> 31) ^ 0x7fffffff : difference;
}

[[gnu::always_inline]] inline I32 limited(I32 a, int32_t low, int32_t high) {
  return max_of(min_of(a, I32{} + high), I32{} + low);
}

[[gnu::always_inline]] inline U32 population(U32 a) {
  a = a - ((a >> 1) & 0x55555555);
  a = (a & 0x33333333) + ((a >> 2) & 0x33333333);
  a = (a + (a >> 4)) & 0x0f0f0f0f;
  return (a * 0x01010101) >> 24;
}

/// Returns the number of zeros above the highest set bit; 32 for 0.
[[gnu::always_inline]] inline U32 leading_zeros(U32 a) {
#if RIGEL_SIMD_LEVEL == 2
  return reinterpret_cast<U32>(_mm512_lzcnt_epi32(reinterpret_cast<__m512i>(a)));
#else
  for (int shift = 1; shift < 32; shift *= 2) a |= a >> shift;
  return 32 - population(a);
#endif
}

[[gnu::always_inline]] inline U32 reversed(U32 a) {
  a = ((a >> 1) & 0x55555555) | ((a & 0x55555555) << 1);
  a = ((a >> 2) & 0x33333333) | ((a & 0x33333333) << 2);
  a = ((a >> 4) & 0x0f0f0f0f) | ((a & 0x0f0f0f0f) << 4);
  a = ((a >> 8) & 0x00ff00ff) | ((a & 0x00ff00ff) << 8);
  return (a >> 16) | (a << 16);
}

/// Returns the low 32 bits of {high, low} >> shift; shift is below 32.
[[gnu::always_inline]] inline U32 funnel_right(U32 high, U32 low, U32 shift) {
  return (low >> shift) | ((high << 1) << (31 - shift));
}

[[gnu::always_inline]] inline U32 unsigned24(U32 a) {
  return a & 0xffffff;
}
[[gnu::always_inline]] inline I32 signed24(I32 a) {
  return (a << 8) >> 8;
}

[[gnu::always_inline]] inline I32 wrapping_product(I32 a, I32 b) {
  return bits_as<I32>(bits_as<U32>(a) * bits_as<U32>(b));
}

[[gnu::always_inline]] inline U32 distance(U32 a, U32 b) {
  return max_of(a, b) - min_of(a, b);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
