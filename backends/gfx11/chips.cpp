#include "backends/gfx11/chips.hpp"

#include <hsa/amd_hsa_elf.h>

#include "backends/gfx11/generation.hpp"

namespace rigel::gfx11 {
namespace {

using gfx::Board;
using gfx::Chip;

constexpr gfx::IsaFeatures kPlain{};
constexpr uint8_t kGeneric = ELF::EF_AMDGPU_MACH_AMDGCN_GFX11_GENERIC;
// Two SIMDs of 1,024 registers of 32 lanes, or of 1,536 (kfd_get_vgpr_size_per_cu of Linux).
constexpr uint32_t kVgprBytes = 0x40000;
constexpr uint32_t kLargeVgprBytes = 0x60000;
constexpr uint32_t kCopyMax = 1u << 30;  // packets count from 0, in 30 bits (sdma_v6_0_0_pkt_open.h of Linux)

constexpr Chip kChips[] = {
    // clang-format off
    {{11, 0, 0}, "gfx1100", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100, kGeneric, kPlain, gfx::kIsaNames<"gfx1100", kPlain>, kLargeVgprBytes, 256, kCopyMax},
    {{11, 0, 1}, "gfx1101", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1101, kGeneric, kPlain, gfx::kIsaNames<"gfx1101", kPlain>, kLargeVgprBytes, 256, kCopyMax},
    {{11, 0, 2}, "gfx1102", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1102, kGeneric, kPlain, gfx::kIsaNames<"gfx1102", kPlain>, kVgprBytes,      256, kCopyMax},
    {{11, 0, 3}, "gfx1103", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1103, kGeneric, kPlain, gfx::kIsaNames<"gfx1103", kPlain>, kVgprBytes,      256, kCopyMax},
    {{11, 5, 0}, "gfx1150", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1150, kGeneric, kPlain, gfx::kIsaNames<"gfx1150", kPlain>, kVgprBytes,      256, kCopyMax},
    {{11, 5, 1}, "gfx1151", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1151, kGeneric, kPlain, gfx::kIsaNames<"gfx1151", kPlain>, kLargeVgprBytes, 256, kCopyMax},
    // clang-format on
};

constexpr Board kBoards[] = {
    {0x150e, 0x150e, "Strix"},    {0x1586, 0x1586, "StrixHalo"}, {0x15bf, 0x15bf, "Phoenix"},
    {0x15c8, 0x15c8, "Phoenix2"}, {0x164f, 0x164f, "Phoenix"},   {0x1900, 0x1901, "HawkPoint"},
    {0x7440, 0x745f, "Navi31"},   {0x7460, 0x747f, "Navi32"},    {0x7480, 0x749f, "Navi33"},
};

}  // namespace

constinit const gfx::Family kFamily = {
    .name = "gfx11",
    .chips = kChips,
    .boards = kBoards,
    .quirks = {},
    .doorbell = HSABE_DOORBELL_INDEX64,
    .sdma = gfx::SdmaVersion::kV5,
    .wave_size = 32,
    .waves_per_cu = 32,
    .control_stack_bytes_per_wave = 12,
    .control_stack_max = 0,
    .sgprs_per_wave = 106,
    .workgroup_lds_max = 65536,
    .generation = &kGeneration,
};

}  // namespace rigel::gfx11
