// Differences between chips in amdkfd and amdgpu: sizes, limits and layouts, one row per chip. The emulated
// driver asks for a trait, never for a generation, so that a new chip is a new row of driver_traits.cpp.
//
// Sources: Linux's drivers/gpu/drm/amd (kfd_device.c, kfd_doorbell.c, kfd_flat_memory.c, kfd_queue.c,
// kfd_int_process_*.c, kfd_mqd_manager_*.c, amdgpu_kms.c, vi.c, gmc_v*.c).
//
// Threads: any; the rows are constants.
#pragma once

#include <cstdint>

namespace rigel::vgpu {

struct DriverTraits {
  bool is_apu;  ///< The GPU and the CPU are one chip. A board can override it.
  // Queues.
  uint32_t doorbell_bytes;
  uint32_t end_of_pipe_bytes;    ///< Required size of a compute queue's end-of-pipe buffer.
  bool maps_aql_rings_twice;     ///< An AQL ring has half of its size in memory and is mapped twice in a row.
  bool has_unit_pairs;           ///< Compute units are enabled in pairs: work-group processors.
  bool needs_parameter_for_gws;  ///< Global wave sync needs amdgpu.hws_gws_support.
  bool has_scheduler_firmware;   ///< MES schedules queues: write pointers must be in buffers of the driver.
  uint32_t queues_of_process;    ///< Limit of the hardware scheduler.
  uint32_t reserved_sdma_queues;    ///< The first queues of an SDMA engine, which the driver keeps.
  uint8_t end_of_pipe_event_bits;   ///< Bits of an end-of-pipe interrupt's context id that identify an event.
  uint8_t wave_message_event_bits;  ///< Bits of a wave message's context id that identify an event.
  // Saved waves.
  bool saves_waves;                 ///< If false, queues need the memory for saved waves all the same.
  bool has_wave_state_header;       ///< GET_QUEUE_WAVE_STATE of a stopped queue writes a header.
  uint32_t saved_waves_per_unit;    ///< Saved waves per compute unit.
  uint32_t saved_waves_per_engine;  ///< Limit of saved waves per shader engine. 0: no limit.
  uint32_t saved_vgpr_bytes;        ///< VGPRs of a compute unit, with accumulation registers.
  uint32_t control_bytes_per_wave;  ///< Size of a wave in the control stack.
  uint32_t control_stack_limit;     ///< Maximum size of the control stack.
  // Memory.
  bool has_xnack_per_process;   ///< SET_XNACK_MODE can turn the retry of page faults on and off.
  bool has_xgmi_bandwidth;      ///< The topology has the bandwidth of links over xGMI.
  bool has_remapped_registers;  ///< A page of registers through which programs flush caches.
  bool has_alternate_aperture;  ///< SET_MEMORY_POLICY's aperture is the hardware's: 64 KiB units, below 2^47.
  bool has_high_addresses;      ///< Addresses are signed: half of them are above the hole.
  bool has_tile_tables;         ///< The driver fills the tables of image layouts: Board::tiling.
  bool has_gddr6;               ///< Memory that is not HBM is GDDR6; otherwise GDDR5.
  uint8_t address_bits;
  uint64_t lds_aperture, scratch_aperture;
};

/// Returns the row of a chip by its version in KFD's topology (90006 is gfx906), or nullptr for an unknown
/// chip.
const DriverTraits* find_driver_traits(uint32_t version);

}  // namespace rigel::vgpu
