// An access of a wave, as the checks see it.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

/// Effect of an access on memory. An atomic operation reads and writes.
enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

constexpr AccessKind access_kind(isa::Verb verb) {
  return verb == isa::Verb::kLoad    ? AccessKind::kRead
         : verb == isa::Verb::kStore ? AccessKind::kWrite
                                     : AccessKind::kAtomic;
}

/// The lanes of one instruction that access memory. Each accesses `bytes` bytes.
struct LaneAccesses {
  AccessKind kind = AccessKind::kRead;
  uint32_t bytes = 0;
  uint64_t lanes = 0;
  bool is_scalar = false;  ///< Of the wave, not of a lane
  /// By lane: the address, or the offset in LDS or private memory.
  uint64_t at[64];
  /// By lane: the first dword that it writes; null if it is not known.
  const uint32_t* data = nullptr;
};

// Properties of an instruction for GroupChecker::at(), as bits.
constexpr uint32_t kSiteIsBarrier = 1;
/// The instruction may acquire from another wave: an atomic operation on memory, or a load that bypasses the
/// vector cache. Atomic operations on LDS have clocks.
constexpr uint32_t kSiteAcquires = 2;
/// The instruction invalidates a cache. It completes the acquire of an earlier load.
constexpr uint32_t kSiteInvalidates = 4;

}  // namespace rigel::vgpu::exec
