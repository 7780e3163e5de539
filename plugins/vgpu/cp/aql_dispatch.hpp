// From a dispatch packet to a Dispatch: reads the kernel object and the queue's scratch, checks what the
// command processor checks, and loads the user SGPRs.
//
// A kernel descriptor (code object v3 on) and an amd_kernel_code_t (v1, v2) have the fields that matter here
// at the same offsets, so hardware does not tell them apart, nor does this.
#pragma once

#include <optional>
#include <string>

#include "plugins/vgpu/cp/aql_packets.hpp"
#include "plugins/vgpu/cp/hardware_queue.hpp"

namespace rigel::vgpu {

struct DispatchPlan {
  enum class Kind : uint8_t {
    kReady,
    kNeedsScratch,  ///< The queue's scratch is too small for this dispatch; `error` is what to ask with.
    kError,         ///< `error` and `reason`.
    kFault          ///< The memory's fault.
  };
  Kind kind = Kind::kReady;
  QueueError error = QueueError::kBadPacket;
  std::string reason;
  Dispatch dispatch;
  uint32_t queue_properties = 0;
};

/// `packet` is packet number `id` of its queue and lies at `packet_va`; `queue_va` is the amd_queue_t.
DispatchPlan plan_dispatch(GpuMemory& memory, const QueueContext& context, uint64_t queue_va,
                           const aql::Packet& packet, uint64_t packet_va, uint64_t id);

}  // namespace rigel::vgpu
