#include "backends/gfx8/chips.hpp"

#include <hsa/amd_hsa_elf.h>

#include "backends/gfx8/generation.hpp"

namespace rigel::gfx8 {
namespace {

using gfx::Board;
using gfx::Chip;
using gfx::GfxVersion;
using gfx::QuirkRule;

constexpr gfx::IsaFeatures kPlain{};
constexpr gfx::IsaFeatures kXnack{.has_xnack = true};
constexpr uint32_t kVgprBytes = 0x40000;
constexpr uint32_t kCopyMax = 0x3fffe0;

constexpr Chip kChips[] = {
    // clang-format off
    {{8, 0, 1}, "gfx801", ELF::EF_AMDGPU_MACH_AMDGCN_GFX801, 0, kXnack, gfx::kIsaNames<"gfx801", kXnack>, kVgprBytes, 256, kCopyMax},
    {{8, 0, 2}, "gfx802", ELF::EF_AMDGPU_MACH_AMDGCN_GFX802, 0, kPlain, gfx::kIsaNames<"gfx802", kPlain>, kVgprBytes, 256, kCopyMax},
    {{8, 0, 3}, "gfx803", ELF::EF_AMDGPU_MACH_AMDGCN_GFX803, 0, kPlain, gfx::kIsaNames<"gfx803", kPlain>, kVgprBytes, 256, kCopyMax},
    {{8, 0, 5}, "gfx805", ELF::EF_AMDGPU_MACH_AMDGCN_GFX805, 0, kPlain, gfx::kIsaNames<"gfx805", kPlain>, kVgprBytes, 256, kCopyMax},
    {{8, 1, 0}, "gfx810", ELF::EF_AMDGPU_MACH_AMDGCN_GFX810, 0, kXnack, gfx::kIsaNames<"gfx810", kXnack>, kVgprBytes, 256, kCopyMax},
    // clang-format on
};

constexpr Board kBoards[] = {
    {0x67c0, 0x67df, "Polaris10"}, {0x67e0, 0x67ff, "Polaris11"}, {0x6900, 0x6907, "Topaz"},
    {0x6920, 0x6939, "Tonga"},     {0x694c, 0x694f, "VegaM"},     {0x6980, 0x699f, "Polaris12"},
    {0x6fdf, 0x6fdf, "Polaris10"}, {0x7300, 0x730f, "Fiji"},      {0x9870, 0x9877, "Carrizo"},
    {0x98e4, 0x98e4, "Stoney"},
};

constexpr GfxVersion kFirst{8, 0, 1}, kLast{8, 1, 0};
constexpr GfxVersion kTonga{8, 0, 2};

constexpr QuirkRule kQuirks[] = {
    {.bit = gfx::kQuirkRingDoubled,
     .first = kFirst,
     .last = kLast,
     .symptom = "the packet processor stops reading a completely full queue"},
    {.bit = gfx::kQuirkRingDoubledByDriver,
     .first = kTonga,
     .last = {8, 0, 5},
     .symptom = "the driver must map the ring twice (ALLOC_MEMORY_OF_GPU with AQL_QUEUE_MEM)"},
    {.bit = gfx::kQuirkSdmaUnstable,
     .first = kFirst,
     .last = kLast,
     .symptom = "user-mode queues of the copy engines are unstable; ROCr copies with kernels on this family"},
    {.bit = gfx::kQuirkNoWaveSave,
     .first = kTonga,
     .last = kTonga,
     .symptom = "the driver waits until waves complete, and rejects GET_QUEUE_WAVE_STATE"},
    {.bit = gfx::kQuirkLargeEndOfPipe,
     .first = kTonga,
     .last = kTonga,
     .symptom = "CREATE_QUEUE rejects an end-of-pipe buffer of one page"},
    {.bit = gfx::kQuirkCodeCacheByFirmware,
     .first = kFirst,
     .last = {8, 0, 5},
     .firmware = QuirkRule::Firmware::kMec,
     .fixed_in = 685,
     .symptom = "the microcode invalidates cached code itself and does not accept requests for it"},
    {.bit = gfx::kQuirkScratchOnceNeedsRelease,
     .first = kFirst,
     .last = kLast,
     .firmware = QuirkRule::Firmware::kMec,
     .fixed_in = 729,
     .symptom = "scratch stores of a kernel reach memory after its scratch is assigned to another kernel"},
};

}  // namespace

constinit const gfx::Family kFamily = {
    .name = "gfx8",
    .chips = kChips,
    .boards = kBoards,
    .quirks = kQuirks,
    .doorbell = HSABE_DOORBELL_INDEX32_LEGACY,
    .sdma = gfx::SdmaVersion::kV3,
    .wave_size = 64,
    .waves_per_cu = 40,
    .control_stack_bytes_per_wave = 8,
    .control_stack_max = 0,
    .sgprs_per_wave = 102,
    .workgroup_lds_max = 65536,
    .generation = &kGeneration,
};

}  // namespace rigel::gfx8
