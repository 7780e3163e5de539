// Deviations of chips from their generation: errors and missing functions, as named bits.
//
// A quirk belongs to a device, never to the process. select() derives the bits from a node's properties.
// Tools read them in caps.quirks. Code that works around a quirk tests only its bit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backends/common/node_facts.hpp"

namespace rigel::gfx {

using Quirks = uint64_t;

/// The processor compares ring indices without a wrap bit, so a full ring appears empty. The ring is mapped
/// twice in a row and announced with twice its size: its indices then wrap at twice the ring.
constexpr Quirks kQuirkRingDoubled = 1u << 0;
/// The driver doubles the ring in GPU memory management (AQL_QUEUE_MEM), and requires the ring's pages for
/// it.
constexpr Quirks kQuirkRingDoubledByDriver = 1u << 1;
/// User-mode queues of copy engines are unstable. They are used on request only.
constexpr Quirks kQuirkSdmaUnstable = 1u << 2;
/// User-mode queues of copy engines are not supported.
constexpr Quirks kQuirkNoSdma = 1u << 3;
/// POLL_REGMEM can be satisfied by a value that memory does not have yet; a second one cannot.
constexpr Quirks kQuirkSdmaPollTwice = 1u << 4;
/// A submission must have at least 64 dwords: a NOP pads it.
constexpr Quirks kQuirkSdmaSmallSubmission = 1u << 5;
/// Copy engines must not flush the host data path.
constexpr Quirks kQuirkNoSdmaHdpFlush = 1u << 6;
/// Copies from the host must use engine 0.
constexpr Quirks kQuirkHostCopyOnEngine0 = 1u << 7;
/// The microcode invalidates cached instructions itself, and ignores requests by ACQUIRE_MEM.
constexpr Quirks kQuirkCodeCacheByFirmware = 1u << 8;
/// Scratch that is released after one use may be written late: the dispatch must release to the system.
constexpr Quirks kQuirkScratchOnceNeedsRelease = 1u << 9;
/// Waves cannot be saved and restored: queues must drain before they are removed from the device, and the
/// driver has no trap handler that would call this backend's.
constexpr Quirks kQuirkNoWaveSave = 1u << 10;
/// The end-of-pipe buffer is 32 KiB.
constexpr Quirks kQuirkLargeEndOfPipe = 1u << 11;
/// Work-groups of a cooperative queue do not all fit if every compute unit is counted.
constexpr Quirks kQuirkCooperativeCuCount = 1u << 12;
/// Images are not supported.
constexpr Quirks kQuirkNoImages = 1u << 13;

/// A rule: bits for chips from `first` to `last` with microcode older than `fixed_in`.
struct QuirkRule {
  enum class Firmware : uint8_t { kNone, kMec, kSdma };

  Quirks bit;
  GfxVersion first;
  GfxVersion last;
  Firmware firmware = Firmware::kNone;
  uint32_t fixed_in = 0;  ///< the first microcode version without it; 0: none
  std::string_view symptom;
};

/// Returns the bits of `rules` for a device with these properties.
Quirks find_quirks(std::span<const QuirkRule> rules, const NodeFacts& facts);

}  // namespace rigel::gfx
