// Reports programs whose mmap() bypasses the preload front end.
#pragma once

#include <cstddef>

namespace rigel::vgpu {

/// Prints a line, once, if `address` is in a mapping of a device file: the file is empty, and has memory only
/// if it was mapped through the hook. Called by a SIGBUS handler.
void explain_bus_error(const std::byte* address);

}  // namespace rigel::vgpu
