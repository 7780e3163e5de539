#include "backends/gfx9/chips.hpp"

#include <hsa/amd_hsa_elf.h>

#include "backends/gfx9/generation.hpp"

namespace rigel::gfx9 {
namespace {

using gfx::Board;
using gfx::Chip;
using gfx::GfxVersion;
using gfx::QuirkRule;

constexpr gfx::IsaFeatures kXnack{.has_xnack = true};
constexpr gfx::IsaFeatures kBoth{.has_sramecc = true, .has_xnack = true};
constexpr uint8_t kGeneric = ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC;
constexpr uint8_t kGeneric94 = ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC;
constexpr uint32_t kVgprBytes = 0x40000;     // 256 registers of 64 lanes for four SIMDs
constexpr uint32_t kWithAccBytes = 0x80000;  // and the same number of accumulation registers
// Packets count from 0, in 22 bits, as in drivers/gpu/drm/amd/amdgpu/sdma_v4_0.c, or in 30.
constexpr uint32_t kCopyMax = 1u << 22;
constexpr uint32_t kWideCopyMax = 1u << 30;

constexpr Chip kChips[] = {
    // clang-format off
    {{9, 0, 0},  "gfx900", ELF::EF_AMDGPU_MACH_AMDGCN_GFX900, kGeneric, kXnack, gfx::kIsaNames<"gfx900", kXnack>, kVgprBytes,    256, kCopyMax},
    {{9, 0, 2},  "gfx902", ELF::EF_AMDGPU_MACH_AMDGCN_GFX902, kGeneric, kXnack, gfx::kIsaNames<"gfx902", kXnack>, kVgprBytes,    256, kCopyMax},
    {{9, 0, 4},  "gfx904", ELF::EF_AMDGPU_MACH_AMDGCN_GFX904, kGeneric, kXnack, gfx::kIsaNames<"gfx904", kXnack>, kVgprBytes,    256, kCopyMax},
    {{9, 0, 6},  "gfx906", ELF::EF_AMDGPU_MACH_AMDGCN_GFX906, kGeneric, kBoth,  gfx::kIsaNames<"gfx906", kBoth>,  kVgprBytes,    256, kCopyMax},
    {{9, 0, 8},  "gfx908", ELF::EF_AMDGPU_MACH_AMDGCN_GFX908, 0,        kBoth,  gfx::kIsaNames<"gfx908", kBoth>,  kWithAccBytes, 256, kCopyMax},
    {{9, 0, 9},  "gfx909", ELF::EF_AMDGPU_MACH_AMDGCN_GFX909, kGeneric, kXnack, gfx::kIsaNames<"gfx909", kXnack>, kVgprBytes,    256, kCopyMax},
    {{9, 0, 10}, "gfx90a", ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A, 0,        kBoth,  gfx::kIsaNames<"gfx90a", kBoth>,  kWithAccBytes, 512, kWideCopyMax},
    {{9, 0, 12}, "gfx90c", ELF::EF_AMDGPU_MACH_AMDGCN_GFX90C, kGeneric, kXnack, gfx::kIsaNames<"gfx90c", kXnack>, kVgprBytes,    256, kCopyMax},
    {{9, 4, 2},  "gfx942", ELF::EF_AMDGPU_MACH_AMDGCN_GFX942, kGeneric94, kBoth, gfx::kIsaNames<"gfx942", kBoth>, kWithAccBytes, 512, kWideCopyMax},
    // clang-format on
};

constexpr Board kBoards[] = {
    {0x15d8, 0x15d8, "Picasso"},  {0x15dd, 0x15dd, "Raven"},     {0x15e7, 0x15e7, "Barcelo"},
    {0x1636, 0x1636, "Renoir"},   {0x1638, 0x1638, "Cezanne"},   {0x164c, 0x164c, "Lucienne"},
    {0x66a0, 0x66af, "Vega20"},   {0x6860, 0x687f, "Vega10"},    {0x69a0, 0x69af, "Vega12"},
    {0x7388, 0x7390, "Arcturus"}, {0x7408, 0x7410, "Aldebaran"}, {0x74a0, 0x74bd, "AquaVanjaram"},
};

constexpr GfxVersion kVega10{9, 0, 0}, kVega12{9, 0, 4}, kRaven2{9, 0, 9};
constexpr GfxVersion kAldebaran{9, 0, 10}, kRenoir{9, 0, 12}, kAquaVanjaram{9, 4, 2};

constexpr QuirkRule kQuirks[] = {
    {.bit = gfx::kQuirkSdmaPollTwice,
     .first = kVega10,
     .last = kRaven2,
     .symptom = "rarely, a copy starts before its dependency signal is zero (observed on gfx908)"},
    {.bit = gfx::kQuirkSdmaPollTwice,
     .first = kRenoir,
     .last = kRenoir,
     .symptom = "rarely, a copy starts before its dependency signal is zero (the copy engine of gfx908)"},
    {.bit = gfx::kQuirkSdmaSmallSubmission,
     .first = kVega10,
     .last = kVega12,
     .symptom = "submissions of less than 64 dwords are unsafe; ROCr pads them on these chips"},
    {.bit = gfx::kQuirkSdmaSmallSubmission,
     .first = kRenoir,
     .last = kRenoir,
     .symptom = "submissions of less than 64 dwords are unsafe; ROCr pads them on these chips"},
    {.bit = gfx::kQuirkHostCopyOnEngine0,
     .first = kAldebaran,
     .last = kAldebaran,
     .symptom = "copies from the host require engine 0; ROCr pins them there"},
    {.bit = gfx::kQuirkCooperativeCuCount,
     .first = kAldebaran,
     .last = kAldebaran,
     .symptom = "cooperative kernels can use floor(n / 8) * 8 - 8 of n compute units"},
    {.bit = gfx::kQuirkNoImages,
     .first = kAquaVanjaram,
     .last = kAquaVanjaram,
     .symptom = "the compute units have no texture filter and no image instructions"},
};

}  // namespace

constinit const gfx::Family kFamily = {
    .name = "gfx9",
    .chips = kChips,
    .boards = kBoards,
    .quirks = kQuirks,
    .doorbell = HSABE_DOORBELL_INDEX64,
    .sdma = gfx::SdmaVersion::kV4,
    .wave_size = 64,
    .waves_per_cu = 40,
    .control_stack_bytes_per_wave = 8,
    .control_stack_max = 0,
    .sgprs_per_wave = 102,
    .workgroup_lds_max = 65536,
    .generation = &kGeneration,
};

}  // namespace rigel::gfx9
