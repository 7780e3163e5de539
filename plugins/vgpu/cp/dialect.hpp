// Differences between chips' command processors: formats of doorbells and pointers, and which packets exist
// in which form. Queues read named fields, never a version, so that a new chip is a row in dialect.cpp.
//
// Sources: Linux's drivers/gpu/drm/amd (vid.h, soc15d.h, nvd.h; vi_sdma_pkt_open.h, vega10_sdma_pkt_open.h,
// navi10_sdma_pkt_open.h, sdma_v6_0_0_pkt_open.h, sdma_v7_0.c; kfd_mqd_manager_*.c).
//
// Threads: constants, any thread.
#pragma once

#include <cstdint>

namespace rigel::vgpu {

/// Numbers of performance events (SQ_PERF_SEL, TA_PERFCOUNT_SEL, SPI_PERFCNT_SEL): a column of the table in
/// performance_counters.cpp.
enum class EventNumbers : uint8_t {
  kVolcanicIslands,
  kVega,
  kMi100,
  kMi200,
  kMi300,
  kNavi,
  kNavi3,
  kNavi4,
  kCount
};

/// COMPUTE_TMPRING_SIZE: waves in bits 11:0, the size of a wave above.
struct TmpringLayout {
  uint32_t unit;       ///< Unit of the size, in bytes.
  uint32_t size_mask;  ///< Mask of the size, after a shift by 12.
  bool counts_engine;  ///< The waves are those of a shader engine, not of an XCC.

  uint32_t wave_bytes(uint32_t tmpring) const { return (tmpring >> 12 & size_mask) * unit; }
  /// Of an XCC. `shader_engines`: their number.
  uint32_t waves(uint32_t tmpring, uint32_t shader_engines) const {
    return (tmpring & 0xfff) * (counts_engine ? shader_engines : 1);
  }
};

struct Dialect {
  // Queues.
  /// Doorbells and write pointers have 64 bits and only grow. Otherwise they have 32 bits that wrap, and the
  /// ring of an AQL queue is mapped twice in a row.
  bool has_wide_indices;
  /// A slot of an AQL ring can hold PM4. Otherwise a vendor packet points to it.
  bool has_pm4_in_slots;
  // Waves.
  bool has_wave32;
  bool has_wgp_mode;  ///< A work-group can use the registers of two compute units.
  TmpringLayout tmpring;
  bool scratch_counts_from_base;  ///< Scratch addresses are offsets from SH_HIDDEN_PRIVATE_BASE_VMID.
  bool has_rsrc3;                 ///< COMPUTE_PGM_RSRC3
  bool preloads_kernargs;         ///< Kernel descriptors can preload arguments into user SGPRs.
  uint8_t vgpr_granule;           ///< Unit of COMPUTE_PGM_RSRC1.VGPRS, for waves of 64.
  uint8_t vgpr_allocation;        ///< Granule of the hardware's allocation, for waves of 64.
  uint16_t vgprs_of_simd;         ///< VGPRs of a SIMD, for waves of 64.
  uint16_t sgprs_of_simd;         ///< SGPRs that the waves of a SIMD share; 0: their number limits no waves.

  /// VGPRs that the hardware allocates to a wave, in units of those of waves of 64. `rsrc1`:
  /// COMPUTE_PGM_RSRC1.
  constexpr uint32_t allocated_vgprs(uint32_t rsrc1) const {
    const uint32_t needed = ((rsrc1 & 0x3f) + 1) * vgpr_granule;
    return (needed + vgpr_allocation - 1) / vgpr_allocation * vgpr_allocation;
  }

  // PM4.
  bool has_wait_reg_mem64, has_event_write_eop, has_pred_exec, has_set_sh_reg_index;
  uint8_t acquire_mem_dwords;  ///< Number of dwords after the header.
  uint8_t release_mem_dwords;  ///< Number of dwords after the header; the seventh holds the interrupt's
                               ///< context id.
  uint32_t dma_data_byte_mask;
  /// Dword address of GPU_HDP_FLUSH_REQ, which flushes the host's writes. The next register is
  /// GPU_HDP_FLUSH_DONE. Sources: oss_3_0_d.h and nbio_*_offset.h; the latter count from NBIO's base 0xd20.
  uint32_t hdp_flush_request;
  EventNumbers event_numbers;
  // SDMA.
  bool sdma_counts_less_one;  ///< Count fields hold the count minus one.
  bool sdma_has_dummy_trap;
  bool sdma_has_cache_policies;  ///< GCR exists, and cache policies replace the endian swaps.
  bool sdma_has_wide_pitch;      ///< Window pitches have 19 bits, not 14.
  uint32_t sdma_count_mask;      ///< Mask of the size in COPY_LINEAR and CONST_FILL.
  uint32_t sdma_depth_mask;      ///< Mask of z and depth of windows.
  bool sdma_has_wide_windows;    ///< x, y, width, height and pitch have 16 bits, and slices 32.
  bool sdma_has_compression;     ///< COPY_LINEAR can have a dword for compressed memory.
  bool sdma_copies_backwards;    ///< COPY_LINEAR has a bit for backward copies.
};

/// Returns the dialect of a version as in KFD's topology (90006 is gfx906), or null if it is unknown.
const Dialect* find_dialect(uint32_t version);

}  // namespace rigel::vgpu
