#include "backends/gfx8/counters.hpp"

namespace rigel::gfx8 {
namespace {

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
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA, "TCA", 2},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC, "TCC", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP, "TCP", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TD, "TD", 16},
    // clang-format on
};

// basic_counters.xml of AMD's rocprofiler and gfx_8_0_enum.h. SQ_PERF_SEL: WAVES, ITEMS, INSTS, VALU,
// VMEM_WR, VMEM_RD, VMEM, SALU, SMEM, FLAT, LDS, GDS, EXP, EXP_GDS, BRANCH, SENDMSG, ACTIVE_INST_VALU,
// INST_CYCLES_SALU, THREAD_CYCLES_VALU, LDS_BANK_CONFLICT, LDS_IDX_ACTIVE.
constexpr uint16_t kSequencer[] = {4,  14, 25, 26, 27, 28, 29, 30, 31, 32, 34,
                                   35, 36, 37, 38, 39, 69, 86, 89, 97, 102};
// SPI_PERFCNT_SEL: CSN_NUM_THREADGROUPS, CSN_WAVE.
constexpr uint16_t kLauncher[] = {65, 68};
constexpr gfx::CounterEvents kEvents[] = {
    {gfx::kSq, kSequencer}, {gfx::kTa, gfx::kAddresserEvents}, {gfx::kSpi, kLauncher}};

}  // namespace

constinit const gfx::CounterGeneration kCounters = {
    .blocks = kBlocks,
    .events = kEvents,
    .select = 0x0f0ff000,  // all SIMDs, and banks and clients of the scalar caches
    .control = 0x7f,
    .counts_processors = false,
    .numbers_addressers_in_processors = false,
    .fifth_launcher_select = 0xd988,
    .has_mask = true,
    .gates_clocks = true,
    .stop = 2,
};

}  // namespace rigel::gfx8
