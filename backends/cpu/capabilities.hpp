// Computes the capabilities of a CPU device from a NUMA node's properties.
#pragma once

#include <cstdint>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

/// The compiler chooses how many work-items it combines in a vector, and there are no cross-lane operations.
/// Therefore programs see wavefronts of one work-item.
constexpr uint32_t kWavefrontSize = 1;
constexpr uint32_t kWorkgroupMaxSize = 4096;
/// Product of all three dimensions; leaves room for a counter that overshoots.
constexpr uint64_t kGridMaxSize = uint64_t{1} << 62;
/// Bytes of group memory. Small enough for a core's second-level cache.
constexpr uint32_t kGroupSegmentSize = 256 * 1024;
/// Maximum bytes of private memory of a work-item, in addition to its thread's stack.
constexpr uint32_t kPrivateSegmentMax = 256 * 1024;
constexpr uint32_t kQueueMaxPackets = 131072;

/// Fills *caps for the CPUs of `node`, which have `features`. Strings are static, except a copy of the node's
/// name.
hsabe_status_t select(const hsabe_node_t* node, uint64_t features, hsabe_caps_t* caps) noexcept;

}  // namespace rigel::cpu
