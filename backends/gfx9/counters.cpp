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

// vega10_enum.h, and for the later chips basic_counters.xml of AMD's rocprofiler. SQ_PERF_SEL: WAVES, ITEMS,
// INSTS, VALU, VMEM_WR, VMEM_RD, SALU, SMEM, FLAT, LDS, GDS, EXP, BRANCH, SENDMSG, THREAD_CYCLES_VALU.
constexpr uint16_t kVega[] = {4, 14, 25, 26, 27, 28, 30, 31, 32, 34, 35, 36, 38, 39, 85};
constexpr uint16_t kMi100Numbers[] = {4, 14, 25, 26, 28, 29, 31, 32, 33, 35, 36, 37, 39, 40, 86};
constexpr uint16_t kMi200Numbers[] = {4, 14, 25, 26, 53, 54, 56, 57, 58, 60, 61, 63, 64, 65, 113};
constexpr uint16_t kMi300Numbers[] = {4, 14, 25, 26, 57, 58, 60, 61, 62, 65, 66, 68, 69, 70, 118};
constexpr gfx::CounterEvents kEvents[] = {
    {kMi100Numbers, kMi100, kMi100},
    {kMi200Numbers, kMi200, kMi200},
    {kMi300Numbers, kMi300, kMi300},
    {kVega},
};

}  // namespace

constinit const gfx::CounterGeneration kCounters = {
    .blocks = kBlocks,
    .events = kEvents,
    .select = 0x0f0ff000,  // all SIMDs, and banks and clients of the scalar caches
    .control = 0xffff0057,
    .counts_processors = false,
    .has_mask = true,
    .gates_clocks = true,
    .stop = 2,
};

}  // namespace rigel::gfx9
