// Marks threads whose libc calls belong to the device. The preload hooks pass such calls directly to libc.
// A hooked call of the program may wait for a lock that an ioctl holds while it waits for the device. Calls
// of the device's threads, and of the program's allocator on these threads, must therefore bypass the hooks.
//
// Threads: the count is per thread and nests.
#pragma once

namespace rigel::vgpu {

inline constinit thread_local int own_calls = 0;  ///< Not 0: calls on this thread belong to the device.

/// Marks the current thread during its lifetime. Each thread of the device has one for its whole life.
struct OwnCalls {
  OwnCalls() { ++own_calls; }
  ~OwnCalls() { --own_calls; }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
};

}  // namespace rigel::vgpu
