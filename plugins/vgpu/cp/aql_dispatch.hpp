// Turns a dispatch packet into a Dispatch: reads the kernel object and the queue's scratch, does the command
// processor's checks, and loads the user SGPRs.
//
// A kernel descriptor (code object v3 and later) and an amd_kernel_code_t (v1, v2) have the fields used here
// at the same offsets. Neither hardware nor this code distinguishes them.
#pragma once

#include <optional>
#include <string>

#include "plugins/vgpu/cp/aql_packets.hpp"
#include "plugins/vgpu/cp/hardware_queue.hpp"

namespace rigel::vgpu {

struct DispatchPlan {
  enum class Kind : uint8_t {
    kReady,
    kNeedsScratch,  ///< The queue's scratch is too small; `error` is the request to the runtime.
    kError,         ///< See `error` and `reason`.
    kFault          ///< See the memory's fault.
  };
  Kind kind = Kind::kReady;
  QueueError error = QueueError::kBadPacket;
  std::string reason;
  Dispatch dispatch;
  uint32_t queue_properties = 0;
};

/// Plans packet `id` of the queue, stored at `packet_va`. `queue_va` is the address of the amd_queue_t.
DispatchPlan plan_dispatch(GpuMemory& memory, const QueueContext& context, uint64_t queue_va,
                           const aql::Packet& packet, uint64_t packet_va, uint64_t id);

}  // namespace rigel::vgpu
