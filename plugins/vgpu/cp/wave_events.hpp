// What the waves of a dispatch have done, as performance counters count it.
//
// *Threads:* any; values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rigel::vgpu {

enum class WaveEvent : uint8_t {
  kWaves,
  kWaves32,  ///< Waves of 32 lanes
  kWaves64,
  kWorkGroups,
  kItems,
  kInstructions,
  kInstructions32,  ///< Of waves of 32 lanes
  kInstructions64,
  kVector,        ///< VALU, matrix instructions included
  kMatrix,        ///< MFMA
  kVectorMemory,  ///< kVectorRead and kVectorWrite
  kVectorRead,    ///< Vector memory: loads, atomics that return a value, images
  kVectorWrite,   ///< Vector memory: stores, other atomics
  kScalar,        ///< SALU
  kScalarMemory,
  kFlat,  ///< FLAT, GLOBAL and SCRATCH encodings
  kLds,
  kGds,
  kExport,
  kExportOrGds,
  kBranch,
  kMessage,
  kVectorLanes,   ///< Active lanes of vector instructions
  kLdsCycles,     ///< Of LDS, by the model of exec/profile/memory_counter.hpp; conflicts included
  kLdsConflicts,  ///< Cycles beyond those of accesses without conflicts
  // Wavefronts at the texture addressers (TA). From gfx10 on, waves of 64 lanes count twice: the addressers
  // process packets of 32 lanes.
  kAddressed,  ///< Buffers, FLAT, GLOBAL and SCRATCH encodings, images
  kBuffer,
  kBufferRead,
  kBufferWrite,
  kBufferAtomic,
  kFlatAddressed,  ///< FLAT, GLOBAL and SCRATCH encodings
  kFlatRead,
  kFlatWrite,
  kFlatAtomic,
  kCount
};
constexpr auto kWaveEvents = static_cast<size_t>(WaveEvent::kCount);

/// Returns whether an event is counted only if a dispatch requests it, because its kernel is then
/// interpreted.
constexpr bool needs_lds_counts(WaveEvent event) {
  return event == WaveEvent::kLdsCycles || event == WaveEvent::kLdsConflicts;
}

class WaveEvents {
 public:
  uint64_t& operator[](WaveEvent event) { return counts_[static_cast<size_t>(event)]; }
  uint64_t operator[](WaveEvent event) const { return counts_[static_cast<size_t>(event)]; }
  WaveEvents& operator+=(const WaveEvents& other) {
    for (size_t i = 0; i < kWaveEvents; ++i) counts_[i] += other.counts_[i];
    return *this;
  }

 private:
  std::array<uint64_t, kWaveEvents> counts_{};
};

}  // namespace rigel::vgpu
