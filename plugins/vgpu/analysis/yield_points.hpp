// Where a wave lets the other waves of its work-group run before it goes on.
//
// On hardware the waves of a work-group run side by side: a wave that waits for a load stands still for hundreds of
// cycles, and the others issue their own loads meanwhile. Programs rely on that, often without knowing it:
//
//   barrier; every wave loads x; every wave computes with x; wave 0 stores to x
//
// There is no barrier between the loads and the store, but on hardware all loads are issued long before the store.
// Executed one wave after the other, wave 0 would store before wave 1 has loaded. rocSOLVER's dpotrf is such a
// program (rocSOLVER 6.4, potf2_kernel_small: each thread takes the root of the diagonal element, thread 0 stores it).
//
// A yield costs compiled code as much as a barrier. So waves yield only where it can matter: at the last wait for
// loads before a store to the same kind of memory, with no barrier in between.
//
// Threads: functions without state; any.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/analysis/flow_graph.hpp"

namespace rigel::vgpu::analysis {

enum class Yields : uint8_t {
  kNone,          ///< A wave runs until its next barrier, or its end.
  kBeforeStores,  ///< At waits for loads that a store may follow before the next barrier.
  kAtWaits,       ///< At every wait for memory.
};

/// For each node whether a wave yields behind it. Such nodes are waits (s_waitcnt and those of single counters).
///
/// kBeforeStores: the memory is LDS, or global memory in code that has barriers. Code without a barrier does not
/// exchange data between waves through global memory. Atomic operations that return a value are loads; none is a
/// store, since programs expect others to execute theirs at any time. Scalar loads and private memory do not count.
/// Code with s_sleep has no such point, because its waves wait for each other in loops. One program depends on that:
/// clang 14 at -O2 moves the load of libomptarget's flag for SPMD mode above the barrier after the store by wave 0
/// (OpenMP reductions). The other waves read the right value only if wave 0 has stored before they start.
std::vector<bool> yield_points(const FlowGraph& graph, Yields yields);

}  // namespace rigel::vgpu::analysis
