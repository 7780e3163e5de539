// What chips do wrong, or not at all, that their generation otherwise does: named bits.
//
// A quirk belongs to a device, never to the process. select() derives the bits from a node's facts;
// caps.quirks shows them to tools; code that works around one tests its bit and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backends/common/node_facts.hpp"

namespace rigel::gfx {

using Quirks = uint64_t;

/// The processor compares ring indices without a wrap bit, so a full ring looks empty to it. The ring is
/// mapped twice in a row and announced with twice its size: its indices then wrap at twice the ring.
constexpr Quirks kQuirkRingDoubled = 1u << 0;
/// The driver does the doubling in GPU memory management (AQL_QUEUE_MEM), and wants the ring's pages for
/// that.
constexpr Quirks kQuirkRingDoubledByDriver = 1u << 1;
/// Copy-engine queues of user mode are unstable. They are used only on request.
constexpr Quirks kQuirkSdmaUnstable = 1u << 2;
/// There are no copy-engine queues for user mode.
constexpr Quirks kQuirkNoSdma = 1u << 3;
/// POLL_REGMEM can be satisfied by a value that memory does not have yet; a second one is not.
constexpr Quirks kQuirkSdmaPollTwice = 1u << 4;
/// A submission must have at least 64 dwords: it is filled up with a NOP.
constexpr Quirks kQuirkSdmaSmallSubmission = 1u << 5;
/// Copy engines must not flush the host data path.
constexpr Quirks kQuirkNoSdmaHdpFlush = 1u << 6;
/// Copies from the host belong on engine 0.
constexpr Quirks kQuirkHostCopyOnEngine0 = 1u << 7;
/// The microcode drops cached instructions by itself, and an ACQUIRE_MEM that asks for it is ignored.
constexpr Quirks kQuirkCodeCacheByFirmware = 1u << 8;
/// Scratch that is given back after one use may be written late: the dispatch must release to the system.
constexpr Quirks kQuirkScratchOnceNeedsRelease = 1u << 9;
/// Waves cannot be saved and restored: queues that are taken off the device must drain, and the driver has no
/// trap handler that would call ours.
constexpr Quirks kQuirkNoWaveSave = 1u << 10;
/// The end-of-pipe buffer is 32 KiB.
constexpr Quirks kQuirkLargeEndOfPipe = 1u << 11;
/// Work-groups of a cooperative queue do not all fit when every compute unit is counted.
constexpr Quirks kQuirkCooperativeCuCount = 1u << 12;

/// One cause: bits for chips from `first` to `last`, where the microcode is older than `fixed_in`.
struct QuirkRule {
  enum class Firmware : uint8_t { kNone, kMec, kSdma };

  Quirks bit;
  GfxVersion first;
  GfxVersion last;
  Firmware firmware = Firmware::kNone;
  uint32_t fixed_in = 0;  ///< the first microcode version without it; 0: none
  std::string_view symptom;
};

/// The bits of `rules` that hold for a device of these facts.
Quirks find_quirks(std::span<const QuirkRule> rules, const NodeFacts& facts);

}  // namespace rigel::gfx
