// Large copies that other threads take parts of.
//
// A program that waits for a copy looks for its end on one processor of the host while the engine's thread
// copies on another. A runtime that knows of this lends us the thread that waits (hsa_plugin/hsa_driver.h),
// which then copies as well.
//
// Threads: everything from any thread. Who helps owns nothing: the engine waits for it before it goes on, so
// the memory stays as it was translated, and what is lost is copied again by the engine, where a fault has
// its place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu {

/// What is worth sharing, at least.
constexpr uint64_t kSharedCopyBytes = uint64_t{256} << 10;

/// stream_copy together with whoever helps. False: the ranges overlap or are too small, too many others copy,
/// or memory went away. What has been copied until then is not known; the copy is to be made alone, guarded.
bool copy_with_help(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept;

/// What hsa_driver_lend_thread_v1 does: a part of such a copy, ten microseconds or so of memory that is
/// there, on a thread of the program, whose signals, errno and cancellation it keeps apart from it. 0: there
/// was nothing to do, enough others help, or memory went away.
int32_t lend_program_thread() noexcept;

/// In the child of fork: the threads that copied are the parent's.
void forget_shared_copies() noexcept;

}  // namespace rigel::vgpu
