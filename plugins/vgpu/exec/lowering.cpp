#include "plugins/vgpu/exec/lowering.hpp"

#include <cstdlib>
#include <vector>

#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec {
namespace {

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

SimdLevel level_limit() {
  const char* const text = std::getenv("VGPU_SIMD");
  const std::string_view name = text == nullptr ? "" : text;
  if (name == "baseline") return SimdLevel::kBaseline;
  return name == "avx2" ? SimdLevel::kAvx2 : SimdLevel::kAvx512;
}

constexpr Refusal kNoScalarOperation = "scalar instruction is not supported";

Refusal lower_scalar(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  for (const auto part :
       {scalar::lower_alu, scalar::lower_control, scalar::lower_mask, scalar::lower_state}) {
    const Refusal refusal = part(instruction, context, out);
    if (refusal != scalar::kNotMine) return refusal;
  }
  return kNoScalarOperation;
}

using Lower = Refusal (*)(const isa::Instruction&, LoweringContext&, Emitter&);

struct Level {
  bool built = false;
  Lower vector = nullptr;
  Lower memory = nullptr;
  std::string_view why_not = {};
};

// By SimdLevel. CMakeLists.txt chooses which are built.
constexpr Level kLevels[] = {
    {true, simd_baseline::lower_vector, simd_baseline::lower_memory},
#if RIGEL_BUILDS_AVX2
    {true, simd_avx2::lower_vector, simd_avx2::lower_memory},
#else
    {false, nullptr, nullptr, RIGEL_LEVEL_LEFT_OUT},
#endif
#if RIGEL_BUILDS_AVX512
    {true, simd_avx512::lower_vector, simd_avx512::lower_memory},
#else
    {false, nullptr, nullptr, RIGEL_LEVEL_LEFT_OUT},
#endif
};

std::vector<SimdLevel> find_simd_levels() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    const bool usable = level <= host_level() && level <= level_limit();
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
  if (level > host_level()) return "the CPU lacks the instructions of this SIMD level";
  return level > level_limit() ? "VGPU_SIMD selects a lower level" : "";
}

Refusal lower(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const isa::Encoding encoding = instruction.encoding;
  const bool scalar = isa::is_scalar_alu(encoding);
  if (context.skip_vector && !scalar && encoding != isa::Encoding::kSmem) return {};
  if (encoding == isa::Encoding::kLdsDirect) return "LDS-direct loads are not supported";
  if (isa::is_graphics(encoding)) return "graphics instructions are not supported";
  if (scalar) {
    const Refusal refusal = lower_scalar(instruction, context, out);
    if (refusal != kNoScalarOperation) return refusal;
    // Scalar floating-point instructions use the vector operations.
    const Refusal of_vector = kLevels[static_cast<size_t>(context.level)].vector(instruction, context, out);
    return of_vector.empty() ? of_vector : kNoScalarOperation;
  }
  if (context.checked && !isa::is_vector_alu(encoding) && !is_lane_exchange(instruction.op))
    return simd_checked::lower_memory(instruction, context, out);
  const Level& level = kLevels[static_cast<size_t>(context.level)];
  return (isa::is_vector_alu(encoding) ? level.vector : level.memory)(instruction, context, out);
}

}  // namespace rigel::vgpu::exec
