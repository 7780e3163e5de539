// Looks at the GPU code that HIP programs register. HIP looks for its GPUs' code there, and where it finds none
// it says that there is none and no more; so the targets that are inside and those of the machine are named in
// a warning, once the program uses a GPU.
//
// Threads: any.
#pragma once

#include "api/support/mutex.hpp"

namespace rigel::vgpu {

class System;

extern constinit Mutex registered_mutex;  ///< Of what is registered: no fork comes in between.

/// The program begins to use this machine: warns of what has been registered before, and later at once.
void tell_of_fat_binaries(System& system);

}  // namespace rigel::vgpu
