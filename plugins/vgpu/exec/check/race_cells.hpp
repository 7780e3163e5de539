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
// bytes. A line has one cell, with a mask of dwords for each record, as long as that represents all accesses.
//
// A line that only reads of two work-groups have accessed is *settled*: each later write races with one of
// them, so that further reads need no record.
//
// Threads: one at a time; those of the launch lock a page (launch_races.hpp).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

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
/// In a cell, the lane of an access is unknown if the step has this value.
constexpr uint64_t kUnknownLane = 3;
constexpr bool has_lane(uint64_t record) {
  return (record >> kStepAt & kStep) != kUnknownLane;
}
/// The record for dword `dword` of a line, from that of the line: lanes are adjacent, from the lane of dword
/// 0 on. Without bytes, the lanes are unknown.
constexpr uint64_t of_dword(uint64_t record, uint32_t dword) {
  if (record == 0) return 0;
  const uint64_t step = record >> kStepAt & kStep;
  const uint64_t rest = record & ~(kStep << kStepAt);
  if (bytes_of(record) == 0) return rest | kUnknownLane << kStepAt | kBytes << kBytesAt;
  if (step == 0) return record;
  return (rest & ~(kLane << kLaneAt)) | ((lane_of(record) + (dword >> (step - 1))) & kLane) << kLaneAt;
}
constexpr uint64_t with_lane(uint64_t record, uint32_t lane) {
  return (record & ~(kLane << kLaneAt)) | (lane & kLane) << kLaneAt;
}
constexpr uint64_t with_bytes(uint64_t record, uint8_t bytes) {
  return (record & ~(kBytes << kBytesAt)) | uint64_t{bytes} << kBytesAt;
}
/// The record of a line whose lanes are unknown.
constexpr uint64_t without_lanes(uint64_t record) {
  return record & ~(kBytes << kBytesAt | kStep << kStepAt | kLane << kLaneAt);
}
/// `dwords`: of each lane; 1, 2 or 4 if several lanes access a line, otherwise 0.
constexpr uint64_t with_step(uint64_t record, uint32_t dwords) {
  return record | uint64_t{std::bit_width(dwords)} << kStepAt;
}
}  // namespace race

/// Work-groups of launches that had completed before another launch started.
struct EarlierGroups {
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  std::vector<Range> ranges;

  bool contain(uint32_t group) const {
    for (const Range& range : ranges) {
      if (group - range.begin < range.end - range.begin) return true;
    }
    return false;
  }
};

/// An access that is checked, with the state of its wave.
struct RaceAccess {
  AccessKind kind = AccessKind::kRead;
  bool is_lds = false;
  /// The work-group may have acquired what other work-groups have released.
  bool may_be_ordered = false;
  uint64_t record = 0;  ///< Without lane and bytes
  const WaveClocks::Clock* clock = nullptr;
  const EarlierGroups* earlier_groups = nullptr;  ///< Null: none

  /// `clock`: WaveClocks::own(). Clocks that do not fit count as ordered.
  static uint64_t record_of(uint32_t group, uint32_t wave, uint32_t clock, uint32_t site, bool is_atomic) {
    return (group & race::kGroup) | uint64_t{wave} << race::kWaveAt | uint64_t{is_atomic} << race::kAtomicAt |
           (clock < race::kClock ? clock : race::kClock) << race::kClockAt | uint64_t{site} << race::kSiteAt;
  }
  bool is_write() const { return kind != AccessKind::kRead; }
  bool is_atomic() const { return race::is_atomic(record); }
  /// Whether `earlier` does not happen before this access.
  bool is_unordered(uint64_t earlier) const {
    if (((earlier ^ record) & race::kGroup) != 0) {
      return !is_lds && !may_be_ordered &&
             (earlier_groups == nullptr || !earlier_groups->contain(race::group_of(earlier)));
    }
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
  /// Whether only reads of two work-groups have accessed all of it.
  bool is_settled() const {
    return write == 0 && ((reads[0] ^ reads[1]) & race::kGroup) != 0 && reads[0] != 0 && reads[1] != 0 &&
           !race::is_atomic(reads[0]) && !race::is_atomic(reads[1]);
  }
};

[[gnu::always_inline]] inline EarlierAccess RaceCell::note(const RaceAccess& access, uint64_t record) {
  const bool is_atomic = access.is_atomic(), is_write = access.is_write();
  const auto conflicts = [&](uint64_t earlier) {
    return earlier != 0 && access.is_unordered(earlier) &&
           (race::bytes_of(earlier) & race::bytes_of(record)) != 0;
  };
  EarlierAccess found;
  // An atomic operation races with plain writes, and in LDS with reads. An atomic read races with nothing.
  const bool is_atomic_read = is_atomic && !is_write;
  const bool may_race_with_atomic = is_write ? !is_atomic : access.is_lds;
  if (!is_atomic_read && conflicts(write) && (!race::is_atomic(write) || may_race_with_atomic))
    found = {write, true};
  const auto merge = [&](uint64_t& last) {
    const bool is_same = last != 0 && ((last ^ record) & race::kEpoch) == 0;
    last = is_same ? record | (last & race::kBytes << race::kBytesAt) : record;
  };
  if (!is_write) {
    const auto is_own = [&](uint64_t read) {
      return read != 0 && ((read ^ record) & (race::kGroup | race::kWave << race::kWaveAt)) == 0;
    };
    const bool is_second =
        is_own(reads[1]) || (reads[0] != 0 && !is_own(reads[0]) && access.is_unordered(reads[0]));
    merge(reads[is_second ? 1 : 0]);
    return found;
  }
  for (const uint64_t read : reads) {
    if (found.record != 0 || race::is_atomic(read) || (is_atomic && !access.is_lds) || !conflicts(read))
      continue;
    found = {read, false};
  }
  merge(write);
  return found;
}

class RaceLine {
 public:
  static constexpr uint32_t kDwords = 16;
  using Mask = uint16_t;  ///< Dwords, as bits
  static constexpr Mask kAll = 0xffff;

  /// Notes an access to whole dwords. `record`: of the line (race::of_dword()). Calls found(dword, earlier
  /// access) for races.
  template <class Found>
  void note(const RaceAccess& access, Mask mask, uint64_t record, Found found) {
    if (!is_divided() && (note_whole(access, mask, record) || !divide())) return;
    for (uint32_t remaining = mask; remaining != 0; remaining &= remaining - 1) {
      const auto dword = static_cast<uint32_t>(std::countr_zero(remaining));
      const EarlierAccess earlier = cells_[dword].note(access, race::of_dword(record, dword));
      if (earlier.record != 0) found(dword, earlier);
    }
    if (!access.is_lds) update_settled(access, mask);
  }
  /// Notes an access to bytes of a dword.
  EarlierAccess note_bytes(const RaceAccess& access, uint32_t dword, uint64_t record) {
    RaceCell* const own = cell(dword);
    if (own == nullptr) return {};
    const EarlierAccess earlier = own->note(access, record);
    if (!access.is_lds) update_settled(access, static_cast<Mask>(1u << dword));
    return earlier;
  }
  /// Whether two work-groups have read all of it, and none has written.
  bool is_settled() const {
    if (is_divided()) return settled_ == kAll;
    return masks_[1] == kAll && masks_[2] == kAll && whole_.is_settled();
  }
  void clear() {
    whole_ = {};
    masks_[0] = masks_[1] = masks_[2] = 0;
    settled_ = 0;
  }
  bool has_cells() const { return cells_ != nullptr; }
  /// Releases memory that clear() keeps.
  void release() {
    clear();
    cells_.reset();
  }
  /// Returns the cell of a dword. Null: the host has no memory.
  RaceCell* cell(uint32_t dword) { return !is_divided() && !divide() ? nullptr : &cells_[dword]; }

 private:
  static constexpr uint64_t kDivided = ~uint64_t{0};
  bool is_divided() const { return whole_.write == kDivided; }
  /// Notes an access in the undivided line. Returns false, without effect, if it races or needs cells.
  bool note_whole(const RaceAccess& access, Mask mask, uint64_t record);
  bool add(uint64_t& last, Mask& dwords, Mask mask, uint64_t record);
  void update_settled(const RaceAccess& access, Mask mask);
  /// False: the host has no memory.
  bool divide();

  // If it is not divided: the records and their dwords, in the order of the members of RaceCell.
  RaceCell whole_;
  Mask masks_[3] = {};
  Mask settled_ = 0;                   // if it is divided: dwords whose cells are settled
  std::unique_ptr<RaceCell[]> cells_;  // of dwords; kept for the next launch
};

// Adds dwords to a record of the same wave. Returns false if one record cannot describe both accesses.
[[gnu::always_inline]] inline bool RaceLine::add(uint64_t& last, Mask& dwords, Mask mask, uint64_t record) {
  if ((dwords & ~mask) == 0) {
    last = record;
    dwords = mask;
    return true;
  }
  const uint64_t differences = last ^ record;
  if ((differences & race::kEpoch) != 0) return false;
  if ((mask & ~dwords) == 0) return true;  // Both have the same order with all other accesses.
  if ((differences & race::kSite << race::kSiteAt) != 0) return false;
  if (differences != 0) last = race::without_lanes(record);
  dwords |= mask;
  return true;
}

[[gnu::always_inline]] inline bool RaceLine::note_whole(const RaceAccess& access, Mask mask,
                                                        uint64_t record) {
  const bool is_atomic = access.is_atomic(), is_write = access.is_write();
  const auto conflicts = [&](uint64_t earlier, Mask dwords) {
    return (dwords & mask) != 0 && access.is_unordered(earlier);
  };
  const auto is_own = [&](uint64_t earlier) {
    return ((earlier ^ record) & (race::kGroup | race::kWave << race::kWaveAt)) == 0;
  };
  const bool is_atomic_read = is_atomic && !is_write;
  const bool may_race_with_atomic = is_write ? !is_atomic : access.is_lds;
  if (masks_[0] != 0 && !is_atomic_read && (!race::is_atomic(whole_.write) || may_race_with_atomic) &&
      conflicts(whole_.write, masks_[0]))
    return false;
  if (is_write) {
    for (uint32_t r = 0; r < 2; ++r) {
      const uint64_t read = whole_.reads[r];
      if (!race::is_atomic(read) && (!is_atomic || access.is_lds) && conflicts(read, masks_[1 + r]))
        return false;
    }
    if (masks_[0] == 0 || is_own(whole_.write)) return add(whole_.write, masks_[0], mask, record);
    if ((masks_[0] & ~mask) != 0) return false;
    whole_.write = record;
    masks_[0] = mask;
    return true;
  }
  uint32_t r = 0;
  if (masks_[2] != 0 && is_own(whole_.reads[1])) {
    r = 1;
  } else if (masks_[1] != 0 && !is_own(whole_.reads[0])) {
    r = access.is_unordered(whole_.reads[0]) || (masks_[1] & ~mask) != 0 ? 1 : 0;
  }
  if (masks_[1 + r] == 0 || is_own(whole_.reads[r])) return add(whole_.reads[r], masks_[1 + r], mask, record);
  if ((masks_[1 + r] & ~mask) != 0) return false;
  whole_.reads[r] = record;
  masks_[1 + r] = mask;
  return true;
}

}  // namespace rigel::vgpu::exec
