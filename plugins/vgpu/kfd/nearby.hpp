// What is known of an address that a GPU could not access: which allocation it lies in or next to, whether
// that has been freed, whether it is memory of the program that no GPU was given.
//
// The driver knows buffers. A runtime makes its allocations in them, and knows better: hsa_amd_pointer_info,
// if the process's libraries show it, is asked for the allocation at the buffer's end.
//
// Threads: any that holds no lock and no translation scope: the runtime takes locks of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rigel::vgpu {

/// A buffer of the driver's.
struct NearbyBuffer {
  uint64_t va = 0;
  uint64_t bytes = 0;
  bool of_gpu = false;  ///< Its memory is a GPU's.
  bool mapped = false;  ///< The GPU that asks may access it.
  bool freed = false;
};

/// `buffers` in any order; those that were freed, the latest first. One sentence without its stop, or
/// nothing.
std::string describe_address(uint64_t va, const std::vector<NearbyBuffer>& buffers);

}  // namespace rigel::vgpu
