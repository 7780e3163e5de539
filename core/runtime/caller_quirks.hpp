// What programs that use the runtime cannot bear, though it is right by the manual.
//
// Threads: any.
#pragma once

namespace rigel {

/// Whether a HIP up to 5.x (libamdhip64.so.5 and before) is in the process. Its functions that need a GPU, hipMalloc and
/// others, crash behind an hsa_init that succeeds without one, at least in 5.2. Behind one that fails, as ROCr's does
/// where there is no driver, they answer with an error.
bool has_hip_that_needs_a_gpu() noexcept;

}  // namespace rigel
