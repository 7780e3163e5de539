// What amdkfd and amdgpu do otherwise for one chip than for another: sizes, limits and layouts by name, a row a
// chip. Code that speaks for the driver asks for the fact that it depends on, never for a generation, so that a
// chip to come is a row in driver_traits.cpp.
//
// Sources: Linux's drivers/gpu/drm/amd (kfd_device.c, kfd_doorbell.c, kfd_flat_memory.c, kfd_queue.c,
// kfd_int_process_*.c, kfd_mqd_manager_*.c, amdgpu_kms.c, vi.c, gmc_v*.c).
//
// Threads: constants; any.
#pragma once

#include <cstdint>

namespace rigel::vgpu {

struct DriverTraits {
  bool is_apu;  ///< On one chip with the CPU.
  // Queues.
  uint32_t doorbell_bytes;
  uint32_t end_of_pipe_bytes;    ///< That a compute queue's end-of-pipe buffer must have.
  bool maps_aql_rings_twice;     ///< An AQL ring has half of its size in memory, and is seen twice in a row.
  bool has_unit_pairs;           ///< Compute units are enabled by twos: work-group processors.
  bool needs_parameter_for_gws;  ///< Global wave sync is there with amdgpu.hws_gws_support alone.
  uint8_t end_of_pipe_event_bits;   ///< Of an interrupt's context id, that name an event: end of a packet …
  uint8_t wave_message_event_bits;  ///< … and message of a wave.
  // Saved waves.
  bool saves_waves;                 ///< Queues need the memory for it all the same.
  bool has_wave_state_header;       ///< Of a queue that stands still, GET_QUEUE_WAVE_STATE writes one.
  uint32_t saved_waves_per_unit;    ///< Whose state has room, …
  uint32_t saved_waves_per_engine;  ///< … at the most; 0: no matter of engines
  uint32_t control_bytes_per_wave;  ///< … and how much each has in the control stack,
  uint32_t control_stack_limit;     ///< which is not greater than this.
  // Memory.
  bool has_remapped_registers;  ///< A page of registers that programs flush caches by.
  bool has_alternate_aperture;  ///< SET_MEMORY_POLICY's is one of the hardware: 64 KiB pieces, below 2^47.
  bool has_high_addresses;      ///< Addresses are signed: the other half is above the hole.
  bool has_tile_tables;         ///< Images are laid out by tables that the driver fills: Board::tiling.
  bool has_gddr6;               ///< Memory that is no HBM; else GDDR5.
  uint8_t address_bits;
  uint64_t lds_aperture, scratch_aperture;
};

/// The row of a chip by its version, as in KFD's topology (90006 is gfx906); nullptr for one that is not here.
const DriverTraits* find_driver_traits(uint32_t version);

}  // namespace rigel::vgpu
