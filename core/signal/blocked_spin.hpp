// How long a thread's blocked waits look before they sleep: as long as that helps.
//
// A sleeping thread hears of a device's change about a tenth of a millisecond late (foresight.hpp), which is what
// a copy of a megabyte takes. For such short waits it is better to spin; for longer ones spinning is in vain. So
// the thread's last waits decide: it spins for twice as long as the last successful spin took, and for half as
// long after each wait in which the spin was in vain. Whether a spin would have been in vain is only estimated
// for waits that slept; after a spin of the greatest length in vain the thread ignores that estimate for a while.
//
// A thread's own. Knows no clock: times are nanoseconds since the wait began.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rigel {

class BlockedSpin {
 public:
  static constexpr uint64_t kLongestNs = 200'000;
  static constexpr uint64_t kUsualNs = 50'000;
  static constexpr uint64_t kShortestNs = 2'000;
  /// What a sleeper loses.
  static constexpr uint64_t kWakeUpNs = 100'000;

  /// How long the next wait looks.
  uint64_t ns() const noexcept { return ns_; }

  /// A wait ended while it looked.
  void found(uint64_t ns) noexcept {
    misses_ = 0;
    learn(ns);
  }
  /// It slept, and was awake again so long after it had begun.
  void woken(uint64_t ns) noexcept {
    const uint64_t sooner = ns - std::min(ns, kWakeUpNs);
    const bool was_longest = ns_ == kLongestNs;
    if (was_longest && ++misses_ > 1) doubts_ = kDoubts;  // once may be chance
    if (sooner > kLongestNs || doubts_ != 0) {
      if (doubts_ != 0) --doubts_;
      in_vain();
    } else if (!was_longest) {
      learn(sooner);
    }
  }
  /// Its time ran out.
  void in_vain() noexcept { ns_ = std::max(ns_ / 2, kShortestNs); }

 private:
  static constexpr uint32_t kDoubts = 32;

  void learn(uint64_t ns) noexcept {
    ns_ = std::clamp(std::max(2 * ns, ns_ - ns_ / 8), kUsualNs, kLongestNs);
  }

  uint64_t ns_ = kLongestNs;
  uint32_t misses_ = 0;  // of looking for as long as there is, since it last found something
  uint32_t doubts_ = 0;  // waits for which it does not believe what would have been
};

}  // namespace rigel
