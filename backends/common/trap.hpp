// The trap handler's side of the agreement with the runtime. The code is common/kernels/trap.s, as words for
// each generation; backends/gfx*/device_code.hpp has them. amdkfd is told of code and data with SET_TRAP_HANDLER.
//
// Ownership and order: code and data are memory that every queue of the device can read; the data also by the
// host, which stores a queue in its place before the queue's first packet, and null before it frees the
// queue; or on gfx8 the signal, before the device's first packet.
#pragma once

#include <cstdint>

#include <hsa/amd_hsa_queue.h>

namespace rigel::gfx {

constexpr uint64_t kTrapCodeAlignment = 256;

/// Doorbells of one process that waves can name: 10 bits, counted in doorbells of 8 bytes within the slice.
constexpr uint32_t kTrapDoorbells = 1024;

/// From gfx9 on: where the handler finds the queue of a wave. An error goes to the queue's
/// queue_inactive_signal: its value, if that was zero, and its event.
struct TrapData {
  amd_queue_t* queues[kTrapDoorbells];
};

/// On gfx8 a wave does not know its queue unless it executed s_trap 2. All other errors go to this signal,
/// which stands for every queue of the device.
struct TrapDataGfx8 {
  uint64_t unattributed_signal;  ///< handle, or 0
  uint64_t reserved;
};

constexpr uint32_t trap_doorbell_index(uint64_t doorbell_offset) {
  return static_cast<uint32_t>(doorbell_offset / 8 % kTrapDoorbells);
}

}  // namespace rigel::gfx
