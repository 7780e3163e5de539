// Converts errors of processors and trap handlers to statuses. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <hsa/hsa.h>

namespace rigel::gfx {

/// Values of amd_queue_t.queue_inactive_signal: bits.
enum InactiveCode : uint64_t {
  kInactiveScratchWave64 = 0x1,  ///< not an error: the queue waits for scratch
  kInactiveDimensions = 0x2,
  kInactiveGroupMemory = 0x4,
  kInactiveCodeObject = 0x8,
  kInactivePacketFormat = 0x20,
  kInactiveGroupSize = 0x40,
  kInactiveRegisters = 0x80,
  kInactiveVendorPacket = 0x100,
  kInactiveScratchReturned = 0x200,  ///< not an error: use-once scratch is free again
  kInactiveScratchWave32 = 0x400,    ///< not an error
  kInactiveAperture = 0x2000'0000,
  kInactiveIllegalInstruction = 0x4000'0000,
  kInactiveTrap = 0x8000'0000,
};

struct QueueError {
  hsa_status_t status = HSA_STATUS_SUCCESS;
  std::string_view what;  ///< text for messages; empty without an error
};

/// Returns the number of lanes per wave if the code requests scratch: 0, 32 or 64.
constexpr uint32_t scratch_asked_for(uint64_t code) {
  return (code & kInactiveScratchWave32) != 0 ? 32 : (code & kInactiveScratchWave64) != 0 ? 64 : 0;
}

/// Returns the error of a code of the inactive signal. Requests for scratch are not errors.
QueueError error_of_inactive_code(uint64_t code);

/// Returns the error of the driver's bits at SaveAreaHeader::error_reason_va: 1 << (exception - 1). Some are
/// not errors.
QueueError error_of_exceptions(uint64_t bits);

}  // namespace rigel::gfx
