// Programs whose calls bypass the preload face in part: one line says so.
#pragma once

#include <cstddef>

namespace rigel::vgpu {

/// Prints a line, once, if `address` lies in a mapping of a device's file: the file is empty, and has memory only for
/// an mmap() that came through the face. Called by a handler of SIGBUS.
void explain_bus_error(const std::byte* address);

}  // namespace rigel::vgpu
