// Which calls of libc are the device's own and not the program's. The preload face stands in front of libc
// for the program, whose calls may wait for locks that a driver's ioctl holds while it waits for the device:
// what the device's own threads call, the program's allocator included, must not come that way.
//
// Threads: each has its own count. Nested as often as one likes.
#pragma once

namespace rigel::vgpu {

inline constinit thread_local int own_calls = 0;  ///< Not 0: this thread's calls are ours.

/// While one of these lives, the thread's calls are our own. Each of the device's threads has one all its
/// life.
struct OwnCalls {
  OwnCalls() { ++own_calls; }
  ~OwnCalls() { --own_calls; }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
};

}  // namespace rigel::vgpu
