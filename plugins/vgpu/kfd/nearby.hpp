// Describes an address that a GPU could not access. The description names the allocation that contains the
// address or is next to it. It states whether that was freed, and whether it is program memory that is not
// mapped on a GPU.
//
// The driver knows buffers only; a runtime sub-allocates them. If a library of the process exports
// hsa_amd_pointer_info, it is called with the address at the end of the buffer.
//
// Threads: any thread that holds no lock and no translation scope, because the runtime takes locks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rigel::vgpu {

struct NearbyBuffer {
  uint64_t va = 0;
  uint64_t bytes = 0;
  bool of_gpu = false;  ///< Whether the allocation is in VRAM.
  bool mapped = false;  ///< Mapped on the faulting GPU.
  bool freed = false;
};

/// Returns a clause without a full stop, or nothing. `buffers`: in any order, except that freed ones are
/// newest first.
std::string describe_address(uint64_t va, const std::vector<NearbyBuffer>& buffers);

}  // namespace rigel::vgpu
