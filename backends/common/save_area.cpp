#include "backends/common/save_area.hpp"

#include <algorithm>

#include "api/support/page_size.hpp"

namespace rigel::gfx {
namespace {

constexpr uint32_t kSgprBytesPerCu = 0x4000;
constexpr uint32_t kLdsBytesPerCu = 0x10000;
constexpr uint32_t kHardwareRegisterBytesPerCu = 0x1000;
constexpr uint32_t kDebugBytesPerWave = 32;
constexpr uint32_t kWavesPerEngineMax = 512;  ///< limit per engine before gfx10

}  // namespace

SaveArea save_area(const Family& family, const Chip& chip, const NodeFacts& facts) {
  SaveArea area;
  const uint64_t cus = facts.compute_units() / facts.xcc_count;
  uint64_t waves = cus * family.waves_per_cu;
  if (family.wave_size == 64)
    waves = std::min<uint64_t>(waves, uint64_t{facts.engines()} / facts.xcc_count * kWavesPerEngineMax);

  uint64_t stack = page_up(sizeof(SaveAreaHeader) + waves * family.control_stack_bytes_per_wave + 8);
  if (family.control_stack_max != 0) stack = std::min<uint64_t>(stack, family.control_stack_max);
  const uint64_t per_cu =
      uint64_t{chip.vgpr_bytes_per_cu} + kSgprBytesPerCu + kLdsBytesPerCu + kHardwareRegisterBytesPerCu;
  uint64_t total = stack + page_up(cus * per_cu);

  // If amdkfd reports the sizes, it checks those of each queue against them.
  if (facts.control_stack_bytes != 0) stack = facts.control_stack_bytes;
  if (facts.save_area_bytes != 0) total = facts.save_area_bytes;

  area.control_stack_bytes = static_cast<uint32_t>(stack);
  area.area_bytes = static_cast<uint32_t>(total);
  area.debug_bytes = static_cast<uint32_t>(round_up(waves * kDebugBytesPerWave, 64));
  area.allocation_bytes = page_up((total + area.debug_bytes) * facts.xcc_count);
  return area;
}

uint32_t end_of_pipe_bytes(const Family& family, const NodeFacts& facts) {
  if (facts.end_of_pipe_bytes != 0) return facts.end_of_pipe_bytes;
  return (find_quirks(family.quirks, facts) & kQuirkLargeEndOfPipe) != 0 ? 0x8000 : 0x1000;
}

}  // namespace rigel::gfx
