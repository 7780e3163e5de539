// How the ring of an AQL queue lies in memory, and what is told of it. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hsa/amd_hsa_queue.h>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

constexpr uint64_t kAqlPacketBytes = 64;
constexpr uint64_t kAqlRingPage = 4096;

struct AqlRing {
  uint32_t packets = 0;             ///< of the queue
  uint64_t bytes = 0;               ///< of memory
  uint64_t mapped_bytes = 0;        ///< of addresses: twice `bytes` where the ring is doubled
  uint64_t announced_bytes = 0;     ///< as CREATE_QUEUE takes it
  uint64_t write_index_offset = 0;  ///< in amd_queue_t: what the processor is told to read
  bool doubled = false;
};

/// For a queue of `packets`, a power of two. A ring that is mapped twice is whole pages: a queue may be
/// larger than was asked for.
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

/// What the doorbell register is given when `index` is the last packet written.
constexpr uint64_t doorbell_value(uint32_t doorbell, uint64_t index) {
  return doorbell == HSABE_DOORBELL_INDEX64 ? index : static_cast<uint32_t>(index + 1);
}

/// Whether a legacy doorbell moves on: the register is 32 bits, and processors take a smaller value for a
/// lap.
constexpr bool legacy_doorbell_advances(uint64_t index, uint64_t max_rung_plus_1) {
  return index + 1 > max_rung_plus_1;
}

}  // namespace rigel::gfx
