// Arithmetic whose result may be one of several NaNs: it is the first that stands in the operation, quieted.
// Compilers take sums, products and fused operations for commutative and would make it any of them, and 1 / -a for -1 / a, which
// leaves a NaN its sign. The host's instructions have the order that is wanted, so they are named here; without them NaNs
// are picked out.
//
// The manuals say that NaNs of v_div_fixup and v_min are passed on quieted, and nothing of which it is
// elsewhere; compiled code and the reference do the same as is done here.
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
// Of no NaN among the sources. AArch64 makes a positive one.
template <class V>
[[gnu::always_inline]] inline V made_nan(V result) {
  if constexpr (sizeof(result[0]) == 4) {
    return result != result ? bits_as<V>(splat<U32>(0xffc00000)) : result;
  } else {
    return result != result ? bits_as<V>(splat<U64>(0xfff8000000000000)) : result;
  }
}
}  // namespace detail

/// `result`, an operation's on these sources in any order, with the first NaN among them in place of any
/// other.
template <class V, class... Sources>
[[gnu::always_inline]] inline V in_order(V result, V a, Sources... others) {
  if (__builtin_expect(mask_bits(bits_as<LaneMask<V>>(result != result)) == 0, 1)) return result;
  if constexpr (sizeof...(others) != 0) {
    result = in_order(result, others...);
  } else {
    result = detail::made_nan(result);
  }
  return detail::first_nan(result, a);
}

#if RIGEL_SIMD_LEVEL > 0
// Assemblers exchange the sources of VADDPS and VMULPS where that makes an encoding shorter: LLVM's does, for sources of
// which the second alone is one of ymm8 to ymm15. They let be what is to have three bytes of prefix anyway.
#if RIGEL_SIMD_LEVEL == 1
#define RIGEL_AS_WRITTEN "%{vex3%} "
#else
#define RIGEL_AS_WRITTEN ""
#endif
#define RIGEL_ORDERED(V, suffix)                                                       \
  [[gnu::always_inline]] inline V sum(V a, V b) {                                      \
    V result;                                                                          \
    asm(RIGEL_AS_WRITTEN "vadd" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b)); \
    return result;                                                                     \
  }                                                                                    \
  [[gnu::always_inline]] inline V difference(V a, V b) {                               \
    V result;                                                                          \
    asm("vsub" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));                  \
    return result;                                                                     \
  }                                                                                    \
  [[gnu::always_inline]] inline V product(V a, V b) {                                  \
    V result;                                                                          \
    asm(RIGEL_AS_WRITTEN "vmul" suffix " %2, %1, %0" : "=v"(result) : "v"(a), "v"(b)); \
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
#undef RIGEL_AS_WRITTEN
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
