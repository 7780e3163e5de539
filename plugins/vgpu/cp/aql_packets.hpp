// Codes of AQL packets, and offsets of fields in amd_queue_t, amd_signal_t and kernel descriptors. The
// command processor reads these structures at GPU addresses, field by field.
#pragma once

#include <cstddef>
#include <cstdint>

#include <hsa/amd_hsa_kernel_code.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

namespace rigel::vgpu::aql {

constexpr uint64_t kPacketBytes = 64;

// Header, 16 bits.
constexpr uint32_t type(uint32_t header) {
  return header & 0xff;
}
constexpr bool barrier(uint32_t header) {
  return (header >> 8 & 1) != 0;
}
constexpr uint32_t acquire_scope(uint32_t header) {
  return header >> 9 & 3;
}
constexpr uint32_t release_scope(uint32_t header) {
  return header >> 11 & 3;
}
constexpr uint16_t kInvalidHeader = HSA_PACKET_TYPE_INVALID;

// AMD formats of vendor packets, in byte 2.
constexpr uint32_t kFormatPm4Ib = 1;
constexpr uint32_t kFormatBarrierValue = 2;

/// A packet as stored in the ring.
struct Packet {
  uint32_t words[16];

  uint64_t quad(size_t word) const { return uint64_t{words[word + 1]} << 32 | words[word]; }
  uint32_t header() const { return words[0] & 0xffff; }
  uint32_t setup() const { return words[0] >> 16; }  ///< Of a dispatch: dimensions in bits 1:0.
  uint64_t completion_signal() const { return quad(14); }
};
static_assert(sizeof(Packet) == kPacketBytes);

/// Returns the packet's type, or 0x100 + the AMD format of a vendor packet (FidelityRow::code).
inline uint32_t code(const Packet& packet) {
  const uint32_t packet_type = type(packet.header());
  return packet_type == HSA_PACKET_TYPE_VENDOR_SPECIFIC ? 0x100 | (packet.words[0] >> 16 & 0xff)
                                                        : packet_type;
}
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == 56);
static_assert(offsetof(hsa_barrier_and_packet_t, dep_signal) == 8);

/// Whether a slot holds PM4: AQL packets have 0 in the type bits of a PM4 header.
constexpr bool is_pm4_slot(uint32_t first_word) {
  return first_word >> 30 == 3;
}

// amd_queue_t.
constexpr uint64_t kQueueReadIndex = offsetof(amd_queue_t, read_dispatch_id);
constexpr uint64_t kQueueReadIndexOffset = offsetof(amd_queue_t, read_dispatch_id_field_base_byte_offset);
constexpr uint64_t kQueueTmpringSize = offsetof(amd_queue_t, compute_tmpring_size);
constexpr uint64_t kQueueScratchDescriptor = offsetof(amd_queue_t, scratch_resource_descriptor);
constexpr uint64_t kQueueScratchLocation = offsetof(amd_queue_t, scratch_backing_memory_location);
constexpr uint64_t kQueueScratchLaneBytes = offsetof(amd_queue_t, scratch_wave64_lane_byte_size);
constexpr uint64_t kQueueProperties = offsetof(amd_queue_t, queue_properties);
constexpr uint64_t kQueueInactiveSignal = offsetof(amd_queue_t, queue_inactive_signal);
static_assert(kQueueReadIndexOffset - kQueueReadIndex == 8);

constexpr uint32_t kPropertyTrapHandler = AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER;
constexpr uint32_t kPropertyProfiling = AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
constexpr uint32_t kPropertyScratchOnce = AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE;

// amd_signal_t.
constexpr uint64_t kSignalValue = offsetof(amd_signal_t, value);
constexpr uint64_t kSignalMailbox = offsetof(amd_signal_t, event_mailbox_ptr);
constexpr uint64_t kSignalEventId = offsetof(amd_signal_t, event_id);
constexpr uint64_t kSignalStart = offsetof(amd_signal_t, start_ts);
constexpr uint64_t kSignalEnd = offsetof(amd_signal_t, end_ts);

}  // namespace rigel::vgpu::aql
