// Data of the trap handler, shared with its code. The code is common/kernels/trap.s, as words for each
// generation; backends/gfx*/device_code.hpp contains them. SET_TRAP_HANDLER passes code and data to amdkfd.
//
// *Lifetime:* every queue of the device can read code and data. The host writes the data: a queue before the
// queue's first packet, and null before it frees the queue; on gfx8 the signal, before the device's first
// packet.
#pragma once

#include <cstdint>

#include <hsa/amd_hsa_queue.h>

namespace rigel::gfx {

constexpr uint64_t kTrapCodeAlignment = 256;

/// Doorbells of one process that waves can identify: 10 bits, in units of 8 bytes within the slice.
constexpr uint32_t kTrapDoorbells = 1024;

/// gfx9 and later: table of queues by doorbell. An error is stored to the queue's queue_inactive_signal, if
/// its value was zero, followed by its event.
struct TrapData {
  amd_queue_t* queues[kTrapDoorbells];
};

/// On gfx8 a wave can identify its queue only if it executed s_trap 2. All other errors are stored to this
/// signal, for all queues of the device.
struct TrapDataGfx8 {
  uint64_t unattributed_signal;  ///< handle, or 0
  uint64_t reserved;
};

constexpr uint32_t trap_doorbell_index(uint64_t doorbell_offset) {
  return static_cast<uint32_t>(doorbell_offset / 8 % kTrapDoorbells);
}

}  // namespace rigel::gfx
