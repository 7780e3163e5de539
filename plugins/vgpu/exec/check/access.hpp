// An access of a wave, as the checks see it, and the functions that checked memory operations (simd.hpp) call
// before they access memory.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

struct Wave;

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
  bool compares = false;   ///< An atomic operation that swaps if memory has an expected value
  /// By lane: the address, or the offset in LDS or private memory.
  uint64_t at[64];
  /// By lane: the first dword that it writes; null if it is not known.
  const uint32_t* data = nullptr;
};

/// The registers between which an instruction and memory move data.
struct MovedData {
  const isa::MemoryShape* shape = nullptr;
  uint32_t data = 0;     ///< Offset of the first row that is stored
  uint32_t result = 0;   ///< Offset of the first row that is loaded
  bool returns = false;  ///< Atomics: the old value is loaded.
};

/// The functions of GroupChecker and InitChecker for the wave's work-group. They do nothing if it has none.
namespace checks {
void access_memory(const Wave& wave, const LaneAccesses& accesses);
void access_lds(const Wave& wave, const LaneAccesses& accesses, uint32_t limit);
void access_private(const Wave& wave, const LaneAccesses& accesses);
void move_memory(const Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
                 uint64_t stride);
void move_lds(const Wave& wave, const MovedData& moved, const uint32_t* at, uint64_t lanes);
void move_scalars(const Wave& wave, bool stores, uint64_t va, uint32_t dwords, uint32_t scalar);
void define(const Wave& wave, uint64_t va, uint32_t bytes);
/// Whether accesses within the bounds of the wave's memory must be reported.
bool observes_accesses(const Wave& wave);
}  // namespace checks

// Properties of an instruction for GroupChecker::at(), as bits.
constexpr uint32_t kSiteIsBarrier = 1;
/// The instruction may acquire from another wave: an atomic operation on memory, or a load that bypasses the
/// vector cache. Atomic operations on LDS have clocks.
constexpr uint32_t kSiteAcquires = 2;
/// The instruction invalidates a cache. It completes the acquire of an earlier load.
constexpr uint32_t kSiteInvalidates = 4;

}  // namespace rigel::vgpu::exec
