// The places at which a wave yields: it lets the other waves of its work-group run before it continues.
//
// On hardware a wave waits hundreds of cycles for a load, and the other waves issue their loads meanwhile.
// Programs depend on that, often by mistake:
//
//   barrier; every wave loads x; every wave computes with x; wave 0 stores to x
//
// No barrier separates the loads from the store, but hardware issues all loads long before the store. If
// waves ran one after the other, wave 0 would store before wave 1 has loaded. rocSOLVER's dpotrf is such a
// program (rocSOLVER 6.4, potf2_kernel_small: each thread takes the root of a diagonal element, thread 0
// stores).
//
// A yield costs compiled code as much as a barrier. Therefore waves yield only at the last wait for loads
// before a store to the same kind of memory, and only if no barrier is in between.
//
// Threads: functions without state; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/analysis/flow_graph.hpp"

namespace rigel::vgpu::analysis {

enum class Yields : uint8_t {
  kNone,          ///< Nowhere: a wave runs to its next barrier or its end.
  kBeforeStores,  ///< At waits for loads if a store may follow before the next barrier
  kAtWaits,       ///< At every wait for memory
};

/// Returns by node whether a wave yields after it. Such nodes are waits (s_waitcnt, s_waitcnt_vmcnt, ...).
///
/// kBeforeStores: the memory is LDS, or global memory if the code has barriers. Code without a barrier does
/// not exchange data between waves through global memory. Atomics that return a value count as loads. No
/// atomic counts as a store, since programs expect other waves' atomics at any time. Scalar loads and private
/// memory do not count.
///
/// Code with s_sleep has no yield points, because its waves wait for each other in loops. One program depends
/// on that: clang 14 at -O2 moves the load of libomptarget's flag for SPMD mode above the barrier after the
/// store by wave 0 (OpenMP reductions). The other waves read the right value only if wave 0 has stored before
/// they start.
std::vector<bool> yield_points(const FlowGraph& graph, Yields yields);

}  // namespace rigel::vgpu::analysis
