// Waits for outstanding operations: the counters that an instruction waits for, with their limits.
//
// Source: ISA manuals, S_WAITCNT and similar instructions; S_WAIT_LOADCNT and others of RDNA 4.
//
// *Threads:* any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

/// A counter of outstanding operations.
enum class WaitCounter : uint8_t {
  kVector,       ///< VM_CNT: vector memory; on gfx10 and later without stores. LOAD_CNT on gfx12
  kExport,       ///< EXP_CNT
  kShared,       ///< LGKM_CNT: LDS, GDS, scalar memory, messages. DS_CNT on gfx12: LDS only
  kVectorStore,  ///< VS_CNT of gfx10, STORE_CNT of gfx12
  kScalar,       ///< KM_CNT of gfx12: scalar memory, messages
  kSample,       ///< SAMPLE_CNT of gfx12: images with a sampler
  kBvh,          ///< BVH_CNT of gfx12: intersections of rays
};
constexpr unsigned kCounters = 7;

/// The waits of one instruction.
class Waits {
 public:
  void add(WaitCounter counter, unsigned limit) { limits_[static_cast<size_t>(counter)] = limit; }
  /// Returns the most operations that may be outstanding afterwards; nothing if the instruction does not wait
  /// for the counter.
  std::optional<unsigned> limit(WaitCounter counter) const { return limits_[static_cast<size_t>(counter)]; }
  bool is_empty() const {
    for (const std::optional<unsigned>& limit : limits_) {
      if (limit) return false;
    }
    return true;
  }

 private:
  std::array<std::optional<unsigned>, kCounters> limits_;
};

/// Returns the waits of an instruction; none for other instructions than waits.
Waits waits_of(const Instruction& instruction, const Target& target);

}  // namespace rigel::vgpu::isa
