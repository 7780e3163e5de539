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
  kItems,
  kInstructions,
  kVector,       ///< VALU, matrix instructions included
  kVectorRead,   ///< Vector memory: loads, atomics that return a value, images
  kVectorWrite,  ///< Vector memory: stores, other atomics
  kScalar,       ///< SALU
  kScalarMemory,
  kFlat,  ///< FLAT, GLOBAL and SCRATCH encodings
  kLds,
  kGds,
  kExport,
  kBranch,
  kMessage,
  kVectorLanes,  ///< Active lanes of vector instructions
};
constexpr size_t kWaveEvents = 17;

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
