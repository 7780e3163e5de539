// Detection of data races by happens-before, with vector clocks (FastTrack: Flanagan and Freund, PLDI 2009).
//
// Each wave of a work-group has a clock for each wave: the latest time of that wave which happens before its
// present. A barrier joins the clocks of all waves. An atomic operation joins the wave's clocks with those of
// the location. It counts as an acquire and a release, because the instruction does not tell. Work-groups are
// unordered unless one acquires what another has released: their accesses race, unless the later one's
// work-group has executed an instruction that may acquire (access.hpp). Races after it are not found.
//
// Instructions do not tell atomic loads and stores from others, except loads that bypass the vector cache.
// An atomic operation and a read of the same memory are therefore no race, or in LDS a possible one.
//
// A *record* describes an access in 64 bits. A *cell* has the last records of a dword, a *line* those of 64
// bytes. A line has one cell as long as waves access it as a whole.
//
// Threads: one at a time; those of the launch lock a page (launch_races.hpp).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "plugins/vgpu/exec/check/access.hpp"

namespace rigel::vgpu::exec {

/// Clocks of the waves of one work-group.
class WaveClocks {
 public:
  static constexpr uint32_t kMost = 32;
  using Clock = std::array<uint32_t, kMost>;

  /// A work-group of `waves` waves starts.
  void start(uint32_t waves);
  uint32_t own(uint32_t wave) const { return clocks_[wave][wave]; }
  const Clock& of(uint32_t wave) const { return clocks_[wave]; }
  /// A barrier of `waves` waves (bits).
  void join(uint32_t waves);
  /// The wave may have acquired from any wave.
  void acquire_all(uint32_t wave);
  /// Atomic operations of one instruction: acquire() from each location, release() to each, then advance().
  void acquire(uint32_t wave, const Clock& location);
  void release(uint32_t wave, Clock& location) const { location = clocks_[wave]; }
  void advance(uint32_t wave) { clocks_[wave][wave] += 1; }

 private:
  uint32_t waves_ = kMost;
  std::array<Clock, kMost> clocks_{};
};

/// A record. 0: no access.
namespace race {
constexpr unsigned kGroupAt = 0, kWaveAt = 20, kAtomicAt = 25, kClockAt = 26, kSiteAt = 40, kLaneAt = 52,
                   kStepAt = 58, kBytesAt = 60;
constexpr uint64_t kGroup = 0xfffff, kWave = 31, kClock = 0x3fff, kSite = 0xfff, kLane = 63, kStep = 3,
                   kBytes = 15;
/// Accesses with the same value of these bits have the same order with all others.
constexpr uint64_t kEpoch = kGroup | kWave << kWaveAt | uint64_t{1} << kAtomicAt | kClock << kClockAt;
constexpr uint32_t kMostGroups = kGroup + 1;
constexpr uint32_t kMostSites = kSite;

constexpr uint32_t group_of(uint64_t record) {
  return static_cast<uint32_t>(record & kGroup);
}
constexpr uint32_t wave_of(uint64_t record) {
  return static_cast<uint32_t>(record >> kWaveAt & kWave);
}
constexpr bool is_atomic(uint64_t record) {
  return (record >> kAtomicAt & 1) != 0;
}
constexpr uint32_t clock_of(uint64_t record) {
  return static_cast<uint32_t>(record >> kClockAt & kClock);
}
constexpr uint32_t site_of(uint64_t record) {
  return static_cast<uint32_t>(record >> kSiteAt & kSite);
}
constexpr uint32_t lane_of(uint64_t record) {
  return static_cast<uint32_t>(record >> kLaneAt & kLane);
}
constexpr uint8_t bytes_of(uint64_t record) {
  return static_cast<uint8_t>(record >> kBytesAt & kBytes);
}
/// The record for dword `dword` of a line, from that of the line. Lanes are adjacent.
constexpr uint64_t of_dword(uint64_t record, uint32_t dword) {
  const uint64_t step = record >> kStepAt & kStep;
  if (record == 0 || step == 0) return record;
  return (record & ~(kLane << kLaneAt)) | ((lane_of(record) + (dword >> (step - 1))) & kLane) << kLaneAt;
}
constexpr uint64_t with_lane(uint64_t record, uint32_t lane) {
  return (record & ~(kLane << kLaneAt)) | (lane & kLane) << kLaneAt;
}
constexpr uint64_t with_bytes(uint64_t record, uint8_t bytes) {
  return (record & ~(kBytes << kBytesAt)) | uint64_t{bytes} << kBytesAt;
}
/// `dwords`: of each lane; 1, 2 or 4 if several lanes access a line, otherwise 0.
constexpr uint64_t with_step(uint64_t record, uint32_t dwords) {
  return record | uint64_t{std::bit_width(dwords)} << kStepAt;
}
}  // namespace race

/// An access that is checked, with the state of its wave.
struct RaceAccess {
  AccessKind kind = AccessKind::kRead;
  bool is_lds = false;
  /// The work-group may have acquired what other work-groups have released.
  bool may_be_ordered = false;
  uint64_t record = 0;  ///< Without lane and bytes
  const WaveClocks::Clock* clock = nullptr;

  /// `clock`: WaveClocks::own(). Clocks that do not fit count as ordered.
  static uint64_t record_of(uint32_t group, uint32_t wave, uint32_t clock, uint32_t site, bool is_atomic) {
    return (group & race::kGroup) | uint64_t{wave} << race::kWaveAt | uint64_t{is_atomic} << race::kAtomicAt |
           (clock < race::kClock ? clock : race::kClock) << race::kClockAt | uint64_t{site} << race::kSiteAt;
  }
  bool is_write() const { return kind != AccessKind::kRead; }
  bool is_atomic() const { return race::is_atomic(record); }
  /// Whether `earlier` does not happen before this access.
  bool is_unordered(uint64_t earlier) const {
    if (((earlier ^ record) & race::kGroup) != 0) return !is_lds && !may_be_ordered;
    return ((earlier ^ record) & race::kWave << race::kWaveAt) != 0 &&
           race::clock_of(earlier) > (*clock)[race::wave_of(earlier)];
  }
};

/// The earlier access of a race; record 0: no race.
struct EarlierAccess {
  uint64_t record = 0;
  bool is_write = false;
};

/// State of a dword, or of a line.
struct RaceCell {
  uint64_t write = 0;
  uint64_t reads[2] = {};  ///< Of two waves

  /// Notes an access with the record `record`. Returns an earlier access that races with it.
  EarlierAccess note(const RaceAccess& access, uint64_t record);
};

class RaceLine {
 public:
  static constexpr uint32_t kDwords = 16;

  /// Notes an access to the whole line. Calls found(dword, earlier access) for races.
  template <class Found>
  void note_all(const RaceAccess& access, uint64_t record, Found found) {
    if (cells_ == nullptr) {
      if (const EarlierAccess earlier = whole_.note(access, record); earlier.record != 0) found(0, earlier);
      return;
    }
    for (uint32_t i = 0; i < kDwords; ++i) {
      const EarlierAccess earlier = cells_[i].note(access, race::of_dword(record, i));
      if (earlier.record != 0) found(i, earlier);
    }
  }
  void clear() {
    whole_ = {};
    cells_.reset();
  }
  /// Returns the cell of a dword. Null: the host has no memory.
  RaceCell* cell(uint32_t dword) { return cells_ == nullptr && !divide() ? nullptr : &cells_[dword]; }
  /// Notes an access to a dword, or to bytes of it.
  EarlierAccess note(const RaceAccess& access, uint32_t dword, uint64_t record) {
    RaceCell* const own = cell(dword);
    return own == nullptr ? EarlierAccess{} : own->note(access, record);
  }

 private:
  /// False: the host has no memory.
  bool divide();

  RaceCell whole_;                     // if there are no cells_
  std::unique_ptr<RaceCell[]> cells_;  // of dwords; null: they are all alike
};

}  // namespace rigel::vgpu::exec
