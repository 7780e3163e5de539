// Codes of the PM4 packets for compute queues: opcodes, fields, registers.
#pragma once

#include <cstdint>
#include <string_view>

namespace rigel::vgpu::pm4 {

// Header: type 31:30, count 29:16 (dwords of the body, less one), opcode 15:8, shader type 1, predicate 0.
constexpr uint32_t type(uint32_t header) {
  return header >> 30;
}
constexpr uint32_t count(uint32_t header) {
  return header >> 16 & 0x3fff;
}
constexpr uint32_t opcode(uint32_t header) {
  return header >> 8 & 0xff;
}
constexpr uint32_t header(uint32_t op, uint32_t dwords) {
  return 3u << 30 | (dwords - 2) << 16 | op << 8;
}

constexpr uint32_t kNopAlone = 0x3fff;  ///< Count of a NOP that consists of its header only.

enum Opcode : uint32_t {
  kNop = 0x10,
  kDispatchDirect = 0x15,
  kDispatchIndirect = 0x16,
  kAtomicMem = 0x1e,
  kCondExec = 0x22,
  kPredExec = 0x23,
  kWriteData = 0x37,
  kWaitRegMem = 0x3c,
  kIndirectBuffer = 0x3f,
  kCopyData = 0x40,
  kPfpSyncMe = 0x42,
  kEventWrite = 0x46,
  kEventWriteEop = 0x47,
  kReleaseMem = 0x49,
  kDmaData = 0x50,
  kAcquireMem = 0x58,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
  kWaitRegMem64 = 0x93,
  kSetShRegIndex = 0x9b,
};

enum Event : uint32_t {
  kCacheFlushTs = 0x04,
  kCacheFlush = 0x06,
  kCsPartialFlush = 0x07,
  kCacheFlushAndInvTs = 0x14,
  kCacheFlushAndInv = 0x16,
  kPerfcounterStart = 0x17,
  kPerfcounterStop = 0x18,
  kPerfcounterSample = 0x1b,
  kBottomOfPipeTs = 0x28,
  kCsDone = 0x2f,
  kThreadTraceStart = 0x33,
  kThreadTraceStop = 0x34,
  kThreadTraceMarker = 0x35,
  kThreadTraceFinish = 0x37,
};

// Event indices of RELEASE_MEM.
constexpr uint32_t kEventIndexEndOfPipe = 5;
constexpr uint32_t kEventIndexShaderDone = 6;
constexpr uint32_t kEventIndexAql = 7;  ///< gfx8: releases the AQL slot that holds the packet.

// Registers, by dword address.
constexpr uint32_t kShStart = 0x2c00, kShEnd = 0x3000;
constexpr uint32_t kComputeStart = 0x2e00, kComputeEnd = 0x2e80;
constexpr uint32_t kUconfigStart = 0xc000, kUconfigEnd = 0x10000;

enum Register : uint32_t {
  kStartX = 0x2e04,
  kNumThreadX = 0x2e07,
  kPerfcountEnable = 0x2e0b,  ///< Bit 0: performance counters count the queue's dispatches.
  kPgmLo = 0x2e0c,
  kPgmHi = 0x2e0d,
  kScratchBaseLo = 0x2e10,  ///< gfx9 on: address >> 8.
  kScratchBaseHi = 0x2e11,
  kPgmRsrc1 = 0x2e12,
  kPgmRsrc2 = 0x2e13,
  kTmpringSize = 0x2e18,
  kPgmRsrc3 = 0x2e28,  ///< gfx10.
  kUserData0 = 0x2e40,
};

// Dispatch initiator.
constexpr uint32_t kComputeShaderEnable = 1u << 0;
constexpr uint32_t kUseThreadDimensions = 1u << 5;
constexpr uint32_t kWave32 = 1u << 15;

constexpr uint64_t address(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

/// Evaluates a comparison function of WAIT_REG_MEM or SDMA's POLL_REGMEM. Returns false for 7, which is
/// invalid.
constexpr bool compare(uint32_t function, uint64_t value, uint64_t reference) {
  switch (function) {
    case 0:
      return true;
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    case 6:
      return value > reference;
    default:
      return false;
  }
}

}  // namespace rigel::vgpu::pm4
