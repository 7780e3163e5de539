// Copies and fills of the size that copy engines do: up to megabytes at a time, of memory that this thread
// will not read again soon. Large ones go past the caches, as libc's memcpy does for sizes that it sees in
// one call; ours come in pieces, so that a queue can be stopped between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel::vgpu {

/// memmove of `bytes` bytes.
void stream_copy(std::byte* to, const std::byte* from, uint64_t bytes) noexcept;

/// Repeats the four bytes of `pattern`, lowest first.
void stream_fill(std::byte* to, uint32_t pattern, uint64_t bytes) noexcept;

}  // namespace rigel::vgpu
