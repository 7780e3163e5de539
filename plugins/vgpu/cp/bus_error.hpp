// Faults of the program that the device's handler of SIGBUS (host_fault.hpp) sees before the program does.
#pragma once

#include <cstddef>

namespace rigel::vgpu {

/// Called for each SIGBUS that is the program's, before its own handler or its end. It may make system calls, and
/// nothing else.
using BusErrorWatcher = void (*)(const std::byte* address);
/// Sets the watcher of this process. Threads: any.
void watch_bus_errors(BusErrorWatcher watcher) noexcept;

}  // namespace rigel::vgpu
