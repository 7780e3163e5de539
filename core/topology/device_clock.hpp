// The clock in which a device stamps packets, as system time, and the thread that keeps such clocks true.
//
// Nothing of it costs a program that never asks for a time: the map of ticks (tick_map.hpp) is made, and the
// thread starts, with the first tick that somebody wants to know the time of. From then on the clocks are
// compared every second while times are asked for, and the less often the longer nobody asks.
//
// Maps outlive their clocks. A runtime that starts again takes the map of the same device if its clock has
// gone on, so that ticks keep their times. Each clock has a map of its own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/topology/tick_map.hpp"

namespace rigel {

class ClockKeeper;

class DeviceClock {
 public:
  struct Source {
    std::string name;  ///< of the device, the same in every life of the runtime; several may share it
    std::function<bool(ClockReading&)> read;     ///< both clocks; false: they cannot be read. Any thread
    std::function<uint64_t()> ticks_per_second;  ///< what the clock is said to run at; 0: unknown
  };
  /// Reads the clocks for the first time. `keeper`, if any, ends before this object.
  DeviceClock(Source source, ClockKeeper* keeper);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// The system's time of a tick, as TickMap says; 0 if the clocks cannot be read. Any thread.
  uint64_t to_ns(uint64_t tick) {
    TickMap* map = map_.load(std::memory_order_acquire);
    if (map == nullptr) [[unlikely]]
      map = begin();
    return map == nullptr ? 0 : map->to_ns(tick);
  }

  /// Compares the clocks now, if times have been asked for. Any thread.
  void calibrate();
  /// Whether newer times have been asked for since the last call. The keeper's.
  bool was_asked();

  /// In a forked child: the parent's maps may be in the midst of a calibration.
  static void reset_after_fork() noexcept;

 private:
  static constexpr size_t kLooks = 8;
  std::vector<ClockReading> look() const;
  TickMap* begin();

  const Source source_;
  ClockKeeper* const keeper_;
  ClockReading first_;
  bool readable_ = false;
  Mutex mutex_;  // one thread begins
  std::atomic<TickMap*> map_{nullptr};
  uint64_t promised_ = 0;
};

/// The thread. Clocks that it watches outlive it.
class ClockKeeper {
 public:
  ClockKeeper() = default;
  ~ClockKeeper() { stop(); }
  ClockKeeper(const ClockKeeper&) = delete;
  ClockKeeper& operator=(const ClockKeeper&) = delete;

  /// Any thread. Without a thread to be had, clocks are compared by DeviceClock::calibrate alone.
  void watch(DeviceClock& clock);
  /// Ends the thread for good.
  void stop();

 private:
  void work();

  Mutex mutex_;
  std::vector<DeviceClock*> clocks_ RIGEL_GUARDED_BY(mutex_);
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> changes_{0};  // the thread sleeps on it
};

}  // namespace rigel
