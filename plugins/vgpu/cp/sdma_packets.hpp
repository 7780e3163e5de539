// Codes of the SDMA packets, versions 3 (gfx8) to 7 (gfx12).
#pragma once

#include <cstdint>

namespace rigel::vgpu::sdma {

// First dword: op 7:0, sub-op 15:8; other fields depend on the packet.
constexpr uint32_t op(uint32_t header) {
  return header & 0xff;
}
constexpr uint32_t code(uint32_t header) {
  return header & 0xffff;
}  ///< Op and sub-op: an enum Packet.

enum Op : uint32_t {
  kOpNop = 0,
  kOpWrite = 2,
  kOpFence = 5,
  kOpTrap = 6,
};

enum Packet : uint32_t {
  kNop = 0x0000,
  kCopyLinear = 0x0001,
  kCopySubWindow = 0x0401,
  kWriteLinear = 0x0002,
  kIndirect = 0x0004,
  kFence = 0x0005,
  kTrap = 0x0006,
  kPollRegmem = 0x0008,
  kCondExe = 0x0009,
  kAtomic = 0x000a,
  kConstFill = 0x000b,
  kTimestampGet = 0x010d,
  kTimestampGetGlobal = 0x020d,
  kDummyTrap = 0x0010,
  kGcr = 0x0111,
};

constexpr uint32_t kCompression = 1u << 19;  ///< COPY_LINEAR: a dword for compression follows. (gfx12)
constexpr uint32_t kBackwards = 1u << 25;    ///< COPY_LINEAR: from the end. (navi10_sdma_pkt_open.h)
constexpr uint32_t kBroadcast = 1u << 27;    ///< COPY_LINEAR: a second destination follows.
constexpr uint32_t kAtomicLoop = 1u << 16;   ///< ATOMIC: repeat the compare-and-swap until it swaps.
constexpr uint32_t kMemPoll = 1u << 31;      ///< POLL_REGMEM: memory, not a register.
constexpr uint32_t kHdpFlush = 1u << 26;     ///< POLL_REGMEM: the host data path is flushed.
constexpr uint32_t kMaxFixedDwords = 13;     ///< Largest fixed length of a packet.

}  // namespace rigel::vgpu::sdma
