// Converts a kernel dispatch packet to a grid, and validates the packet.
#pragma once

#include <hsa/hsa.h>

#include <array>
#include <cstdint>

#include "backends/cpu/code_store.hpp"
#include "backends/cpu/grid_engine.hpp"

namespace rigel::cpu {

/// Recently dispatched kernels of one queue, and the cost of their work-groups. Not thread-safe.
class KernelCache {
 public:
  struct Entry {
    Kernel kernel;
    Cost cost;
  };

  explicit KernelCache(const CodeStore& code) : code_(code) {}

  /// Returns null if `object` is not the descriptor of a loaded kernel.
  Entry* find(uint64_t object) noexcept;

 private:
  static constexpr size_t kEntries = 64;

  const CodeStore& code_;
  uint64_t generation_ = 0;
  std::array<Entry, kEntries> entries_{};
};

/// Fills `grid` from a packet for `kernel`; the packet must outlive it. Returns an error for an invalid
/// packet:
///   INCOMPATIBLE_ARGUMENTS   dimensions: a size of 0, a size other than 1 in an unused dimension, more
///                            work-items than a grid's maximum, a work-group size that the kernel does not
///                            support
///   INVALID_ARGUMENT         a work-group that is too large; missing or unaligned kernel arguments
///   INVALID_ALLOCATION       group memory: more than available, or less than the kernel needs
///   OUT_OF_RESOURCES         private memory: more than available, or less than the kernel needs
hsa_status_t make_grid(const hsa_kernel_dispatch_packet_t& packet, const Kernel& kernel, Grid* grid) noexcept;

}  // namespace rigel::cpu
