// What processors and trap handlers report of a queue, and what a program is told. Pure; any thread.
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
  std::string_view what;  ///< for people; empty if nothing is wrong
};

/// Whether the code asks for scratch, and for waves of how many lanes: 0, 32 or 64.
constexpr uint32_t scratch_asked_for(uint64_t code) {
  return (code & kInactiveScratchWave32) != 0 ? 32 : (code & kInactiveScratchWave64) != 0 ? 64 : 0;
}

/// Of a code of the inactive signal. Scratch is no error.
QueueError error_of_inactive_code(uint64_t code);

/// Of the bits that the driver sets at SaveAreaHeader::error_reason_va: 1 << (exception - 1). Some are no errors.
QueueError error_of_exceptions(uint64_t bits);

}  // namespace rigel::gfx
