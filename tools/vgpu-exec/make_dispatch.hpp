// A dispatch as the packet processor would hand it to the shader cores, without a queue that anybody reads.
#pragma once

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "tools/vgpu-exec/load_kernel.hpp"

namespace rigel::vgpu::runner {

struct Shape {
  uint32_t grid[3] = {1, 1, 1};  ///< In work-items.
  uint32_t group[3] = {1, 1, 1};
  uint64_t kernarg_va = 0;
  uint32_t dynamic_lds = 0;  ///< Bytes beside what the kernel itself has.
};

/// Where private memory and LDS are for generic pointers: the upper halves of their addresses.
struct Apertures {
  uint32_t private_high = 0, group_high = 0;
};
Apertures apertures_of(const Board& board);

/// Makes a queue with scratch for the kernel and has the packet checked and read, as for any other. Throws
/// std::runtime_error that says why the dispatch cannot be started.
Dispatch make_dispatch(const Board& board, MemoryBus& memory, const Kernel& kernel, const Shape& shape);

}  // namespace rigel::vgpu::runner
