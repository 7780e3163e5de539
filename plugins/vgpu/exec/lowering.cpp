#include "plugins/vgpu/exec/lowering.hpp"

#include <cstdlib>
#include <vector>

namespace rigel::vgpu::exec {
namespace {

// The best that the host has.
SimdLevel host_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return SimdLevel::kAvx512;
    }
    return SimdLevel::kAvx2;
  }
#endif
  return SimdLevel::kBaseline;
}

// The best that is wanted.
SimdLevel asked_level() {
  const char* const text = std::getenv("VGPU_SIMD");
  const std::string_view asked = text == nullptr ? "" : text;
  if (asked == "baseline") return SimdLevel::kBaseline;
  return asked == "avx2" ? SimdLevel::kAvx2 : SimdLevel::kAvx512;
}

enum class Part : uint8_t { kScalar, kVector, kMemory, kNone };

Part part_of(isa::Encoding encoding) {
  using isa::Encoding;
  switch (encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopk:
    case Encoding::kSopc:
    case Encoding::kSopp:
      return Part::kScalar;
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
    case Encoding::kVop3:
    case Encoding::kVop3p:
      return Part::kVector;
    case Encoding::kSmem:
    case Encoding::kDs:
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch:
    case Encoding::kMubuf:
    case Encoding::kMtbuf:
    case Encoding::kMimg:
      return Part::kMemory;
    case Encoding::kVintrp:
    case Encoding::kExp:
      return Part::kNone;
  }
  return Part::kNone;
}

using Lower = Refusal (*)(const isa::Instruction&, LoweringContext&, Emitter&);

struct Level {
  bool built = false;
  Lower parts[3] = {};
  std::string_view why_not = {};
};

// By SimdLevel. Which are built is CMakeLists.txt's choice.
constexpr Level kLevels[] = {
    {true, {lower_scalar, simd_baseline::lower_vector, simd_baseline::lower_memory}},
#if RIGEL_BUILDS_AVX2
    {true, {lower_scalar, simd_avx2::lower_vector, simd_avx2::lower_memory}},
#else
    {false, {}, RIGEL_LEVEL_LEFT_OUT},
#endif
#if RIGEL_BUILDS_AVX512
    {true, {lower_scalar, simd_avx512::lower_vector, simd_avx512::lower_memory}},
#else
    {false, {}, RIGEL_LEVEL_LEFT_OUT},
#endif
};

std::vector<SimdLevel> find_simd_levels() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    const bool usable = level <= host_level() && level <= asked_level();
    if (usable && kLevels[static_cast<size_t>(level)].built) levels.push_back(level);
  }
  return levels;
}

}  // namespace

std::span<const SimdLevel> simd_levels() {
  static const std::vector<SimdLevel> levels = find_simd_levels();
  return levels;
}

SimdLevel best_simd_level() {
  return simd_levels().back();
}

std::string_view why_absent(SimdLevel level) {
  const Level& built = kLevels[static_cast<size_t>(level)];
  if (!built.built) return built.why_not;
  if (level > host_level()) return "this processor does not have the instructions of the level";
  return level > asked_level() ? "VGPU_SIMD names a lower level" : "";
}

Refusal lower(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const Part part = part_of(instruction.encoding);
  const bool scalar = part == Part::kScalar || instruction.encoding == isa::Encoding::kSmem;
  if (context.skip_vector && !scalar) return {};
  if (part == Part::kNone) return "graphics instructions are not executed";
  return kLevels[static_cast<size_t>(context.level)].parts[static_cast<size_t>(part)](instruction, context,
                                                                                      out);
}

}  // namespace rigel::vgpu::exec
