// Ticks of a device's clock as system time: one line of straight segments through readings of both clocks.
//
// A tick has one time for as long as the map lives, and a later tick never has an earlier one. Segments are
// only appended, each begins where the one before it ends, and none changes. The last one goes on for ever,
// so the map remembers up to where it has answered (its promise): a later segment begins behind that.
//
// A calibration compares the map with a reading. If the map is within the reading, nothing happens. Otherwise
// a segment is appended: it bends towards the time that was read, meets it, and goes on at the rate of the
// device's clock. Of that rate no more is changed than readings a second apart demand.
//
// to_ns may be called from any thread, at any time: it takes no lock and makes no system call. Calibrations
// come from any thread; one that meets another does nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "api/support/mutex.hpp"

namespace rigel {

/// One look at two clocks: the device counted `ticks` at some moment between two times of the system's clock.
struct ClockReading {
  uint64_t ticks = 0;
  uint64_t earliest_ns = 0;
  uint64_t latest_ns = 0;
};

class TickMap {
 public:
  /// How far behind the last calibration a tick may be to be promised its time, in nanoseconds. The device
  /// has not counted what is further away yet; the time of such a tick is what the map makes of it when
  /// asked.
  static constexpr uint64_t kPromisedNs = 128ull * 1'000'000'000;

  /// `first` is the earliest reading that there is, `now` some that were taken in a row just now.
  /// `ticks_per_second` is what the clock is said to run at, 0 if unknown; the readings have the last word.
  TickMap(const ClockReading& first, std::span<const ClockReading> now, uint64_t ticks_per_second) noexcept;
  ~TickMap();
  TickMap(const TickMap&) = delete;
  TickMap& operator=(const TickMap&) = delete;

  /// The time of a tick in nanoseconds of CLOCK_BOOTTIME; 0 for a tick before that clock began.
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

  /// Compares the map with readings that were taken in a row just now, and bends it if they differ.
  void calibrate(std::span<const ClockReading> now) noexcept;

  /// Whether the readings can be of the clock that the map is of: one that was not reset, nor is another.
  bool fits(std::span<const ClockReading> now) noexcept;

  /// Up to where times have been told: grows whenever the time of a newer tick is asked for.
  uint64_t promised() const noexcept { return promised(state_.load(std::memory_order_relaxed)); }
  /// How many segments there are.
  uint32_t segments() const noexcept { return count(state_.load(std::memory_order_relaxed)); }

 private:
  __extension__ using Wide = unsigned __int128;

  // In ticks since origin_ and nanoseconds; rates are nanoseconds a tick, with 32 bits behind the point.
  struct Segment {
    uint64_t begin;
    uint64_t begin_ns;
    uint64_t bend_ticks;  // so long at the first rate, then at the second
    uint64_t bend_rate;
    uint64_t rate;

    uint64_t at(uint64_t since) const noexcept {
      const uint64_t ticks = since - begin;
      const uint64_t bent = ticks < bend_ticks ? ticks : bend_ticks;
      const Wide fraction = static_cast<Wide>(bent) * bend_rate + static_cast<Wide>(ticks - bent) * rate;
      return begin_ns + static_cast<uint64_t>(fraction >> kRateBits);
    }
  };
  // What readings in a row say together: at tick `since` it was a time between these.
  struct Bounds {
    uint64_t since;
    int64_t earliest_ns;
    int64_t latest_ns;
    int64_t middle_ns() const { return earliest_ns + (latest_ns - earliest_ns) / 2; }
  };

  static constexpr int kRateBits = 32;
  // The state is one word: how many segments, and the promise, in steps of so many ticks.
  static constexpr int kCountBits = 24;
  static constexpr int kStepBits = 16;
  static constexpr uint64_t kFarthest = (uint64_t{1} << (64 - kCountBits + kStepBits)) - 1;
  static constexpr uint32_t kFirstBlock = 16;  // segments; every block has twice as many as the last
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

  const uint64_t origin_;  // the first reading's tick
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> last_{0};     // the last calibration's tick
  std::atomic<uint64_t> horizon_{0};  // kPromisedNs in ticks
  std::array<Segment, kFirstBlock> first_block_;
  std::array<std::atomic<Segment*>, kBlocks> blocks_{};

  Mutex calibrating_;
  double rate_ RIGEL_GUARDED_BY(calibrating_);    // nanoseconds a tick
  Bounds base_ RIGEL_GUARDED_BY(calibrating_){};  // what the rate is measured from
};

}  // namespace rigel
