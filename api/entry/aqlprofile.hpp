// AMD's extension "aqlprofile": performance counters and thread traces. Its functions are in a library of
// AMD, libhsa-amd-aqlprofile64.so; profilers request them from the runtime.
#pragma once

#include "api/entry/extensions.hpp"

namespace rigel::api {

/// Returns the extension. Returns null if the library cannot be loaded or does not have the header's version.
/// Each call searches for the library in the dynamic linker's path until a call has loaded it. The library
/// then stays loaded. Any thread.
const Extension* find_aqlprofile();

/// Forgets the library, so that the next find_aqlprofile() searches for it again. Call in a forked child,
/// while it has one thread.
void abandon_aqlprofile() noexcept;

}  // namespace rigel::api
