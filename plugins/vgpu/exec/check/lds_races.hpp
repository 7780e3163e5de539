// The accesses of a work-group to LDS, for the detection of data races (race_cells.hpp).
//
// While only barriers of all waves order the waves, two accesses race if they are of different waves between
// the same barriers. That needs no clocks and is fast: the *plain* form has the last accesses of each dword
// with the number of their interval between barriers. Atomic operations, acquires, accesses to parts of
// dwords, barriers without some waves, and races need records with clocks. The work-group then continues with
// lines.
//
// Work-groups often repeat the accesses of another one. A sequence of accesses since a barrier is known not
// to race if the same one did not before: by a hash of the waves, lanes and offsets. Such accesses are only
// logged. The first access that differs replays the log.
//
// Threads: the worker of the work-group.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  /// lines. Only if is_plain(). Sets `accesses.at` from the pattern if it is needed.
  bool note(LaneAccesses& accesses, uint32_t wave, uint32_t site);
  /// Continues with lines. `record`: returns the record of a wave's access, without lane and bytes.
  template <class Record>
  void use_lines(Record record) {
    if (!is_plain_) return;
    replay();
    is_plain_ = false;
    for (uint32_t dword = 0; dword < writes_.times.size(); ++dword) {
      const auto convert = [&](const LastAccesses& last) -> uint64_t {
        const uint32_t when = last.times[dword], place = last.places[dword];
        if (when >> kWaveBits != interval_) return 0;
        const uint64_t site_record = record(when & kWaveMask, place >> kLaneBits);
        return race::with_bytes(race::with_lane(site_record, place & kLaneMask), 0xf);
      };
      const uint64_t write = convert(writes_), read = convert(reads_);
      if (write == 0 && read == 0) continue;
      if (RaceCell* const cell = lines_[dword / RaceLine::kDwords].cell(dword % RaceLine::kDwords))
        *cell = {write, {read, convert(other_reads_)}};
    }
  }
  /// Null: it is past the end. Only if not is_plain().
  RaceLine* line(uint64_t number) { return number < lines_.size() ? &lines_[number] : nullptr; }

 private:
  static constexpr uint32_t kWaveBits = 5, kWaveMask = 31, kLaneBits = 6, kLaneMask = 63;
  /// The last access to each dword.
  struct LastAccesses {
    std::vector<uint32_t> times;   ///< Interval and wave
    std::vector<uint32_t> places;  ///< Site and lane

    void assign(size_t count);
  };
  // Whether an access is of another wave in the same interval.
  static bool is_unordered(uint32_t earlier, uint32_t when) { return (earlier ^ when) - 1 < kWaveMask; }
  bool note_now(LaneAccesses& accesses, uint32_t wave, uint32_t site);
  void replay();
  bool note_lanes(const LaneAccesses& accesses, uint32_t when, uint32_t dwords, uint32_t site);
  bool note_runs(const LaneAccesses& accesses, uint32_t when, uint32_t dwords, uint32_t site);
  bool races(uint64_t dword, uint32_t count, bool is_write, uint32_t when) const;
  void note_write(uint64_t dword, uint32_t when, uint32_t place);
  void note_read(uint64_t dword, uint32_t when, uint32_t place);
  void next_interval();

  bool is_plain_ = true;
  uint32_t interval_ = 1;
  uint32_t writers_ = 0, readers_ = 0;  // waves (bits) in this interval
  // Of the present access: whether another wave's may race with it, and whether another wave has read.
  bool needs_test_ = false, has_other_readers_ = false;
  LastAccesses writes_, reads_;
  LastAccesses other_reads_;  // of another wave than reads_
  std::vector<RaceLine> lines_;

  struct Logged {
    LaneAccesses accesses;
    uint32_t wave = 0, site = 0;
  };
  static constexpr size_t kMostLogged = 256, kKnownBits = 12;
  std::unique_ptr<Logged[]> log_;
  size_t logged_ = 0;
  uint64_t sequence_ = 0;                                  // hash of the accesses since the last barrier
  std::array<uint64_t, size_t{1} << kKnownBits> known_{};  // sequences without races, by their highest bits
};

}  // namespace rigel::vgpu::exec
