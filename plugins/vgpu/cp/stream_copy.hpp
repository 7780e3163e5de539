// Copies and fills for copy engines: up to megabytes at a time, of memory that this thread will not read
// again soon. They come in pieces, so that a queue can be stopped between them. A run of pieces that exceeds
// the caches bypasses them, as libc's memcpy does for one large call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu {

/// memmove of `bytes` bytes that continue a run of `before` bytes. Short runs stay in the caches: the copy is
/// faster, and the next reader finds the data there.
void stream_copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before = 0) noexcept;

/// stream_copy() of memory that may be unmapped. Returns false if an access faulted; last_host_fault() then
/// returns the fault.
bool guarded_stream_copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept;

/// Whether the ranges of a copy do not overlap.
inline bool are_apart(const std::byte* to, const std::byte* from, uint64_t bytes) {
  return to + bytes <= from || from + bytes <= to;
}

/// Length of a run from which copies bypass the caches.
uint64_t cached_copy_bytes() noexcept;

/// Repeats the four bytes of `pattern`, lowest first.
void stream_fill(std::byte* to, uint32_t pattern, uint64_t bytes) noexcept;

}  // namespace rigel::vgpu
