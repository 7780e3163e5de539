// What a CPU device can do: a NUMA node's facts in, capabilities out.
#pragma once

#include <cstdint>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

/// A work-item is a lane of a vector that the compiler chose, and nothing crosses lanes: as far as a program
/// can tell, a wavefront has one work-item.
constexpr uint32_t kWavefrontSize = 1;
constexpr uint32_t kWorkgroupMaxSize = 4096;
/// All three dimensions together; leaves room above for a counter that overshoots.
constexpr uint64_t kGridMaxSize = uint64_t{1} << 62;
/// Bytes of group memory. Small enough to stay in a core's second-level cache.
constexpr uint32_t kGroupSegmentSize = 256 * 1024;
/// Bytes of private memory that a work-item can ask for beyond its thread's stack.
constexpr uint32_t kPrivateSegmentMax = 256 * 1024;
constexpr uint32_t kQueueMaxPackets = 131072;

/// Fills *caps for the processors of `node`, which have `features`. The only strings that are not static are
/// copies of the node's name.
hsabe_status_t select(const hsabe_node_t* node, uint64_t features, hsabe_caps_t* caps) noexcept;

}  // namespace rigel::cpu
