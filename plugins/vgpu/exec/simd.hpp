// SIMD levels. Files that hold handlers or lower to them are compiled once for each level of vector
// instructions (rigel_add_simd_sources in CMakeLists.txt), with RIGEL_SIMD_LEVEL 0 (what every x86-64 has), 1
// (x86-64-v3: AVX2, FMA, F16C) or 2 (x86-64-v4: AVX-512 F, BW, DQ, VL). Everything that they define belongs
// into the namespace of the level:
//
//   namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE { … }
//
// so that the linker never takes one level's function for another's. What inlined functions of shared headers
// (the standard library's as well) leave behind is made local to the level when its objects are put together,
// except in sanitized builds.
//
// Only such files include this header.
#pragma once

#if !defined(RIGEL_SIMD_LEVEL)
#error "simd.hpp is for files listed with rigel_add_simd_sources()"
#elif RIGEL_SIMD_LEVEL == 0
#define RIGEL_SIMD_NAMESPACE simd_baseline
#elif RIGEL_SIMD_LEVEL == 1
#define RIGEL_SIMD_NAMESPACE simd_avx2
#else
#define RIGEL_SIMD_NAMESPACE simd_avx512
#endif

// Loops over the vectors of a row, and over the lanes of one, are to be straight code.
#if defined(__clang__)
#define RIGEL_UNROLL _Pragma("unroll")
#else
#define RIGEL_UNROLL _Pragma("GCC unroll 16")
#endif
