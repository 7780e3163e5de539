// SIMD levels. Files with vector and memory handlers are compiled once for each level (rigel_add_simd_sources
// in CMakeLists.txt). RIGEL_SIMD_LEVEL is 0 (baseline x86-64), 1 (x86-64-v3: AVX2, FMA, F16C) or 2
// (x86-64-v4: AVX-512 F, BW, DQ, VL). All their definitions are in the level's namespace:
//
//   namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE { … }
//
// Thus the linker cannot merge functions of different levels. Copies of inline functions from shared headers,
// for example the standard library's, become local symbols when the level's objects are linked. Sanitized
// builds skip that step.
//
// Memory operations are compiled once more, in the namespace simd_checked: they report their accesses to the
// checks (exec/check). The other levels contain no code for that.
//
// Only these files include this header.
#pragma once

#if !defined(RIGEL_SIMD_LEVEL)
#error "simd.hpp is for files listed with rigel_add_simd_sources()"
#elif defined(RIGEL_CHECKED)
#define RIGEL_SIMD_NAMESPACE simd_checked
#elif RIGEL_SIMD_LEVEL == 0
#define RIGEL_SIMD_NAMESPACE simd_baseline
#elif RIGEL_SIMD_LEVEL == 1
#define RIGEL_SIMD_NAMESPACE simd_avx2
#else
#define RIGEL_SIMD_NAMESPACE simd_avx512
#endif

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
#if defined(RIGEL_CHECKED)
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif
}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE

// For loops over the vectors of a row and over the lanes of a vector.
#if defined(__clang__)
#define RIGEL_UNROLL _Pragma("unroll")
#else
#define RIGEL_UNROLL _Pragma("GCC unroll 16")
#endif
