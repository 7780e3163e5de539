// Detection of data races by happens-before, with vector clocks (FastTrack: Flanagan and Freund, PLDI 2009).
//
// Each wave of a work-group has a clock for each wave: the latest time of that wave which happens before its
// present. A barrier joins the clocks of all waves. An atomic operation joins the wave's clocks with those of
// the location. It counts as an acquire and a release, because the instruction does not tell. A read and an
// atomic operation do not race: the instruction does not tell whether the read is atomic.
//
// Threads: the worker of the work-group.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plugins/vgpu/exec/check/access.hpp"

namespace rigel::vgpu::exec {

struct MicroOp;

/// The last access of one wave to a dword.
struct CellAccess {
  const MicroOp* op = nullptr;  ///< Null: no access
  uint32_t clock = 0;           ///< The wave's own clock
  uint8_t wave = 0;
  uint8_t lane = 0;
  uint8_t bytes = 0;  ///< Bit i: byte i of the dword
  bool is_atomic = false;
};

/// State of a dword.
struct RaceCell {
  CellAccess write;
  CellAccess reads[2];  ///< Of two waves
};

/// Clocks of the waves of one work-group.
class WaveClocks {
 public:
  static constexpr uint32_t kMost = 32;
  using Clock = std::array<uint32_t, kMost>;

  /// All earlier accesses happen before those of the next work-group.
  void start() {
    ++now_;
    for (uint32_t wave = 0; wave < kMost; ++wave) {
      clocks_[wave].fill(now_ - 1);
      clocks_[wave][wave] = now_;
    }
  }
  uint32_t own(uint32_t wave) const { return clocks_[wave][wave]; }
  /// Whether `access` happens before the present of `wave`.
  bool is_ordered(const CellAccess& access, uint32_t wave) const {
    return access.op == nullptr || access.wave == wave || access.clock <= clocks_[wave][access.wave];
  }
  /// A barrier of `waves` waves (bits).
  void join(uint32_t waves);
  /// The wave may have acquired from any wave.
  void acquire_all(uint32_t wave);
  /// An atomic operation on a location with the clock `location`.
  void synchronize(uint32_t wave, Clock& location);

 private:
  void advance(uint32_t wave) {
    clocks_[wave][wave] += 1;
    if (clocks_[wave][wave] > now_) now_ = clocks_[wave][wave];
  }

  uint32_t now_ = 0;  // the greatest clock
  std::array<Clock, kMost> clocks_{};
};

/// A race: the access that comes second, by the lane, and the earlier one.
struct Race {
  CellAccess earlier;
  bool earlier_writes = false;
  uint8_t lane = 0;
  uint64_t at = 0;  ///< Address or offset of the dword
};

/// Checks and notes the access of one lane to a part of a dword. Returns whether it races with an earlier
/// access.
bool note_access(RaceCell& cell, const WaveClocks& clocks, AccessKind kind, const CellAccess& access,
                 Race& race);

}  // namespace rigel::vgpu::exec
