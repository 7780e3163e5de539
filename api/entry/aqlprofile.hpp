// AMD's extension "aqlprofile": performance counters and thread traces. Profilers request its functions from
// the runtime. AMD's library, libhsa-amd-aqlprofile64.so, is used if it is installed. Otherwise the runtime's
// own functions count the events that the GPU's backend supports (core/counters/counter_profiles.hpp).
#pragma once

#include "api/entry/extensions.hpp"

namespace rigel::api {

/// Returns the extension: that of AMD's library if it can be loaded and has the header's version, otherwise
/// the runtime's. Each call searches for the library in the dynamic linker's path until a call has loaded it.
/// The library then stays loaded. Any thread.
const Extension& find_aqlprofile();

/// Forgets the library, so that the next find_aqlprofile() searches for it again. Call in a forked child,
/// while it has one thread.
void abandon_aqlprofile() noexcept;

}  // namespace rigel::api
