// An access of a wave, as the checks see it, and the functions that checked memory operations (simd.hpp) call
// before they access memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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

/// The lanes' addresses of an instruction with affine ones, from the lowest on: a constant of compiled code.
struct AccessPattern {
  uint32_t offsets[64] = {};
  uint32_t pitches[64] = {};  ///< Multiples of a run-time value to be added
  /// By first lane: run_from() if all lanes are active and the pitch is 0
  uint8_t run_ends[64] = {};
  uint8_t run_steps[64] = {};
  /// Loads: first lanes of runs that access the same dwords as an earlier run
  uint64_t repeated = 0;
  uint64_t hash = 0;   ///< Of the offsets
  uint32_t bytes = 0;  ///< Of each lane
  AccessKind kind = AccessKind::kRead;
  bool is_lds = false;
};

/// An instruction with any addresses: a constant of compiled code.
struct RowAccesses {
  uint32_t bytes = 0;  ///< Of each lane
  AccessKind kind = AccessKind::kRead;
  bool is_lds = false;
};

/// The lanes of one instruction that access memory. Each accesses `bytes` bytes.
struct LaneAccesses {
  AccessKind kind = AccessKind::kRead;
  uint32_t bytes = 0;
  uint64_t lanes = 0;
  bool is_scalar = false;  ///< Of the wave, not of a lane
  bool compares = false;   ///< An atomic operation that swaps if memory has an expected value
  /// By lane: the first dword that it writes; null if it is not known.
  const uint32_t* data = nullptr;
  /// Not null: all lanes are active and access `begin` plus the pattern's offsets. `at` is not set.
  const AccessPattern* pattern = nullptr;
  uint64_t begin = 0;
  /// By lane: the address, or the offset in LDS or private memory.
  uint64_t at[64];

  /// Sets `at` from the pattern.
  void set_addresses() {
    for (uint32_t lane = 0; pattern != nullptr && lane < 64; ++lane)
      at[lane] = begin + pattern->offsets[lane];
  }
  /// Copies what is set.
  void copy_to(LaneAccesses& to) const {
    std::memcpy(static_cast<void*>(&to), this,
                pattern != nullptr ? offsetof(LaneAccesses, at) : sizeof *this);
  }

  uint64_t address(uint32_t lane) const {
    return pattern != nullptr ? begin + pattern->offsets[lane] : at[lane];
  }
};

/// Lanes up to `end` whose accesses are `step` dwords apart. They access the same dwords (0), adjacent dwords
/// (the size of an access), or each a dword more (1).
struct LaneRun {
  uint32_t end = 0;
  uint32_t step = 0;
};

/// Returns a hash of the active lanes' offsets in LDS. Those of different lists are very likely different.
uint64_t hash_of_offsets(const uint32_t* offsets, uint64_t lanes);
uint64_t hash_of_offsets(const uint64_t* offsets, uint64_t lanes);

/// Returns the longest run that starts with the active lane `first`.
LaneRun run_from(const LaneAccesses& accesses, uint32_t first);
/// As run_from(), by the pattern if there is one.
inline LaneRun known_run_from(const LaneAccesses& accesses, uint32_t first) {
  if (accesses.pattern == nullptr) return run_from(accesses, first);
  return {accesses.pattern->run_ends[first], accesses.pattern->run_steps[first]};
}

/// The registers between which an instruction and memory move data.
struct MovedData {
  const isa::MemoryShape* shape = nullptr;
  uint32_t data = 0;     ///< Offset of the first row that is stored
  uint32_t result = 0;   ///< Offset of the first row that is loaded
  bool returns = false;  ///< Atomics: the old value is loaded.
};

/// The functions of GroupChecker and InitChecker for the wave's work-group. They do nothing if it has none.
namespace checks {
void access_memory(const Wave& wave, LaneAccesses& accesses);
void access_lds(const Wave& wave, LaneAccesses& accesses, uint32_t limit);  // may change `accesses`
void access_private(const Wave& wave, const LaneAccesses& accesses);
// Return false if compiled code cannot follow the undefined bits; the handler then leaves without an effect.
bool move_memory(Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
                 uint64_t stride);
bool move_lds(Wave& wave, const MovedData& moved, const uint32_t* at, uint64_t lanes);
bool move_scalars(Wave& wave, bool stores, uint64_t va, uint32_t dwords, uint32_t scalar);
void define(const Wave& wave, uint64_t va, uint32_t bytes);
/// The wave leaves compiled code. The check `init` follows its registers from now on.
void track_undefined(const Wave& wave);
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
