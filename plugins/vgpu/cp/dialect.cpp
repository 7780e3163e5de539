#include "plugins/vgpu/cp/dialect.hpp"

namespace rigel::vgpu {
namespace {

// VGPRs and SGPRs of a SIMD and their granules: LLVM's AMDGPUBaseInfo.cpp.

constexpr uint32_t kNarrowCount = 0x3fffff, kWideCount = 0x3fffffff;

constexpr Dialect kVolcanicIslands{
    .has_wide_indices = false,
    .has_pm4_in_slots = true,
    .has_wave32 = false,
    .has_wgp_mode = false,
    .tmpring = {1024, 0x1fff, false},
    .scratch_counts_from_base = true,
    .has_rsrc3 = false,
    .preloads_kernargs = false,
    .vgpr_granule = 4,
    .vgpr_allocation = 4,
    .vgprs_of_simd = 256,
    .sgprs_of_simd = 800,
    .has_wait_reg_mem64 = false,
    .has_event_write_eop = true,
    .has_pred_exec = false,
    .has_set_sh_reg_index = false,
    .acquire_mem_dwords = 6,
    .release_mem_dwords = 6,
    .dma_data_byte_mask = 0x1fffff,
    .hdp_flush_request = 0x1537,
    .event_numbers = EventNumbers::kVolcanicIslands,
    .sdma_counts_less_one = false,
    .sdma_has_dummy_trap = false,
    .sdma_has_cache_policies = false,
    .sdma_has_wide_pitch = false,
    .sdma_count_mask = kNarrowCount,
    .sdma_depth_mask = 0x7ff,
    .sdma_has_wide_windows = false,
    .sdma_has_compression = false,
    .sdma_copies_backwards = false,
};

constexpr Dialect kVega{
    .has_wide_indices = true,
    .has_pm4_in_slots = false,
    .has_wave32 = false,
    .has_wgp_mode = false,
    .tmpring = {1024, 0x1fff, false},
    .scratch_counts_from_base = false,
    .has_rsrc3 = false,
    .preloads_kernargs = false,
    .vgpr_granule = 4,
    .vgpr_allocation = 4,
    .vgprs_of_simd = 256,
    .sgprs_of_simd = 800,
    .has_wait_reg_mem64 = true,
    .has_event_write_eop = false,
    .has_pred_exec = true,
    .has_set_sh_reg_index = false,
    .acquire_mem_dwords = 6,
    .release_mem_dwords = 7,
    .dma_data_byte_mask = 0x3ffffff,
    .hdp_flush_request = 0xe26,
    .event_numbers = EventNumbers::kVega,
    .sdma_counts_less_one = true,
    .sdma_has_dummy_trap = true,
    .sdma_has_cache_policies = false,
    .sdma_has_wide_pitch = true,
    .sdma_count_mask = kNarrowCount,
    .sdma_depth_mask = 0x7ff,
    .sdma_has_wide_windows = false,
    .sdma_has_compression = false,
    .sdma_copies_backwards = false,
};

constexpr Dialect kArcturus = [] {
  Dialect dialect = kVega;
  dialect.event_numbers = EventNumbers::kMi100;
  return dialect;
}();

constexpr Dialect kAldebaran = [] {
  Dialect dialect = kVega;
  dialect.event_numbers = EventNumbers::kMi200;
  dialect.has_rsrc3 = true;
  dialect.preloads_kernargs = true;
  dialect.vgpr_granule = 8;
  dialect.vgpr_allocation = 8;
  dialect.vgprs_of_simd = 512;
  dialect.sdma_count_mask = kWideCount;
  return dialect;
}();

constexpr Dialect kAquaVanjaram = [] {
  Dialect dialect = kAldebaran;
  dialect.event_numbers = EventNumbers::kMi300;
  return dialect;
}();

constexpr Dialect kRdna = [] {
  Dialect dialect = kVega;
  dialect.has_wave32 = true;
  dialect.has_wgp_mode = true;
  dialect.has_rsrc3 = true;
  dialect.vgprs_of_simd = 512;
  dialect.sgprs_of_simd = 0;
  dialect.has_set_sh_reg_index = true;
  dialect.acquire_mem_dwords = 7;
  dialect.sdma_has_dummy_trap = false;  // Navi 10 uses its number for another packet (navi10_sdma_pkt_open.h)
  dialect.sdma_has_cache_policies = true;
  dialect.sdma_depth_mask = 0x1fff;
  dialect.sdma_copies_backwards = true;
  dialect.event_numbers = EventNumbers::kNavi;
  return dialect;
}();

constexpr Dialect kRdna2 = [] {
  Dialect dialect = kRdna;
  dialect.vgpr_allocation = 8;
  dialect.sdma_count_mask = kWideCount;
  return dialect;
}();

// The third generation allocates scratch by shader engine (Mesa, si_compute.c; ROCr, amd_aql_queue.cpp).
constexpr Dialect kRdna3 = [] {
  Dialect dialect = kRdna2;
  dialect.tmpring = {256, 0x7fff, true};
  dialect.event_numbers = EventNumbers::kNavi3;
  return dialect;
}();

constexpr Dialect kLargeRdna3 = [] {
  Dialect dialect = kRdna3;
  dialect.vgpr_allocation = 12;
  dialect.vgprs_of_simd = 768;
  return dialect;
}();

// A wave's size has 18 bits (LLVM, SIDefines.h). Windows of SDMA: ROCr, sdma_registers.h.
constexpr Dialect kRdna4 = [] {
  Dialect dialect = kLargeRdna3;
  dialect.tmpring.size_mask = 0x3ffff;
  dialect.event_numbers = EventNumbers::kNavi4;
  dialect.sdma_depth_mask = 0x3fff;
  dialect.sdma_has_wide_windows = true;
  dialect.sdma_has_compression = true;
  return dialect;
}();

struct Row {
  uint32_t version;
  const Dialect& dialect;
};

constexpr Row kRows[] = {
    {80001, kVolcanicIslands},
    {80002, kVolcanicIslands},
    {80003, kVolcanicIslands},
    {80005, kVolcanicIslands},
    {80100, kVolcanicIslands},
    {90000, kVega},
    {90002, kVega},
    {90004, kVega},
    {90006, kVega},
    {90008, kArcturus},
    {90009, kVega},
    {90010, kAldebaran},
    {90012, kVega},
    {90402, kAquaVanjaram},
    {100100, kRdna},
    {100101, kRdna},
    {100102, kRdna},
    {100103, kRdna},
    {100300, kRdna2},
    {100301, kRdna2},
    {100302, kRdna2},
    {100303, kRdna2},
    {100304, kRdna2},
    {100305, kRdna2},
    {100306, kRdna2},
    {110000, kLargeRdna3},
    {110001, kLargeRdna3},
    {110002, kRdna3},
    {110003, kRdna3},
    {110500, kRdna3},
    {110501, kLargeRdna3},
    {120000, kRdna4},
    {120001, kRdna4},
};

}  // namespace

const Dialect* find_dialect(uint32_t version) {
  for (const Row& row : kRows) {
    if (row.version == version) return &row.dialect;
  }
  return nullptr;
}

}  // namespace rigel::vgpu
