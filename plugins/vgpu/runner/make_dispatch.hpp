// Creates a dispatch as the packet processor would, without a queue that runs.
#pragma once

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/runner/load_kernel.hpp"

namespace rigel::vgpu::runner {

struct Shape {
  uint32_t grid[3] = {1, 1, 1};  ///< In work-items.
  uint32_t group[3] = {1, 1, 1};
  uint64_t kernarg_va = 0;
  uint32_t dynamic_lds = 0;  ///< Bytes of LDS in addition to those of the kernel.
};

/// Upper halves of the apertures of private memory and LDS, for generic pointers.
struct Apertures {
  uint32_t private_high = 0, group_high = 0;
};
Apertures apertures_of(const Board& board);

/// Creates a queue structure with scratch and passes a packet through the command processor's checks. Throws
/// std::runtime_error if the dispatch is invalid.
Dispatch make_dispatch(const Board& board, MemoryBus& memory, const Kernel& kernel, const Shape& shape);

}  // namespace rigel::vgpu::runner
