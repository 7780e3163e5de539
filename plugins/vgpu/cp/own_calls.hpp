// Marks threads whose libc calls belong to the device. The preload hooks pass such calls directly to libc.
// Calls of the program may wait for locks that an ioctl holds while it waits for the device, so the device's
// threads, including the program's allocator on them, must not go through the hooks.
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
