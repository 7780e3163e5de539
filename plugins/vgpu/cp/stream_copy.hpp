// Copies and fills of the size that copy engines do: up to megabytes at a time, of memory that this thread
// will not read again soon. They come in pieces, so that a queue can be stopped between them, and parts of
// what is larger than the caches go past them, as libc's memcpy has it for sizes that it sees in one call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu {

/// memmove of `bytes` bytes, of which `before` more came before in one run. What fits in the caches stays
/// there: it is copied in less time, and whoever reads it next has it near.
void stream_copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before = 0) noexcept;

/// The same of memory that may go away. False: it has, in the middle of it, and last_host_fault() says where.
bool guarded_stream_copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept;

/// Whether a copy reads nothing that it writes.
inline bool are_apart(const std::byte* to, const std::byte* from, uint64_t bytes) {
  return to + bytes <= from || from + bytes <= to;
}

/// How long a run is that goes past the caches, from there on.
uint64_t cached_copy_bytes() noexcept;

/// Repeats the four bytes of `pattern`, lowest first.
void stream_fill(std::byte* to, uint32_t pattern, uint64_t bytes) noexcept;

}  // namespace rigel::vgpu
