#include "backends/gfx12/counters.hpp"

namespace rigel::gfx12 {
namespace {

constexpr gfx::CounterBlock kBlocks[] = {
    // clang-format off
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPC, "CPC", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPF, "CPF", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM, "GRBM", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI, "SPI", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, "SQ", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA, "TA", 2},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP, "TCP", 2},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TD, "TD", 2},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA, "GCEA", 36},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SDMA, "SDMA", 2},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL1A, "GL1A", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL1C, "GL1C", 4},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2A, "GL2A", 4},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2C, "GL2C", 32},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCR, "GCR", 1},
    // clang-format on
};

// soc24_enum.h. SQ_PERF_SEL: WAVES, WAVES_32, WAVES_64, ITEMS, INSTS_ALL, BRANCH, EXP, FLAT, LDS, SALU, SMEM,
// SENDMSG, VALU, VEC_MEM loads and stores, WAVE32_INSTS, WAVE64_INSTS. SQC_PERF_SEL: LDS_BANK_CONFLICT,
// LDS_IDX_ACTIVE.
constexpr uint16_t kSequencer[] = {4, 5, 6, 8, 39, 40, 43, 44, 45, 46, 47, 49, 50, 54, 55, 70, 71, 288, 293};
// SPI_PERFCNT_SEL: CSN_NUM_THREADGROUPS, CSN_WAVE.
constexpr uint16_t kLauncher[] = {47, 50};
constexpr gfx::CounterEvents kEvents[] = {
    {gfx::kSq, kSequencer}, {gfx::kTa, gfx::kAddresserEvents}, {gfx::kSpi, kLauncher}};

}  // namespace

constinit const gfx::CounterGeneration kCounters = {
    .blocks = kBlocks,
    .events = kEvents,
    .select = 0,
    .control = 0x55,
    .counts_processors = true,
    .numbers_addressers_in_processors = true,
    .fifth_launcher_select = 0xd984,
    .has_mask = false,
    .gates_clocks = false,
    .stop = 2 | 1u << 10,
};

}  // namespace rigel::gfx12
