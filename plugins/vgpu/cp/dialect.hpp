// What sets one chip's command processors apart from another's: how doorbells and pointers count, which
// packets there are, and how long. Queues ask for a fact by its name, never for a generation, so that a chip
// to come is a row in dialect.cpp.
//
// Sources: Linux's drivers/gpu/drm/amd (vid.h, soc15d.h, nvd.h; vi_sdma_pkt_open.h, vega10_sdma_pkt_open.h,
// navi10_sdma_pkt_open.h; kfd_mqd_manager_*.c).
//
// Threads: constants; any.
#pragma once

#include <cstdint>

namespace rigel::vgpu {

struct Dialect {
  // Queues.
  /// Doorbells and write pointers are 64 bits that only grow. Otherwise they are 32 bits that wrap, and the
  /// ring of an AQL queue is mapped twice in a row.
  bool has_wide_indices;
  /// A slot of an AQL ring can hold PM4 itself. Otherwise a vendor packet points to it.
  bool has_pm4_in_slots;
  // Waves.
  bool has_wave32;
  bool has_wgp_mode;              ///< A work-group can have the registers of two compute units.
  bool scratch_counts_from_base;  ///< Scratch lies at offsets from SH_HIDDEN_PRIVATE_BASE_VMID.
  bool has_rsrc3;                 ///< COMPUTE_PGM_RSRC3
  // PM4.
  bool has_wait_reg_mem64, has_event_write_eop, has_pred_exec, has_set_sh_reg_index;
  uint8_t acquire_mem_dwords;  ///< Behind the header.
  uint8_t release_mem_dwords;  ///< Behind the header; the seventh is an interrupt's context id of its own.
  uint32_t dma_data_byte_mask;
  /// The register that asks for a flush of the host's writes (GPU_HDP_FLUSH_REQ), by dword address. Behind it is the
  /// one that tells what is done (GPU_HDP_FLUSH_DONE). Sources: oss_3_0_d.h's and nbio_*_offset.h's numbers, the
  /// latter from NBIO's base 0xd20.
  uint32_t hdp_flush_request;
  // SDMA.
  bool sdma_counts_less_one;  ///< Fields of counts hold one less than what they mean.
  bool sdma_has_dummy_trap;
  bool sdma_has_cache_policies;  ///< GCR, and cache policies where others have endian swaps.
  bool sdma_has_wide_pitch;      ///< Pitches of windows have 19 bits, not 14.
  uint32_t sdma_count_mask;      ///< Of COPY_LINEAR and CONST_FILL.
  uint32_t sdma_depth_mask;      ///< Of z and depths of windows.
  bool sdma_copies_backwards;    ///< COPY_LINEAR has a bit for it.
};

/// The dialect of a chip by its version, as in KFD's topology (90006 is gfx906); nullptr for one that is not
/// here.
const Dialect* find_dialect(uint32_t version);

}  // namespace rigel::vgpu
