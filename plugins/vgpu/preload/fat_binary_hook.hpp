// Checks the GPU code that HIP programs register. HIP reports only that it has no code for a GPU. This hook
// warns with the targets of the code and of the GPUs, once the program uses a GPU.
//
// Threads: any.
#pragma once

#include "api/support/mutex.hpp"

namespace rigel::vgpu {

class System;

extern constinit Mutex registered_mutex;  ///< Guards the registered binaries; held during fork.

/// Called when the program starts to use `system`: warns about earlier binaries now, and about later ones
/// immediately.
void report_fat_binaries(System& system);

}  // namespace rigel::vgpu
