// Converts the clock of a device's time stamps to system time, and runs the thread that keeps such clocks
// calibrated.
//
// The map of ticks (tick_map.hpp) and the thread are created for the first requested time, so that programs
// without time stamps pay nothing. Clocks are then compared every second while times are requested, and less
// often otherwise.
//
// *Lifetime:* maps outlive their clocks. A new runtime reuses the map of the same device if its clock has
// continued, so that ticks keep their times. Each clock has a separate map.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/topology/tick_map.hpp"

namespace rigel {

class ClockKeeper;

class DeviceClock {
 public:
  struct Source {
    std::string name;  ///< device's name, the same in every runtime; devices may share it
    std::function<bool(ClockReading&)> read;     ///< reads both clocks; returns false on failure. Any thread
    std::function<uint64_t()> ticks_per_second;  ///< the nominal rate of the clock; 0: unknown
  };
  /// Reads the clocks for the first time. `keeper`, if any, ends before this object.
  DeviceClock(Source source, ClockKeeper* keeper);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Returns the system time of a tick, as TickMap; 0 if the clocks cannot be read. Any thread.
  uint64_t to_ns(uint64_t tick) {
    TickMap* map = map_.load(std::memory_order_acquire);
    if (map == nullptr) [[unlikely]]
      map = begin();
    return map == nullptr ? 0 : map->to_ns(tick);
  }

  /// Compares the clocks if times have been requested. Any thread.
  void calibrate();
  /// Whether newer times have been requested since the last call. Called by the keeper.
  bool was_asked();

  /// In a forked child: the parent may have been calibrating the maps.
  static void reset_after_fork() noexcept;

 private:
  static constexpr size_t kLooks = 8;
  std::vector<ClockReading> look() const;
  TickMap* begin();

  const Source source_;
  ClockKeeper* const keeper_;
  ClockReading first_;
  bool readable_ = false;
  Mutex mutex_;  // serialises the first calibration
  std::atomic<TickMap*> map_{nullptr};
  uint64_t promised_ = 0;
};

/// The calibration thread. Watched clocks outlive it.
class ClockKeeper {
 public:
  ClockKeeper() = default;
  ~ClockKeeper() { stop(); }
  ClockKeeper(const ClockKeeper&) = delete;
  ClockKeeper& operator=(const ClockKeeper&) = delete;

  /// Any thread. Without a thread, only DeviceClock::calibrate compares clocks.
  void watch(DeviceClock& clock);
  /// Ends the thread permanently.
  void stop();

 private:
  void work();

  Mutex mutex_;
  std::vector<DeviceClock*> clocks_ RIGEL_GUARDED_BY(mutex_);
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> changes_{0};  // futex word of the thread
};

}  // namespace rigel
