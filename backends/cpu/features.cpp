#include "backends/cpu/features.hpp"

#include <elf.h>

#include <array>
#include <string_view>

#include <hsa_cpu/features.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace rigel::cpu {
namespace {

// Only features that the compiler and the operating system must support are listed: the CPU has the feature
// and the kernel saves its registers.
struct Feature {
  unsigned bit;  // bit in <hsa_cpu/features.h>
  std::string_view name;
  unsigned source;  // a Leaf, or the index of AT_HWCAP
  unsigned shift;
};

struct Level {
  hsabe_str_t isa_name;
  uint64_t features;  // required features
};

constexpr uint64_t bits(std::initializer_list<unsigned> list) {
  uint64_t mask = 0;
  for (const unsigned bit : list) mask |= uint64_t{1} << bit;
  return mask;
}

#if defined(__x86_64__)

enum Leaf : unsigned { k1Ecx, k7Ebx, k7Ecx, k7Edx, k7Sub1Eax, kExtendedEcx, kLeafCount };

// clang-format off
constexpr Feature kFeatures[] = {
    {HSA_CPU_X86_SSE3, "sse3", k1Ecx, 0},
    {HSA_CPU_X86_SSSE3, "ssse3", k1Ecx, 9},
    {HSA_CPU_X86_SSE4_1, "sse4.1", k1Ecx, 19},
    {HSA_CPU_X86_SSE4_2, "sse4.2", k1Ecx, 20},
    {HSA_CPU_X86_POPCNT, "popcnt", k1Ecx, 23},
    {HSA_CPU_X86_CX16, "cx16", k1Ecx, 13},
    {HSA_CPU_X86_LAHF, "lahf", kExtendedEcx, 0},
    {HSA_CPU_X86_AVX, "avx", k1Ecx, 28},
    {HSA_CPU_X86_AVX2, "avx2", k7Ebx, 5},
    {HSA_CPU_X86_BMI1, "bmi1", k7Ebx, 3},
    {HSA_CPU_X86_BMI2, "bmi2", k7Ebx, 8},
    {HSA_CPU_X86_F16C, "f16c", k1Ecx, 29},
    {HSA_CPU_X86_FMA, "fma", k1Ecx, 12},
    {HSA_CPU_X86_LZCNT, "lzcnt", kExtendedEcx, 5},
    {HSA_CPU_X86_MOVBE, "movbe", k1Ecx, 22},
    {HSA_CPU_X86_AVX512F, "avx512f", k7Ebx, 16},
    {HSA_CPU_X86_AVX512BW, "avx512bw", k7Ebx, 30},
    {HSA_CPU_X86_AVX512CD, "avx512cd", k7Ebx, 28},
    {HSA_CPU_X86_AVX512DQ, "avx512dq", k7Ebx, 17},
    {HSA_CPU_X86_AVX512VL, "avx512vl", k7Ebx, 31},
    {HSA_CPU_X86_AES, "aes", k1Ecx, 25},
    {HSA_CPU_X86_PCLMUL, "pclmul", k1Ecx, 1},
    {HSA_CPU_X86_SHA, "sha", k7Ebx, 29},
    {HSA_CPU_X86_GFNI, "gfni", k7Ecx, 8},
    {HSA_CPU_X86_VAES, "vaes", k7Ecx, 9},
    {HSA_CPU_X86_VPCLMULQDQ, "vpclmulqdq", k7Ecx, 10},
    {HSA_CPU_X86_AVX512IFMA, "avx512ifma", k7Ebx, 21},
    {HSA_CPU_X86_AVX512VBMI, "avx512vbmi", k7Ecx, 1},
    {HSA_CPU_X86_AVX512VBMI2, "avx512vbmi2", k7Ecx, 6},
    {HSA_CPU_X86_AVX512VNNI, "avx512vnni", k7Ecx, 11},
    {HSA_CPU_X86_AVX512BITALG, "avx512bitalg", k7Ecx, 12},
    {HSA_CPU_X86_AVX512VPOPCNTDQ, "avx512vpopcntdq", k7Ecx, 14},
    {HSA_CPU_X86_AVX512BF16, "avx512bf16", k7Sub1Eax, 5},
    {HSA_CPU_X86_AVX512FP16, "avx512fp16", k7Edx, 23},
    {HSA_CPU_X86_AVXVNNI, "avxvnni", k7Sub1Eax, 4},
    {HSA_CPU_X86_AVXIFMA, "avxifma", k7Sub1Eax, 23},
    {HSA_CPU_X86_SSE4A, "sse4a", kExtendedEcx, 6},
    {HSA_CPU_X86_FMA4, "fma4", kExtendedEcx, 16},
    {HSA_CPU_X86_XOP, "xop", kExtendedEcx, 11},
    {HSA_CPU_X86_TBM, "tbm", kExtendedEcx, 21},
};
// clang-format on
static_assert(std::size(kFeatures) == HSA_CPU_X86_COUNT);

// The levels of the x86-64 psABI.
constexpr uint64_t kV2 = bits({HSA_CPU_X86_SSE3, HSA_CPU_X86_SSSE3, HSA_CPU_X86_SSE4_1, HSA_CPU_X86_SSE4_2,
                               HSA_CPU_X86_POPCNT, HSA_CPU_X86_CX16, HSA_CPU_X86_LAHF});
constexpr uint64_t kV3 =
    kV2 | bits({HSA_CPU_X86_AVX, HSA_CPU_X86_AVX2, HSA_CPU_X86_BMI1, HSA_CPU_X86_BMI2, HSA_CPU_X86_F16C,
                HSA_CPU_X86_FMA, HSA_CPU_X86_LZCNT, HSA_CPU_X86_MOVBE});
constexpr uint64_t kV4 = kV3 | bits({HSA_CPU_X86_AVX512F, HSA_CPU_X86_AVX512BW, HSA_CPU_X86_AVX512CD,
                                     HSA_CPU_X86_AVX512DQ, HSA_CPU_X86_AVX512VL});

constexpr Level kLevels[] = {
    {hsabe::str("x86_64-unknown-linux-gnu--x86-64-v4"), kV4},
    {hsabe::str("x86_64-unknown-linux-gnu--x86-64-v3"), kV3},
    {hsabe::str("x86_64-unknown-linux-gnu--x86-64-v2"), kV2},
    {hsabe::str("x86_64-unknown-linux-gnu--x86-64"), 0},
};

// Features with registers that the kernel must save.
constexpr uint64_t kNeedsYmm = bits({HSA_CPU_X86_AVX, HSA_CPU_X86_AVX2, HSA_CPU_X86_F16C, HSA_CPU_X86_FMA,
                                     HSA_CPU_X86_VAES, HSA_CPU_X86_VPCLMULQDQ, HSA_CPU_X86_AVXVNNI,
                                     HSA_CPU_X86_AVXIFMA, HSA_CPU_X86_FMA4, HSA_CPU_X86_XOP});
constexpr uint64_t kNeedsZmm =
    bits({HSA_CPU_X86_AVX512F, HSA_CPU_X86_AVX512BW, HSA_CPU_X86_AVX512CD, HSA_CPU_X86_AVX512DQ,
          HSA_CPU_X86_AVX512VL, HSA_CPU_X86_AVX512IFMA, HSA_CPU_X86_AVX512VBMI, HSA_CPU_X86_AVX512VBMI2,
          HSA_CPU_X86_AVX512VNNI, HSA_CPU_X86_AVX512BITALG, HSA_CPU_X86_AVX512VPOPCNTDQ,
          HSA_CPU_X86_AVX512BF16, HSA_CPU_X86_AVX512FP16});

constexpr uint64_t kHalf = bits({HSA_CPU_X86_AVX512FP16});
constexpr uint16_t kElfMachine = EM_X86_64;

uint64_t query_features() noexcept {
  std::array<unsigned, kLeafCount> words{};
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) words[k1Ecx] = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    words[k7Ebx] = b;
    words[k7Ecx] = c;
    words[k7Edx] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) words[k7Sub1Eax] = a;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d) != 0) words[kExtendedEcx] = c;

  uint64_t features = 0;
  for (const Feature& row : kFeatures) {
    if ((words[row.source] >> row.shift & 1) != 0) features |= uint64_t{1} << row.bit;
  }

  constexpr unsigned kOsxsave = 1u << 27;
  constexpr unsigned kYmmState = 0x6, kZmmState = 0xe6;
  unsigned saved = 0;
  if ((words[k1Ecx] & kOsxsave) != 0) {
    unsigned high;
    asm volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  }
  if ((saved & kYmmState) != kYmmState) features &= ~kNeedsYmm;
  if ((saved & kZmmState) != kZmmState) features &= ~kNeedsZmm;
  return features;
}

#elif defined(__aarch64__)

// clang-format off
constexpr Feature kFeatures[] = {
    {HSA_CPU_ARM64_LSE, "lse", AT_HWCAP, __builtin_ctzll(HWCAP_ATOMICS)},
    {HSA_CPU_ARM64_CRC32, "crc32", AT_HWCAP, __builtin_ctzll(HWCAP_CRC32)},
    {HSA_CPU_ARM64_AES, "aes", AT_HWCAP, __builtin_ctzll(HWCAP_AES)},
    {HSA_CPU_ARM64_SHA2, "sha2", AT_HWCAP, __builtin_ctzll(HWCAP_SHA2)},
    {HSA_CPU_ARM64_SHA3, "sha3", AT_HWCAP, __builtin_ctzll(HWCAP_SHA3)},
    {HSA_CPU_ARM64_FP16, "fp16", AT_HWCAP, __builtin_ctzll(HWCAP_ASIMDHP)},
    {HSA_CPU_ARM64_DOTPROD, "dotprod", AT_HWCAP, __builtin_ctzll(HWCAP_ASIMDDP)},
    {HSA_CPU_ARM64_RCPC, "rcpc", AT_HWCAP, __builtin_ctzll(HWCAP_LRCPC)},
    {HSA_CPU_ARM64_JSCVT, "jscvt", AT_HWCAP, __builtin_ctzll(HWCAP_JSCVT)},
    {HSA_CPU_ARM64_FCMA, "fcma", AT_HWCAP, __builtin_ctzll(HWCAP_FCMA)},
    {HSA_CPU_ARM64_BF16, "bf16", AT_HWCAP2, __builtin_ctzll(HWCAP2_BF16)},
    {HSA_CPU_ARM64_I8MM, "i8mm", AT_HWCAP2, __builtin_ctzll(HWCAP2_I8MM)},
    {HSA_CPU_ARM64_SVE, "sve", AT_HWCAP, __builtin_ctzll(HWCAP_SVE)},
    {HSA_CPU_ARM64_SVE2, "sve2", AT_HWCAP2, __builtin_ctzll(HWCAP2_SVE2)},
};
// clang-format on
static_assert(std::size(kFeatures) == HSA_CPU_ARM64_COUNT);

constexpr uint64_t kV81 = bits({HSA_CPU_ARM64_LSE, HSA_CPU_ARM64_CRC32});
constexpr uint64_t kV82 = kV81 | bits({HSA_CPU_ARM64_FP16, HSA_CPU_ARM64_DOTPROD, HSA_CPU_ARM64_RCPC});
constexpr uint64_t kV9 =
    kV82 | bits({HSA_CPU_ARM64_JSCVT, HSA_CPU_ARM64_FCMA, HSA_CPU_ARM64_SVE, HSA_CPU_ARM64_SVE2});

constexpr Level kLevels[] = {
    {hsabe::str("aarch64-unknown-linux-gnu--armv9-a"), kV9},
    {hsabe::str("aarch64-unknown-linux-gnu--armv8.2-a+fp16+dotprod+rcpc"), kV82},
    {hsabe::str("aarch64-unknown-linux-gnu--armv8.1-a"), kV81},
    {hsabe::str("aarch64-unknown-linux-gnu--armv8-a"), 0},
};

constexpr uint64_t kHalf = bits({HSA_CPU_ARM64_FP16});
constexpr uint16_t kElfMachine = EM_AARCH64;

uint64_t query_features() noexcept {
  uint64_t features = 0;
  for (const Feature& row : kFeatures) {
    if ((getauxval(row.source) >> row.shift & 1) != 0) features |= uint64_t{1} << row.bit;
  }
  return features;
}

#else
#error "Teach this file the processor's features and ISA names"
#endif

struct Caches {
  std::array<hsabe_cache_t, 4> rows{};
  size_t count = 0;
};

Caches query_caches() noexcept {
  Caches caches;
#if defined(__x86_64__)
  // Intel describes caches in leaf 4; AMD in a leaf of the same layout, with topology extensions.
  constexpr unsigned kTopologyExtensions = 1u << 22;
  constexpr hsabe_str_t kNames[] = {hsabe::str("L1"), hsabe::str("L2"), hsabe::str("L3"), hsabe::str("L4")};
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool amd = __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & kTopologyExtensions) != 0;
  for (unsigned index = 0; caches.count < caches.rows.size(); ++index) {
    if (__get_cpuid_count(amd ? 0x8000001d : 4, index, &a, &b, &c, &d) == 0) break;
    const unsigned type = a & 0x1f, level = a >> 5 & 7;
    if (type == 0 || index == 16) break;
    constexpr unsigned kInstructions = 2;
    if (type == kInstructions || level == 0 || level > std::size(kNames)) continue;
    const uint64_t line = (b & 0xfff) + 1, partitions = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1;
    const uint64_t sets = uint64_t{c} + 1;
    caches.rows[caches.count++] = {sizeof(hsabe_cache_t), kNames[level - 1], level, 0,
                                   line * partitions * ways * sets};
  }
#endif
  return caches;
}

}  // namespace

uint64_t host_features() noexcept {
  static const uint64_t features = query_features();
  return features;
}

uint16_t host_elf_machine() noexcept {
  return kElfMachine;
}

std::span<const hsabe_str_t> isa_names(uint64_t features) noexcept {
  static constexpr auto kNames = [] {
    std::array<hsabe_str_t, std::size(kLevels)> names{};
    for (size_t i = 0; i < names.size(); ++i) names[i] = kLevels[i].isa_name;
    return names;
  }();
  size_t best = 0;
  while ((kLevels[best].features & ~features) != 0) ++best;  // the last level has no requirements
  return std::span(kNames).subspan(best);
}

bool half_is_fast(uint64_t features) noexcept {
  return (features & kHalf) != 0;
}

std::string describe_features(uint64_t features) {
  std::string text;
  for (const Feature& row : kFeatures) {
    if ((features >> row.bit & 1) == 0) continue;
    if (!text.empty()) text += ", ";
    text += row.name;
    features &= ~(uint64_t{1} << row.bit);
  }
  if (features != 0)
    text += text.empty() ? "features unknown to this runtime" : " and features unknown to this runtime";
  return text;
}

std::span<const hsabe_cache_t> host_caches() noexcept {
  static const Caches caches = query_caches();
  return {caches.rows.data(), caches.count};
}

}  // namespace rigel::cpu
