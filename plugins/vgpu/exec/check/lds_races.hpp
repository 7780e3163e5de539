// The accesses of a work-group to LDS, for the detection of data races (race_cells.hpp).
//
// While only barriers of all waves order the waves, two accesses race if they are of different waves between
// the same barriers. That needs no clocks and is fast: the *plain* form has the last accesses of each dword
// with the number of their interval between barriers. Atomic operations, acquires, accesses to parts of
// dwords, barriers without some waves, and races need records with clocks. The work-group then continues with
// lines.
//
// Threads: the worker of the work-group.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/check/race_cells.hpp"

namespace rigel::vgpu::exec {

class LdsRaces {
 public:
  /// A launch with work-groups of this size starts.
  void start(uint32_t lds_bytes);
  /// A work-group starts. `has_number`: records tell it from the others.
  void start_group(bool has_number);
  /// All waves have reached a barrier.
  void pass_barrier() { next_interval(); }

  bool is_plain() const { return is_plain_; }
  /// Notes an access to whole dwords by the wave's lanes. Returns false, without effect, if it races or needs
  /// lines. Only if is_plain().
  bool note(const LaneAccesses& accesses, uint32_t wave, uint32_t site);
  /// Continues with lines. `record`: returns the record of a wave's access, without lane and bytes.
  template <class Record>
  void use_lines(Record record) {
    if (!is_plain_) return;
    is_plain_ = false;
    for (uint32_t dword = 0; dword < writes_.size(); ++dword) {
      const auto convert = [&](const Last& last) -> uint64_t {
        if (last.when >> kWaveBits != interval_) return 0;
        const uint64_t site_record = record(last.when & kWaveMask, last.site_and_lane >> kLaneBits);
        return race::with_bytes(race::with_lane(site_record, last.site_and_lane & kLaneMask), 0xf);
      };
      const uint64_t write = convert(writes_[dword]), read = convert(reads_[dword]);
      if (write == 0 && read == 0) continue;
      if (RaceCell* const cell = lines_[dword / RaceLine::kDwords].cell(dword % RaceLine::kDwords))
        *cell = {write, {read, convert(other_reads_[dword])}};
    }
  }
  /// Null: it is past the end. Only if not is_plain().
  RaceLine* line(uint64_t number) { return number < lines_.size() ? &lines_[number] : nullptr; }

 private:
  static constexpr uint32_t kWaveBits = 5, kWaveMask = 31, kLaneBits = 6, kLaneMask = 63;
  struct Last {
    uint32_t when = 0;  ///< Interval and wave
    uint32_t site_and_lane = 0;
  };
  // Whether an access is of another wave in the same interval.
  static bool is_unordered(const Last& last, uint32_t when) { return (last.when ^ when) - 1 < kWaveMask; }
  void next_interval();

  bool is_plain_ = true;
  uint32_t interval_ = 1;
  std::vector<Last> writes_, reads_, other_reads_;  // by dword; the last are of another wave than reads_
  std::vector<RaceLine> lines_;
};

}  // namespace rigel::vgpu::exec
