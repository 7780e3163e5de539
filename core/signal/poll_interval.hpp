// Intervals between two polls of a signal that may change without a notification in this process.
//
// The first interval is short, because much work is nearly complete when a wait starts. Each further one is
// twice as long, up to a millisecond, so that a long wait costs little.
//
// *Threads:* belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rigel {

class PollInterval {
 public:
  static constexpr uint64_t kShortestNs = 50'000;
  static constexpr uint64_t kLongestNs = 1'000'000;

  /// Returns the length of the interval that starts now.
  uint64_t next() noexcept { return std::exchange(ns_, std::min(2 * ns_, kLongestNs)); }

 private:
  uint64_t ns_ = kShortestNs;
};

}  // namespace rigel
