// What programs that use the runtime cannot bear, though it is right by the manual.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>

namespace rigel {

struct HipVersion {
  uint32_t major;
  uint32_t minor;
};

/// The version of HIP (libamdhip64.so.5) that is in the process. The minor number is that of the library's file,
/// libamdhip64.so.5.2.21153, or 0 if the file's name has none.
std::optional<HipVersion> hip_in_process() noexcept;

/// Whether a HIP up to 5.x (libamdhip64.so.5 and before) is in the process. Its functions that need a GPU, hipMalloc and
/// others, crash behind an hsa_init that succeeds without one, at least in 5.2. Behind one that fails, as ROCr's does
/// where there is no driver, they answer with an error.
bool has_hip_that_needs_a_gpu() noexcept;

/// Whether a HIP of 6.0 or later is in the process, which tells pools of extended scope from others, and ends the process where
/// memory that is not cached is asked for and there is none. Before, it took such a pool for the ordinary one.
bool has_hip_that_knows_extended_scope() noexcept;

/// Whether the ISAs of an agent are asked for by one who means all of them: LLVM's OpenMP from 20 on takes code for any,
/// as for the generic target of a GPU. Before, it took the last for the agent's own, and HIP of ROCm 6.2 refuses GPUs with
/// more than one.
bool has_openmp_that_reads_all_isas() noexcept;

}  // namespace rigel
