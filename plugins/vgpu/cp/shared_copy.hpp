// Large copies that are shared with helper threads. While a program's thread polls for the end of a copy on
// one CPU, the engine copies on another. A runtime can lend the waiting thread (hsa_plugin/hsa_driver.h),
// which then copies parts.
//
// Threads: any thread may call everything. The engine waits for its helpers before it continues, so the
// translation stays valid. If a helper faults, the engine repeats the copy and reports the fault.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu {

/// Minimum length of a shared copy.
constexpr uint64_t kSharedCopyBytes = uint64_t{256} << 10;

/// Copies like stream_copy, together with helper threads. Returns false if the ranges overlap or are too
/// small, all slots are in use, or memory was unmapped. The caller then repeats the whole copy alone,
/// guarded.
bool copy_with_help(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept;

/// Implements hsa_driver_lend_thread_v1: copies about 10 µs of a shared copy on a thread of the program. It
/// preserves errno, signal mask and cancellation state. Returns 0 if there was no work, there are enough
/// helpers, or memory was unmapped.
int32_t lend_program_thread() noexcept;

/// Clears the state in a child of fork, where the copying threads do not exist.
void forget_shared_copies() noexcept;

}  // namespace rigel::vgpu
