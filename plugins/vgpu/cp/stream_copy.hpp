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

/// How long a run is that goes past the caches, from there on.
uint64_t cached_copy_bytes() noexcept;

/// Repeats the four bytes of `pattern`, lowest first.
void stream_fill(std::byte* to, uint32_t pattern, uint64_t bytes) noexcept;

}  // namespace rigel::vgpu
