#include "backends/gfx9/counters.hpp"

namespace rigel::gfx9 {
namespace {

constexpr gfx::GfxVersion kMi100{9, 0, 8}, kMi200{9, 0, 10}, kMi300{9, 4, 2};

constexpr gfx::CounterBlock kBlocks[] = {
    // clang-format off
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPC, "CPC", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPF, "CPF", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GDS, "GDS", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM, "GRBM", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBMSE, "GRBM_SE", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI, "SPI", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, "SQ", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SX, "SX", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA, "TA", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA, "TCA", 32, kMi100, kMi100},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA, "TCA", 32, kMi200, kMi200},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA, "TCA", 32, kMi300, kMi300},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA, "TCA", 2},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC, "TCC", 32, kMi100, kMi100},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC, "TCC", 32, kMi200, kMi200},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC, "TCC", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP, "TCP", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TD, "TD", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCVML2, "MCVML2", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_ATC, "ATC", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_ATCL2, "ATCL2", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA, "GCEA", 32, kMi100, kMi100},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA, "GCEA", 32, kMi200, kMi200},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA, "GCEA", 32, kMi300, kMi300},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA, "GCEA", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_RPB, "RPB", 1},
    // clang-format on
};

// vega10_enum.h, and for the later chips counter_defs.yaml of AMD's rocprofiler-sdk. SQ_PERF_SEL: WAVES,
// ITEMS, INSTS, VALU, (later chips: MFMA,) VMEM_WR, VMEM_RD, VMEM, SALU, SMEM, FLAT, LDS, GDS, (not MI200 and
// MI300: EXP,) EXP_GDS, BRANCH, SENDMSG, ACTIVE_INST_VALU, INST_CYCLES_SALU, THREAD_CYCLES_VALU,
// LDS_BANK_CONFLICT, LDS_IDX_ACTIVE.
constexpr uint16_t kVega[] = {4,  14, 25, 26, 27, 28, 29, 30, 31, 32, 34,
                              35, 36, 37, 38, 39, 71, 84, 85, 93, 98};
constexpr uint16_t kMi100Numbers[] = {4,  14, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                                      35, 36, 37, 38, 39, 40, 72, 85, 86, 94, 99};
constexpr uint16_t kMi200Numbers[] = {4,  14, 25, 26, 52, 53, 54,  55,  56,  57, 58,
                                      60, 61, 63, 64, 65, 99, 112, 113, 121, 126};
constexpr uint16_t kMi300Numbers[] = {4,  14, 25, 26, 56, 57,  58,  59,  60,  61, 62,
                                      65, 66, 68, 69, 70, 104, 117, 118, 126, 131};
// TA_PERFCOUNT_SEL, in the order of kAddresserEvents.
constexpr uint16_t kMi300Addresser[] = {29, 32, 33, 34, 35, 51, 52, 53, 54};
// SPI_PERFCNT_SEL: CSN_NUM_THREADGROUPS, CSN_WAVE.
constexpr uint16_t kLauncher[] = {65, 68}, kMiLauncher[] = {49, 52};
constexpr gfx::CounterEvents kEvents[] = {
    {gfx::kSq, kMi100Numbers, kMi100, kMi100},   {gfx::kSq, kMi200Numbers, kMi200, kMi200},
    {gfx::kSq, kMi300Numbers, kMi300, kMi300},   {gfx::kSq, kVega},
    {gfx::kTa, kMi300Addresser, kMi300, kMi300}, {gfx::kTa, gfx::kAddresserEvents},
    {gfx::kSpi, kMiLauncher, kMi100, kMi100},    {gfx::kSpi, kMiLauncher, kMi200, kMi200},
    {gfx::kSpi, kMiLauncher, kMi300, kMi300},    {gfx::kSpi, kLauncher},
};

}  // namespace

constinit const gfx::CounterGeneration kCounters = {
    .blocks = kBlocks,
    .events = kEvents,
    .select = 0x0f0ff000,  // all SIMDs, and banks and clients of the scalar caches
    .control = 0xffff0057,
    .counts_processors = false,
    .numbers_addressers_in_processors = false,
    .fifth_launcher_select = 0xd988,
    .has_mask = true,
    .gates_clocks = true,
    .stop = 2,
};

}  // namespace rigel::gfx9
