// Copying and filling host memory with the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel {

/// Copies as memmove, also between overlapping blocks. Large blocks bypass the caches if the CPU supports it
/// cheaply.
void copy_bytes(void* destination, const void* source, size_t size) noexcept;

/// Sets `count` 32-bit words from `destination`, which must be a multiple of 4.
void fill_words(void* destination, uint32_t value, size_t count) noexcept;

}  // namespace rigel
