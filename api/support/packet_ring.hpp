// The ring of an AQL queue: slots, indices, and the order in which producer and consumer see them.
//
// hsa_queue_t is the first member of amd_queue_t (<hsa/amd_hsa_queue.h>), whose indices the packet processor
// reads and writes. Indices only grow; the slot in the ring is the index modulo the size. The API's queue
// pointers are const, but the indices are writable.
//
// *Threads:* any thread.
// *Memory order:* a producer writes a packet's other words, then its first word with release. The first word
// contains the header. The consumer loads it with acquire; if the header is not INVALID, it sees the whole
// packet. The consumer marks the slot INVALID, then stores the read index with release. A producer that loads
// the read index with acquire may write the slot again. For other accesses to the indices, the caller states
// the order.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rigel {

static_assert(offsetof(amd_queue_t, hsa_queue) == 0);

inline std::atomic_ref<uint64_t> write_index(const hsa_queue_t* queue) noexcept {
  auto* amd_queue = reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(queue));
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(amd_queue->write_dispatch_id));
}

inline std::atomic_ref<uint64_t> read_index(const hsa_queue_t* queue) noexcept {
  auto* amd_queue = reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(queue));
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(amd_queue->read_dispatch_id));
}

struct AqlPacket {
  uint32_t first;  ///< header in the low half, `setup` or other fields in the high half
  uint32_t rest[15];
};
static_assert(sizeof(AqlPacket) == 64);

constexpr uint32_t kInvalidPacket = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;

inline AqlPacket& packet_slot(const hsa_queue_t* queue, uint64_t index) noexcept {
  return static_cast<AqlPacket*>(queue->base_address)[index & (queue->size - 1)];
}

/// Producer: stores the first word, after which the consumer may read the packet. The slot must already
/// contain the other words.
inline void publish_packet(AqlPacket& slot, uint32_t first) noexcept {
  std::atomic_ref(slot.first).store(first, std::memory_order_release);
}
inline void put_packet(AqlPacket& slot, const AqlPacket& packet) noexcept {
  std::memcpy(slot.rest, packet.rest, sizeof slot.rest);
  publish_packet(slot, packet.first);
}

/// Consumer: returns the first word. If its header is not INVALID, the packet is complete.
inline uint32_t load_first(AqlPacket& slot) noexcept {
  return std::atomic_ref(slot.first).load(std::memory_order_acquire);
}
/// Consumer: returns the slots of the packets [first, end) to the producers.
inline void free_packets(const hsa_queue_t* queue, uint64_t first, uint64_t end) noexcept {
  for (uint64_t i = first; i != end; ++i) publish_packet(packet_slot(queue, i), kInvalidPacket);
  read_index(queue).store(end, std::memory_order_release);
}

}  // namespace rigel
