// When a thread whose waits take milliseconds should be awake again.
//
// A sleeper hears of a device about a tenth of a millisecond late: the driver wakes the thread that listens
// to its events, and that thread wakes the sleeper. That is a good part of a wait of a
// few milliseconds. The waits of one thread often take about as long as the last ones did: the next frame, the
// next copy. So a thread that was told to spin sleeps until shortly before its wait should be over, and spins
// from then on, for no more than three eighths of the wait. If the change has not come by then, it sleeps until
// it is woken.
//
// A thread's own. Knows no clock: times are nanoseconds since the wait began.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rigel {

class Foresight {
 public:
  /// In longer waits it does not matter how long waking up takes.
  static constexpr uint64_t kLongestNs = 20'000'000;
  /// Before it, at least, a thread has to be woken.
  static constexpr uint64_t kWakeUpNs = 150'000;

  struct Window {
    uint64_t begin = 0, end = 0;  ///< equal: nothing is foreseen
  };

  Window window() const noexcept {
    if (expected_ == 0) return {};
    const uint64_t early = std::max(expected_ / 4, kWakeUpNs), late = std::max(expected_ / 8, kWakeUpNs);
    return {expected_ > early ? expected_ - early : 0, expected_ + late};
  }

  /// What a wait took that was too long to spin all the time. The shortest counts most: who is awake early
  /// spins a little longer, who is late has gained nothing.
  void took(uint64_t ns) noexcept {
    if (ns > kLongestNs) {
      expected_ = 0;
    } else if (ns < expected_ || expected_ == 0) {
      expected_ = ns;
    } else {
      expected_ += (ns - expected_) / 8;
    }
  }

 private:
  uint64_t expected_ = 0;
};

}  // namespace rigel
