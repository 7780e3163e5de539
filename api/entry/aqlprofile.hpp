// AMD's extension "aqlprofile": performance counters and thread traces. Its functions are in a library of
// AMD, libhsa-amd-aqlprofile64.so; profilers request them from the runtime.
#pragma once

#include "api/entry/extensions.hpp"

namespace rigel::api {

/// Returns the extension, if the library can be loaded and has the header's version; otherwise null. Each
/// call tries to load it until it is found, by the dynamic linker's search path; it then stays loaded. Any
/// thread.
const Extension* find_aqlprofile();

/// In a forked child, while it has one thread: the next call tries to load it again.
void abandon_aqlprofile() noexcept;

}  // namespace rigel::api
