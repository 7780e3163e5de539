// select() of all backends for AMD GPUs: computes capabilities from a node's properties. Pure; any thread.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx {

constexpr uint32_t kQueueMinPackets = 64;
constexpr uint32_t kQueueMaxPackets = 131072;
constexpr uint32_t kQueuesMax = 128;
constexpr uint32_t kPrivateSegmentMax = 262128;  ///< bytes per work-item, as in ROCr
constexpr uint32_t kWorkgroupMaxSize = 1024;

/// Fills *caps for a device. Returns HSA_STATUS_ERROR_INVALID_AGENT, with the reason in *why (static text),
/// if it does not belong to the family or its properties are invalid. Heaps: the group segment only; the
/// runtime describes memory.
hsabe_status_t select(const Family& family, const hsabe_node_t& node, hsabe_caps_t* caps, const char** why);

/// Returns the ISA's name for these properties, in static storage: it specifies all features of the chip as
/// on or off.
const hsabe_str_t& isa_name(const Chip& chip, const NodeFacts& facts);

}  // namespace rigel::gfx
