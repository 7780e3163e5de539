// AMD's extension "aqlprofile": performance counters and thread traces. Its functions are those of a library of AMD's,
// libhsa-amd-aqlprofile64.so, which profilers ask the runtime for.
#pragma once

#include "api/entry/extensions.hpp"

namespace rigel::api {

/// The extension, if the library can be loaded and is of the version that the header describes. It is looked for
/// until it is found, as the dynamic linker looks for libraries, and stays loaded then. Any thread.
const Extension* find_aqlprofile();

/// In a forked child, while it has one thread: it is looked for anew.
void abandon_aqlprofile() noexcept;

}  // namespace rigel::api
