// Arithmetic with a defined NaN result: the operation's first NaN operand, quieted.
//
// Compilers treat addition, multiplication and fused operations as commutative, and may return any NaN.
// They also replace -1 / a by 1 / -a, which changes a NaN's sign. The host's instructions have the required
// order, so inline assembly selects them. Without these instructions NaNs are selected explicitly.
//
// The manuals specify that v_div_fixup and v_min quiet NaNs, but not which NaN other operations return.
// Compiled code and the reference model follow this file.
#pragma once

#include "plugins/vgpu/exec/vector/lanes.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

namespace detail {
template <class V>
[[gnu::always_inline]] inline V quieted(V x) {
  if constexpr (sizeof(x[0]) == 4) {
    return bits_as<V>(bits_as<U32>(x) | 0x400000);
  } else {
    return bits_as<V>(bits_as<U64>(x) | 0x8000000000000);
  }
}
template <class V>
[[gnu::always_inline]] inline V first_nan(V result, V a) {
  return a != a ? quieted(a) : result;
}
// Returns the NaN of operations without a NaN operand. AArch64's would be positive.
template <class V>
[[gnu::always_inline]] inline V made_nan(V result) {
  if constexpr (sizeof(result[0]) == 4) {
    return result != result ? bits_as<V>(splat<U32>(0xffc00000)) : result;
  } else {
    return result != result ? bits_as<V>(splat<U64>(0xfff8000000000000)) : result;
  }
}
}  // namespace detail

/// Returns `result`, but with the first NaN of the sources if it is a NaN. `result` is the operation's
/// result with the sources in any order.
template <class V, class... Sources>
[[gnu::always_inline]] inline V in_order(V result, V a, Sources... rest) {
  if (__builtin_expect(mask_bits(bits_as<LaneMask<V>>(result != result)) == 0, 1)) return result;
  if constexpr (sizeof...(rest) != 0) {
    result = in_order(result, rest...);
  } else {
    result = detail::made_nan(result);
  }
  return detail::first_nan(result, a);
}

#if RIGEL_SIMD_LEVEL > 0
// Assemblers exchange the sources of VADDPS and VMULPS if that shortens the encoding. LLVM does so if only
// the second source is one of ymm8 to ymm15. A three-byte prefix prevents it.
#if RIGEL_SIMD_LEVEL == 1
#define RIGEL_KEEP_ORDER "%{vex3%} "
#else
#define RIGEL_KEEP_ORDER ""
#endif
#define RIGEL_ORDERED(V, suffix)                                                       \
  [[gnu::always_inline]] inline V sum(V a, V b) {                                      \
    V result;                                                                          \
    asm(RIGEL_KEEP_ORDER "vadd" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b)); \
    return result;                                                                     \
  }                                                                                    \
  [[gnu::always_inline]] inline V difference(V a, V b) {                               \
    V result;                                                                          \
    asm("vsub" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));                  \
    return result;                                                                     \
  }                                                                                    \
  [[gnu::always_inline]] inline V product(V a, V b) {                                  \
    V result;                                                                          \
    asm(RIGEL_KEEP_ORDER "vmul" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b)); \
    return result;                                                                     \
  }                                                                                    \
  [[gnu::always_inline]] inline V quotient(V a, V b) {                                 \
    V result;                                                                          \
    asm("vdiv" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));                  \
    return result;                                                                     \
  }                                                                                    \
  /* a * b + c, rounded once */                                                        \
  [[gnu::always_inline]] inline V product_sum(V a, V b, V c) {                         \
    asm("vfmadd231" suffix " %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));                  \
    return c;                                                                          \
  }
RIGEL_ORDERED(F32, "ps")
RIGEL_ORDERED(F64, "pd")
#undef RIGEL_ORDERED
#undef RIGEL_KEEP_ORDER
#else
template <class V>
inline V sum(V a, V b) {
  return in_order(V(a + b), a, b);
}
template <class V>
inline V difference(V a, V b) {
  return in_order(V(a - b), a, b);
}
template <class V>
inline V product(V a, V b) {
  return in_order(V(a * b), a, b);
}
template <class V>
inline V quotient(V a, V b) {
  return in_order(V(a / b), a, b);
}
/// a * b + c, rounded once
template <class V>
inline V product_sum(V a, V b, V c) {
  return in_order(fused(a, b, c), a, b, c);
}
#endif

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
