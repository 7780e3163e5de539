// From a kernel dispatch packet to a grid: everything that a packet can have wrong is found here.
#pragma once

#include <hsa/hsa.h>

#include <array>
#include <cstdint>

#include "backends/cpu/code_store.hpp"
#include "backends/cpu/grid_engine.hpp"

namespace rigel::cpu {

/// The kernels that one queue has dispatched lately, and what their work-groups cost. One thread.
class KernelCache {
 public:
  struct Entry {
    Kernel kernel;
    Cost cost;
  };

  explicit KernelCache(const CodeStore& code) : code_(code) {}

  /// Null if `object` is not the descriptor of a kernel that is loaded.
  Entry* find(uint64_t object) noexcept;

 private:
  static constexpr size_t kEntries = 64;

  const CodeStore& code_;
  uint64_t generation_ = 0;
  std::array<Entry, kEntries> entries_{};
};

/// Fills `grid` from a packet for `kernel`; the packet must outlive it. What is wrong, if anything:
///   INCOMPATIBLE_ARGUMENTS   dimensions: a size of 0, a size other than 1 in a dimension not used, more
///                            work-items than a grid may have, not the work-group size that the kernel
///                            requires
///   INVALID_ARGUMENT         a work-group too large; kernel arguments missing or not aligned
///   INVALID_ALLOCATION       group memory: more than there is, or less than the kernel needs
///   OUT_OF_RESOURCES         private memory: likewise
hsa_status_t make_grid(const hsa_kernel_dispatch_packet_t& packet, const Kernel& kernel, Grid* grid) noexcept;

}  // namespace rigel::cpu
