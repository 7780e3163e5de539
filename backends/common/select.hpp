// select() of every backend for AMD GPUs: a node's facts in, capabilities out. Pure; any thread.
#pragma once

#include "backends/common/chip.hpp"

namespace rigel::gfx {

constexpr uint32_t kQueueMinPackets = 64;
constexpr uint32_t kQueueMaxPackets = 131072;
constexpr uint32_t kQueuesMax = 128;
constexpr uint32_t kPrivateSegmentMax = 262128;  ///< bytes a work-item, as ROCr says
constexpr uint32_t kWorkgroupMaxSize = 1024;

/// Fills *caps for the device of these facts. HSA_STATUS_ERROR_INVALID_AGENT, with the reason in *why (static
/// text), if it is not one of the family or the facts make no sense. Heaps: the group segment only; memory is
/// the runtime's to describe.
hsabe_status_t select(const Family& family, const hsabe_node_t& node, hsabe_caps_t* caps, const char** why);

/// The ISA's name under these facts, in static storage: features that the chip has are always said to be on
/// or off.
const hsabe_str_t& isa_name(const Chip& chip, const NodeFacts& facts);

}  // namespace rigel::gfx
