// How long a sleeper lets pass between two looks at a signal that may change without a word to this process.
//
// The first interval is short, because much is nearly done when somebody begins to wait; each further one is twice
// as long, up to a millisecond, so that a wait without end costs next to nothing.
//
// A thread's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rigel {

class PollInterval {
 public:
  static constexpr uint64_t kShortestNs = 50'000;
  static constexpr uint64_t kLongestNs = 1'000'000;

  /// The length of the interval that begins now.
  uint64_t next() noexcept { return std::exchange(ns_, std::min(2 * ns_, kLongestNs)); }

 private:
  uint64_t ns_ = kShortestNs;
};

}  // namespace rigel
