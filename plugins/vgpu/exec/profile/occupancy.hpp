// How many waves of a kernel the SIMDs of a compute unit can hold at once.
//
// Sources: LLVM's AMDGPUBaseInfo.cpp and GCNSubtarget.cpp, whose "Occupancy" is the same number for the
// limits that a compiler knows.
//
// Threads: any; functions of their arguments.
#pragma once

#include "plugins/vgpu/cp/dialect.hpp"
#include "plugins/vgpu/profile/kernel_profile.hpp"

namespace rigel::vgpu::exec {

/// What a compute unit has, and what a work-group needs of it.
struct OccupancyInputs {
  uint32_t simds = 4;               ///< Of a compute unit
  uint32_t max_waves = 10;          ///< Of a SIMD
  uint32_t lds_bytes = 65536;       ///< Of a compute unit
  uint32_t units = 1;               ///< Compute units that share a work-group: 2 in WGP mode
  uint32_t rsrc1 = 0;               ///< COMPUTE_PGM_RSRC1
  uint32_t sgprs = 0;               ///< Allocated to each wave
  uint32_t waves_of_group = 1;      ///< Waves of a work-group
  uint32_t lds_bytes_of_group = 0;  ///< LDS of a work-group, in whole granules
  uint32_t scratch_slots = 0;  ///< Waves with scratch for each compute unit; 0: the kernel uses no scratch
};

profile::Occupancy occupancy_of(const Dialect& dialect, const OccupancyInputs& inputs);

}  // namespace rigel::vgpu::exec
