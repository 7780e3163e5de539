// Observes SIGBUS faults of the program in the device's handler (host_fault.hpp).
#pragma once

#include <cstddef>

namespace rigel::vgpu {

/// Called for each SIGBUS of the program, before its handler runs or the process ends. It may only make
/// system calls.
using BusErrorWatcher = void (*)(const std::byte* address);
/// Sets the watcher of this process. Any thread.
void watch_bus_errors(BusErrorWatcher watcher) noexcept;

}  // namespace rigel::vgpu
