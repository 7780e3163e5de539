// Detects programs and libraries that fail with behaviour that the manual allows.
//
// *Threads:* any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace rigel {

struct HipVersion {
  uint32_t major;
  uint32_t minor;
};

/// Returns the version of the loaded HIP (libamdhip64.so.5). The minor number comes from the name of its
/// file, such as libamdhip64.so.5.2.21153. It is 0 if the name has none.
std::optional<HipVersion> hip_in_process() noexcept;

/// Whether a HIP up to 5.x (libamdhip64.so.5 and older) is loaded. Its functions that need a GPU, such as
/// hipMalloc, crash after an hsa_init that succeeds without one, at least in 5.2. After an hsa_init that
/// fails, as ROCr's does without a driver, they return an error.
bool has_hip_that_needs_a_gpu() noexcept;

/// Whether a HIP of 6.0 or later is loaded. It recognises pools of extended scope, and ends the process if
/// uncached memory is requested and there is no such pool. Older versions treat such a pool as an ordinary
/// one.
bool has_hip_that_knows_extended_scope() noexcept;

/// Whether all ISAs of an agent should be listed: LLVM's OpenMP accepts code for any of them from version 20
/// on, such as a GPU's generic target. Older versions use the last one, and HIP of ROCm 6.2 rejects GPUs with
/// several.
bool has_openmp_that_reads_all_isas() noexcept;

}  // namespace rigel
