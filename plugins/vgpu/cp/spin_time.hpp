// How long a worker looks for more to do before it sleeps: long enough for a program that sends one thing after the
// other and waits in between.
//
// A worker that is needed right after it has gone to sleep may have been in the way before: the thread that was about
// to ring may have been waiting for the host's processor on which the worker spun. Then the worker moves to another
// processor, and if that does not help, it stops spinning for a while. Without the move, a HIP program of 10,000 launches
// (conformance/hip/many_launches) takes 1.5 times as much CPU time on two cores.
//
// Threads: the worker's own. Nothing here asks for the time or calls the system: its user does.
#pragma once

#include <chrono>

namespace rigel::vgpu {

class SpinTime {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kLength = std::chrono::microseconds(100);
  /// Needed so soon after falling asleep: in the way.
  static constexpr Clock::duration kSoon = std::chrono::microseconds(100);
  static constexpr Clock::duration kPatience = std::chrono::milliseconds(10);

  /// How long to look, from the last progress on.
  Clock::duration length(Clock::time_point now) const {
    return now < crowded_until_ ? Clock::duration::zero() : kLength;
  }

  /// Slept, and was woken after `asleep`. True: move to another processor of the host.
  bool woken_after(Clock::duration asleep, Clock::time_point now) {
    if (asleep > kSoon || now < crowded_until_) {
      if (asleep > kSoon) collisions_ = 0;
      return false;
    }
    if (++collisions_ < kCollisions) return true;
    collisions_ = 0;
    crowded_until_ = now + kPatience;
    return false;
  }

 private:
  static constexpr int kCollisions = 4;
  Clock::time_point crowded_until_{};
  int collisions_ = 0;
};

}  // namespace rigel::vgpu
