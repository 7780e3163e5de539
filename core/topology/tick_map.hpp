// Converts ticks of a device's clock to system time: connected line segments through readings of both clocks.
//
// A tick has the same time while the map exists, and a later tick never has an earlier time. Segments are
// only appended and never change; each starts at the end of the previous one. The last one is unbounded, so
// the map records the last tick that it has converted (its *promise*): a new segment starts after it.
//
// A calibration compares the map with a reading. If the map is within the reading, nothing happens. Otherwise
// it appends a segment that bends towards the time of the reading, meets it, and continues at the rate of the
// device's clock. The rate changes only as far as two readings, at least a second apart, require.
//
// *Threads:* any thread may call to_ns, which takes no lock and makes no system call. Any thread may
// calibrate; overlapping calibrations have no effect.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "api/support/mutex.hpp"

namespace rigel {

/// One reading of two clocks: the device counted `ticks` at some moment between two times of the system's
/// clock.
struct ClockReading {
  uint64_t ticks = 0;
  uint64_t earliest_ns = 0;
  uint64_t latest_ns = 0;
};

class TickMap {
 public:
  /// Maximum distance of a tick after the last calibration that fixes its time, in nanoseconds. The device
  /// has not counted later ticks yet; their time is computed for each request and may change.
  static constexpr uint64_t kPromisedNs = 128ull * 1'000'000'000;

  /// `first` is the earliest reading, `now` a series of current readings. `ticks_per_second` is the nominal
  /// rate, 0 if unknown; readings override it.
  TickMap(const ClockReading& first, std::span<const ClockReading> now, uint64_t ticks_per_second) noexcept;
  ~TickMap();
  TickMap(const TickMap&) = delete;
  TickMap& operator=(const TickMap&) = delete;

  /// Returns the time of a tick in nanoseconds of CLOCK_BOOTTIME; 0 for a tick before the start of that
  /// clock.
  uint64_t to_ns(uint64_t tick) noexcept {
    uint64_t state = state_.load(std::memory_order_acquire);
    const uint64_t since = tick - origin_;
    if (since >= promised(state)) [[unlikely]] {
      if (since > kFarthest) return before(origin_ - tick);
      state = promise(state, since);
    }
    const Segment& newest = segment(count(state) - 1);
    return (since >= newest.begin ? newest : segment_of(state, since)).at(since);
  }

  /// Compares the map with a series of current readings, and appends a segment if they differ.
  void calibrate(std::span<const ClockReading> now) noexcept;

  /// Whether the readings can be of the map's clock: not reset, and not another clock.
  bool fits(std::span<const ClockReading> now) noexcept;

  /// Returns the promise: it grows with each request for a newer tick.
  uint64_t promised() const noexcept { return promised(state_.load(std::memory_order_relaxed)); }
  uint32_t segments() const noexcept { return count(state_.load(std::memory_order_relaxed)); }

 private:
  __extension__ using Wide = unsigned __int128;

  // In ticks since origin_ and nanoseconds; rates are nanoseconds per tick, with 32 fractional bits.
  struct Segment {
    uint64_t begin;
    uint64_t begin_ns;
    uint64_t bend_ticks;  // length at the first rate; the second applies afterwards
    uint64_t bend_rate;
    uint64_t rate;

    uint64_t at(uint64_t since) const noexcept {
      const uint64_t ticks = since - begin;
      const uint64_t bent = ticks < bend_ticks ? ticks : bend_ticks;
      const Wide fraction = static_cast<Wide>(bent) * bend_rate + static_cast<Wide>(ticks - bent) * rate;
      return begin_ns + static_cast<uint64_t>(fraction >> kRateBits);
    }
  };
  // Combined result of readings: at tick `since` the time was between these.
  struct Bounds {
    uint64_t since;
    int64_t earliest_ns;
    int64_t latest_ns;
    int64_t middle_ns() const { return earliest_ns + (latest_ns - earliest_ns) / 2; }
  };

  static constexpr int kRateBits = 32;
  // The state is one word: the number of segments, and the promise in steps of several ticks.
  static constexpr int kCountBits = 24;
  static constexpr int kStepBits = 16;
  static constexpr uint64_t kFarthest = (uint64_t{1} << (64 - kCountBits + kStepBits)) - 1;
  static constexpr uint32_t kFirstBlock = 16;  // segments; every block is twice as large as the previous one
  static constexpr uint32_t kBlocks = 18;

  static uint32_t count(uint64_t state) noexcept { return state & ((1u << kCountBits) - 1); }
  static uint64_t promised(uint64_t state) noexcept { return state >> kCountBits << kStepBits; }
  static uint64_t pack(uint64_t promised, uint32_t count) noexcept {
    return promised >> kStepBits << kCountBits | count;
  }
  static uint64_t step_up(uint64_t since) noexcept { return ((since >> kStepBits) + 1) << kStepBits; }
  static uint64_t fixed(double rate) noexcept;

  Segment& segment(uint32_t index) const noexcept;
  const Segment& segment_of(uint64_t state, uint64_t since) const noexcept;
  uint64_t before(uint64_t ticks) const noexcept;
  uint64_t promise(uint64_t state, uint64_t since) noexcept;
  Bounds together(std::span<const ClockReading> looks) const noexcept RIGEL_REQUIRES(calibrating_);
  double rate_between(const Bounds& from, const Bounds& to) const noexcept RIGEL_REQUIRES(calibrating_);
  bool append(const Bounds& now, double target_ns) noexcept RIGEL_REQUIRES(calibrating_);
  bool make_room(uint32_t index) noexcept;

  const uint64_t origin_;  // tick of the first reading
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> last_{0};     // tick of the last calibration
  std::atomic<uint64_t> horizon_{0};  // kPromisedNs in ticks
  std::array<Segment, kFirstBlock> first_block_;
  std::array<std::atomic<Segment*>, kBlocks> blocks_{};

  Mutex calibrating_;
  double rate_ RIGEL_GUARDED_BY(calibrating_);    // nanoseconds per tick
  Bounds base_ RIGEL_GUARDED_BY(calibrating_){};  // the reading from which the rate is measured
};

}  // namespace rigel
