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
  /// By lane: the address, or the offset in LDS or private memory.
  uint64_t at[64];
  /// By lane: the first dword that it writes; null if it is not known.
  const uint32_t* data = nullptr;
};

// Properties of an instruction for GroupChecker::at(), as bits.
constexpr uint32_t kSiteIsBarrier = 1;
/// The instruction may order the wave's accesses after those of another work-group: an atomic operation, a
/// load that bypasses the vector cache, or an invalidation of it.
constexpr uint32_t kSiteSynchronizes = 2;

}  // namespace rigel::vgpu::exec
