// How long a thread's blocked waits look before they sleep: as long as that helps.
//
// A sleeper hears of a device about a tenth of a millisecond late (foresight.hpp), as much as a copy of a
// megabyte takes: what is done by then is best looked for. A thread whose waits take longer than that should
// not look in vain each time. So its last waits decide: looking stays twice as long as what it found took,
// and becomes half as long with each wait that it did not help. What a sleeper would have found is known only
// roughly; a thread that has looked for as long as there is in vain does not believe it for a while.
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
