/* CPU features that a code object for the CPU backend can require, as bits of hsa_cpu_note_t. */
#ifndef HSA_CPU_FEATURES_H_
#define HSA_CPU_FEATURES_H_

#include <stdint.h>

/* Features beyond the baseline of the architecture that a compiler uses without a request in the source.
 * Never renumbered. */
/* clang-format off */
enum {
  HSA_CPU_X86_SSE3 = 0, HSA_CPU_X86_SSSE3, HSA_CPU_X86_SSE4_1, HSA_CPU_X86_SSE4_2, HSA_CPU_X86_POPCNT,
  HSA_CPU_X86_CX16, HSA_CPU_X86_LAHF, HSA_CPU_X86_AVX, HSA_CPU_X86_AVX2, HSA_CPU_X86_BMI1, HSA_CPU_X86_BMI2,
  HSA_CPU_X86_F16C, HSA_CPU_X86_FMA, HSA_CPU_X86_LZCNT, HSA_CPU_X86_MOVBE, HSA_CPU_X86_AVX512F,
  HSA_CPU_X86_AVX512BW, HSA_CPU_X86_AVX512CD, HSA_CPU_X86_AVX512DQ, HSA_CPU_X86_AVX512VL, HSA_CPU_X86_AES,
  HSA_CPU_X86_PCLMUL, HSA_CPU_X86_SHA, HSA_CPU_X86_GFNI, HSA_CPU_X86_VAES, HSA_CPU_X86_VPCLMULQDQ,
  HSA_CPU_X86_AVX512IFMA, HSA_CPU_X86_AVX512VBMI, HSA_CPU_X86_AVX512VBMI2, HSA_CPU_X86_AVX512VNNI,
  HSA_CPU_X86_AVX512BITALG, HSA_CPU_X86_AVX512VPOPCNTDQ, HSA_CPU_X86_AVX512BF16, HSA_CPU_X86_AVX512FP16,
  HSA_CPU_X86_AVXVNNI, HSA_CPU_X86_AVXIFMA, HSA_CPU_X86_SSE4A, HSA_CPU_X86_FMA4, HSA_CPU_X86_XOP,
  HSA_CPU_X86_TBM, HSA_CPU_X86_COUNT
};
enum {
  HSA_CPU_ARM64_LSE = 0, HSA_CPU_ARM64_CRC32, HSA_CPU_ARM64_AES, HSA_CPU_ARM64_SHA2, HSA_CPU_ARM64_SHA3,
  HSA_CPU_ARM64_FP16, HSA_CPU_ARM64_DOTPROD, HSA_CPU_ARM64_RCPC, HSA_CPU_ARM64_JSCVT, HSA_CPU_ARM64_FCMA,
  HSA_CPU_ARM64_BF16, HSA_CPU_ARM64_I8MM, HSA_CPU_ARM64_SVE, HSA_CPU_ARM64_SVE2, HSA_CPU_ARM64_COUNT
};
/* clang-format on */

#define HSA_CPU_BIT_(feature) (UINT64_C(1) << (feature))

/* The features that this translation unit is compiled for. */
static inline
#ifdef __cplusplus
    constexpr
#endif
    uint64_t
    hsa_cpu_compiled_features(void) {
  return 0
#ifdef __SSE3__
         | HSA_CPU_BIT_(HSA_CPU_X86_SSE3)
#endif
#ifdef __SSSE3__
         | HSA_CPU_BIT_(HSA_CPU_X86_SSSE3)
#endif
#ifdef __SSE4_1__
         | HSA_CPU_BIT_(HSA_CPU_X86_SSE4_1)
#endif
#ifdef __SSE4_2__
         | HSA_CPU_BIT_(HSA_CPU_X86_SSE4_2)
#endif
#ifdef __POPCNT__
         | HSA_CPU_BIT_(HSA_CPU_X86_POPCNT)
#endif
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
#ifdef __x86_64__
         | HSA_CPU_BIT_(HSA_CPU_X86_CX16)
#endif
#endif
#ifdef __LAHF_SAHF__
         | HSA_CPU_BIT_(HSA_CPU_X86_LAHF)
#endif
#ifdef __AVX__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX)
#endif
#ifdef __AVX2__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX2)
#endif
#ifdef __BMI__
         | HSA_CPU_BIT_(HSA_CPU_X86_BMI1)
#endif
#ifdef __BMI2__
         | HSA_CPU_BIT_(HSA_CPU_X86_BMI2)
#endif
#ifdef __F16C__
         | HSA_CPU_BIT_(HSA_CPU_X86_F16C)
#endif
#ifdef __FMA__
         | HSA_CPU_BIT_(HSA_CPU_X86_FMA)
#endif
#ifdef __LZCNT__
         | HSA_CPU_BIT_(HSA_CPU_X86_LZCNT)
#endif
#ifdef __MOVBE__
         | HSA_CPU_BIT_(HSA_CPU_X86_MOVBE)
#endif
#ifdef __AVX512F__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512F)
#endif
#ifdef __AVX512BW__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512BW)
#endif
#ifdef __AVX512CD__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512CD)
#endif
#ifdef __AVX512DQ__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512DQ)
#endif
#ifdef __AVX512VL__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512VL)
#endif
#if defined(__AES__) && defined(__x86_64__)
         | HSA_CPU_BIT_(HSA_CPU_X86_AES)
#endif
#ifdef __PCLMUL__
         | HSA_CPU_BIT_(HSA_CPU_X86_PCLMUL)
#endif
#ifdef __SHA__
         | HSA_CPU_BIT_(HSA_CPU_X86_SHA)
#endif
#ifdef __GFNI__
         | HSA_CPU_BIT_(HSA_CPU_X86_GFNI)
#endif
#ifdef __VAES__
         | HSA_CPU_BIT_(HSA_CPU_X86_VAES)
#endif
#ifdef __VPCLMULQDQ__
         | HSA_CPU_BIT_(HSA_CPU_X86_VPCLMULQDQ)
#endif
#ifdef __AVX512IFMA__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512IFMA)
#endif
#ifdef __AVX512VBMI__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512VBMI)
#endif
#ifdef __AVX512VBMI2__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512VBMI2)
#endif
#ifdef __AVX512VNNI__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512VNNI)
#endif
#ifdef __AVX512BITALG__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512BITALG)
#endif
#ifdef __AVX512VPOPCNTDQ__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512VPOPCNTDQ)
#endif
#ifdef __AVX512BF16__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512BF16)
#endif
#ifdef __AVX512FP16__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVX512FP16)
#endif
#ifdef __AVXVNNI__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVXVNNI)
#endif
#ifdef __AVXIFMA__
         | HSA_CPU_BIT_(HSA_CPU_X86_AVXIFMA)
#endif
#ifdef __SSE4A__
         | HSA_CPU_BIT_(HSA_CPU_X86_SSE4A)
#endif
#ifdef __FMA4__
         | HSA_CPU_BIT_(HSA_CPU_X86_FMA4)
#endif
#ifdef __XOP__
         | HSA_CPU_BIT_(HSA_CPU_X86_XOP)
#endif
#ifdef __TBM__
         | HSA_CPU_BIT_(HSA_CPU_X86_TBM)
#endif
#ifdef __ARM_FEATURE_ATOMICS
         | HSA_CPU_BIT_(HSA_CPU_ARM64_LSE)
#endif
#ifdef __ARM_FEATURE_CRC32
         | HSA_CPU_BIT_(HSA_CPU_ARM64_CRC32)
#endif
#ifdef __ARM_FEATURE_AES
         | HSA_CPU_BIT_(HSA_CPU_ARM64_AES)
#endif
#ifdef __ARM_FEATURE_SHA2
         | HSA_CPU_BIT_(HSA_CPU_ARM64_SHA2)
#endif
#ifdef __ARM_FEATURE_SHA3
         | HSA_CPU_BIT_(HSA_CPU_ARM64_SHA3)
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
         | HSA_CPU_BIT_(HSA_CPU_ARM64_FP16)
#endif
#ifdef __ARM_FEATURE_DOTPROD
         | HSA_CPU_BIT_(HSA_CPU_ARM64_DOTPROD)
#endif
#ifdef __ARM_FEATURE_RCPC
         | HSA_CPU_BIT_(HSA_CPU_ARM64_RCPC)
#endif
#ifdef __ARM_FEATURE_JCVT
         | HSA_CPU_BIT_(HSA_CPU_ARM64_JSCVT)
#endif
#ifdef __ARM_FEATURE_COMPLEX
         | HSA_CPU_BIT_(HSA_CPU_ARM64_FCMA)
#endif
#ifdef __ARM_FEATURE_BF16
         | HSA_CPU_BIT_(HSA_CPU_ARM64_BF16)
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
         | HSA_CPU_BIT_(HSA_CPU_ARM64_I8MM)
#endif
#ifdef __ARM_FEATURE_SVE
         | HSA_CPU_BIT_(HSA_CPU_ARM64_SVE)
#endif
#ifdef __ARM_FEATURE_SVE2
         | HSA_CPU_BIT_(HSA_CPU_ARM64_SVE2)
#endif
      ;
}

#endif /* HSA_CPU_FEATURES_H_ */
