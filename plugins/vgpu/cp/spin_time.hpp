// How long a worker spins for new work before it sleeps: long enough for a program that submits one packet,
// waits, and submits the next.
//
// A worker that is woken right after it fell asleep may have delayed its producer, because the producer
// waited for the CPU on which the worker spun. The worker then moves to another CPU. If that does not help,
// it stops spinning for a while. Without the move, a HIP program of 10,000 launches
// (conformance/hip/many_launches) takes 1.5 times as much CPU time on two cores.
//
// Threads: used by one worker. It does not read the clock or make system calls; the caller does.
#pragma once

#include <chrono>

namespace rigel::vgpu {

class SpinTime {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kSpin = std::chrono::microseconds(100);
  /// A wake-up within this time after falling asleep is a collision.
  static constexpr Clock::duration kCollisionTime = std::chrono::microseconds(100);
  static constexpr Clock::duration kPause = std::chrono::milliseconds(10);

  /// Returns how long to spin after the last progress.
  Clock::duration length(Clock::time_point now) const {
    return now < crowded_until_ ? Clock::duration::zero() : kSpin;
  }

  /// Reports a wake-up `asleep` after falling asleep. Returns true if the worker should move to another CPU.
  bool woken_after(Clock::duration asleep, Clock::time_point now) {
    if (asleep > kCollisionTime || now < crowded_until_) {
      if (asleep > kCollisionTime) collisions_ = 0;
      return false;
    }
    if (++collisions_ < kMaxCollisions) return true;
    collisions_ = 0;
    crowded_until_ = now + kPause;
    return false;
  }

 private:
  static constexpr int kMaxCollisions = 4;
  Clock::time_point crowded_until_{};
  int collisions_ = 0;
};

}  // namespace rigel::vgpu
