#include "backends/gfx10/counters.hpp"

namespace rigel::gfx10 {
namespace {

constexpr gfx::CounterBlock kBlocks[] = {
    // clang-format off
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPC, "CPC", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPF, "CPF", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GDS, "GDS", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM, "GRBM", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI, "SPI", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, "SQ", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SX, "SX", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA, "TA", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA, "GCEA", 16},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL1A, "GL1A", 8},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL1C, "GL1C", 8},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2A, "GL2A", 32},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2C, "GL2C", 32},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCR, "GCR", 1},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GUS, "GUS", 1},
    // clang-format on
};

// navi10_enum.h. SQ_PERF_SEL: WAVES, WAVES_32, WAVES_64, ITEMS, INSTS_ALL, BRANCH, EXP_GDS, GDS, EXP,
// FLAT, LDS, SALU, SMEM, SENDMSG, VALU, TEX_LOAD, TEX_STORE, WAVE32_INSTS, WAVE64_INSTS. SQC_PERF_SEL:
// LDS_BANK_CONFLICT, LDS_IDX_ACTIVE.
constexpr uint16_t kSequencer[] = {4,  5,  6,  8,  49, 50, 54, 55, 56,  57, 59,
                                   60, 61, 63, 64, 69, 70, 84, 85, 285, 290};
// SPI_PERFCNT_SEL: CSN_NUM_THREADGROUPS, CSN_WAVE.
constexpr uint16_t kLauncher[] = {49, 52};
constexpr gfx::CounterEvents kEvents[] = {
    {gfx::kSq, kSequencer}, {gfx::kTa, gfx::kAddresserEvents}, {gfx::kSpi, kLauncher}};

}  // namespace

constinit const gfx::CounterGeneration kCounters = {
    .blocks = kBlocks,
    .events = kEvents,
    .select = 0xf000,  // all banks of the scalar caches
    .control = 0x57,
    .counts_processors = false,
    .numbers_addressers_in_processors = false,
    .fifth_launcher_select = 0xd988,
    .has_mask = false,
    .gates_clocks = false,
    .stop = 2,
};

}  // namespace rigel::gfx10
