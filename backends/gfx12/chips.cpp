#include "backends/gfx12/chips.hpp"

#include <hsa/amd_hsa_elf.h>

#include "backends/gfx12/generation.hpp"

namespace rigel::gfx12 {
namespace {

using gfx::Board;
using gfx::Chip;

constexpr gfx::IsaFeatures kPlain{};
constexpr uint8_t kGeneric = ELF::EF_AMDGPU_MACH_AMDGCN_GFX12_GENERIC;
// Two SIMDs of 1,536 registers of 32 lanes (kfd_get_vgpr_size_per_cu of Linux).
constexpr uint32_t kVgprBytes = 0x60000;
constexpr uint32_t kCopyMax = 1u << 30;  // packets count from 0, in 30 bits (sdma_v6_0_0_pkt_open.h of Linux)

constexpr Chip kChips[] = {
    // clang-format off
    {{12, 0, 0}, "gfx1200", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1200, kGeneric, kPlain, gfx::kIsaNames<"gfx1200", kPlain>, kVgprBytes, 256, kCopyMax},
    {{12, 0, 1}, "gfx1201", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201, kGeneric, kPlain, gfx::kIsaNames<"gfx1201", kPlain>, kVgprBytes, 256, kCopyMax},
    // clang-format on
};

constexpr Board kBoards[] = {
    {0x7550, 0x755f, "Navi48"},
    {0x7590, 0x759f, "Navi44"},
};

}  // namespace

constinit const gfx::Family kFamily = {
    .name = "gfx12",
    .chips = kChips,
    .boards = kBoards,
    .quirks = {},
    .doorbell = HSABE_DOORBELL_INDEX64,
    .sdma = gfx::SdmaVersion::kV7,
    .wave_size = 32,
    .waves_per_cu = 32,
    .control_stack_bytes_per_wave = 12,
    .control_stack_max = 0,
    .sgprs_per_wave = 106,
    .workgroup_lds_max = 65536,
    .generation = &kGeneration,
};

}  // namespace rigel::gfx12
