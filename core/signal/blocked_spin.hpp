// How long a thread's blocked waits look before they sleep: as long as that helps.
//
// A sleeper hears of a device about a tenth of a millisecond late (foresight.hpp), as much as a copy of a
// megabyte takes: what is done by then is best looked for. A thread whose waits take longer than that should
// not look in vain each time. So its last waits decide: looking stays twice as long as what it waited for
// took, and becomes half as long with each wait that it did not help.
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

  /// A wait took so long, which includes being woken if it `slept`.
  void took(uint64_t ns, bool slept) noexcept {
    if (slept) ns -= std::min(ns, kWakeUpNs);
    ns_ = ns <= kLongestNs ? std::clamp(std::max(2 * ns, ns_ - ns_ / 8), kUsualNs, kLongestNs)
                           : std::max(ns_ / 2, kShortestNs);
  }

 private:
  uint64_t ns_ = kLongestNs;
};

}  // namespace rigel
