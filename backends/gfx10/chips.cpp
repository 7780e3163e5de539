#include "backends/gfx10/chips.hpp"

#include <hsa/amd_hsa_elf.h>

#include "backends/gfx10/generation.hpp"

namespace rigel::gfx10 {
namespace {

using gfx::Board;
using gfx::Chip;
using gfx::GfxVersion;
using gfx::QuirkRule;

constexpr gfx::IsaFeatures kPlain{};
constexpr gfx::IsaFeatures kXnack{.has_xnack = true};
constexpr uint8_t kGeneric1 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX10_1_GENERIC;
constexpr uint8_t kGeneric3 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX10_3_GENERIC;
constexpr uint32_t kVgprBytes = 0x40000;
// Packets count from 0, in 22 bits, as in drivers/gpu/drm/amd/amdgpu/sdma_v5_0.c, or in 30.
constexpr uint32_t kCopyMax = 1u << 22;      // engine 5.0
constexpr uint32_t kWideCopyMax = 1u << 30;  // engine 5.2

constexpr Chip kChips[] = {
    // clang-format off
    {{10, 1, 0}, "gfx1010", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1010, kGeneric1, kXnack, gfx::kIsaNames<"gfx1010", kXnack>, kVgprBytes, 256, kCopyMax},
    {{10, 1, 1}, "gfx1011", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1011, kGeneric1, kXnack, gfx::kIsaNames<"gfx1011", kXnack>, kVgprBytes, 256, kCopyMax},
    {{10, 1, 2}, "gfx1012", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1012, kGeneric1, kXnack, gfx::kIsaNames<"gfx1012", kXnack>, kVgprBytes, 256, kCopyMax},
    {{10, 1, 3}, "gfx1013", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1013, kGeneric1, kXnack, gfx::kIsaNames<"gfx1013", kXnack>, kVgprBytes, 256, kCopyMax},
    {{10, 3, 0}, "gfx1030", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1030, kGeneric3, kPlain, gfx::kIsaNames<"gfx1030", kPlain>, kVgprBytes, 256, kWideCopyMax},
    {{10, 3, 1}, "gfx1031", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1031, kGeneric3, kPlain, gfx::kIsaNames<"gfx1031", kPlain>, kVgprBytes, 256, kWideCopyMax},
    {{10, 3, 2}, "gfx1032", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1032, kGeneric3, kPlain, gfx::kIsaNames<"gfx1032", kPlain>, kVgprBytes, 256, kWideCopyMax},
    {{10, 3, 3}, "gfx1033", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1033, kGeneric3, kPlain, gfx::kIsaNames<"gfx1033", kPlain>, kVgprBytes, 256, kWideCopyMax},
    {{10, 3, 4}, "gfx1034", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1034, kGeneric3, kPlain, gfx::kIsaNames<"gfx1034", kPlain>, kVgprBytes, 256, kWideCopyMax},
    {{10, 3, 5}, "gfx1035", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1035, kGeneric3, kPlain, gfx::kIsaNames<"gfx1035", kPlain>, kVgprBytes, 256, kWideCopyMax},
    {{10, 3, 6}, "gfx1036", ELF::EF_AMDGPU_MACH_AMDGCN_GFX1036, kGeneric3, kPlain, gfx::kIsaNames<"gfx1036", kPlain>, kVgprBytes, 256, kWideCopyMax},
    // clang-format on
};

constexpr Board kBoards[] = {
    {0x13c0, 0x13c0, "GraniteRidge"}, {0x13db, 0x13db, "CyanSkillfish"}, {0x13f9, 0x13fe, "CyanSkillfish"},
    {0x1435, 0x1435, "VanGogh"},      {0x143f, 0x143f, "CyanSkillfish"}, {0x1506, 0x1506, "Mendocino"},
    {0x163f, 0x163f, "VanGogh"},      {0x164d, 0x164d, "YellowCarp"},    {0x164e, 0x164e, "Raphael"},
    {0x1681, 0x1681, "YellowCarp"},   {0x7310, 0x731f, "Navi10"},        {0x7340, 0x734f, "Navi14"},
    {0x7360, 0x7362, "Navi12"},       {0x73a0, 0x73bf, "Navi21"},        {0x73c0, 0x73df, "Navi22"},
    {0x73e0, 0x73ff, "Navi23"},       {0x7420, 0x743f, "Navi24"},
};

constexpr GfxVersion kCyanSkillfish{10, 1, 3};

constexpr QuirkRule kQuirks[] = {
    {.bit = gfx::kQuirkNoSdmaHdpFlush,
     .first = {10, 1, 0},
     .last = {10, 1, 3},
     .symptom = "host data path flushes by a copy engine fail; ROCr omits them on these chips"},
    {.bit = gfx::kQuirkNoSdma,
     .first = kCyanSkillfish,
     .last = kCyanSkillfish,
     .symptom = "copy engines are reserved for the kernel driver; ROCr copies with kernels on this chip"},
};

}  // namespace

constinit const gfx::Family kFamily = {
    .name = "gfx10",
    .chips = kChips,
    .boards = kBoards,
    .quirks = kQuirks,
    .doorbell = HSABE_DOORBELL_INDEX64,
    .sdma = gfx::SdmaVersion::kV5,
    .wave_size = 32,
    .waves_per_cu = 32,
    .control_stack_bytes_per_wave = 12,
    .control_stack_max = 0x7000,
    .sgprs_per_wave = 106,
    .workgroup_lds_max = 65536,
    .generation = &kGeneration,
};

}  // namespace rigel::gfx10
