// Sizes of an AQL queue's ring in memory and as the driver needs them, and values of its doorbell. Pure; any
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

constexpr uint64_t kAqlPacketBytes = 64;
constexpr uint64_t kAqlRingPage = 4096;

struct AqlRing {
  uint32_t packets = 0;             ///< size of the queue, in packets
  uint64_t bytes = 0;               ///< size of the ring's memory
  uint64_t mapped_bytes = 0;        ///< size of its address range: `bytes`, or twice `bytes` if doubled
  uint64_t announced_bytes = 0;     ///< ring size in CREATE_QUEUE
  uint64_t write_index_offset = 0;  ///< offset in amd_queue_t of the write index that the processor reads
  bool doubled = false;             ///< whether the memory is mapped twice in a row
};

/// Returns the layout of a queue that a program requests with `packets` packets, a power of two. The queue is
/// larger if its ring is doubled and would be smaller than a page.
inline AqlRing aql_ring(const Family& family, Quirks quirks, uint32_t packets) {
  AqlRing ring;
  ring.doubled = (quirks & kQuirkRingDoubled) != 0;
  ring.packets = packets;
  if (ring.doubled) ring.packets = std::max(packets, static_cast<uint32_t>(kAqlRingPage / kAqlPacketBytes));
  ring.bytes = ring.packets * kAqlPacketBytes;
  ring.mapped_bytes = ring.doubled ? 2 * ring.bytes : ring.bytes;
  ring.announced_bytes = ring.mapped_bytes;
  ring.write_index_offset = family.doorbell == HSABE_DOORBELL_INDEX64
                                ? offsetof(amd_queue_t, write_dispatch_id)
                                : offsetof(amd_queue_t, max_legacy_doorbell_dispatch_id_plus_1);
  return ring;
}

/// Returns the value to store to a queue's doorbell. `doorbell` is its HSABE_DOORBELL_ kind, `packets` the
/// queue's size, and `index` that of the last packet that was written.
constexpr uint64_t doorbell_value(uint32_t doorbell, uint32_t packets, uint64_t index) {
  constexpr uint64_t kDwords = kAqlPacketBytes / 4;
  if (doorbell == HSABE_DOORBELL_INDEX64) return index;
  if (doorbell == HSABE_DOORBELL_DWORDS32_LEGACY) return (index + 1) % (uint64_t{packets} * 2) * kDwords;
  return static_cast<uint32_t>(index + 1);
}

/// Returns the packet header with its release fence scope set to the system.
constexpr uint16_t releasing_to_system(uint16_t header) {
  constexpr uint32_t kShift = HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE, kMask = 3u << kShift;
  return static_cast<uint16_t>((header & ~kMask) | HSA_FENCE_SCOPE_SYSTEM << kShift);
}

}  // namespace rigel::gfx
