// Copying and filling host memory with the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel {

/// As memmove: right for overlapping blocks too. Large blocks do not drive the destination through the caches
/// where the CPU has a cheap way for that.
void copy_bytes(void* destination, const void* source, size_t size) noexcept;

/// Sets `count` words from `destination`, a multiple of 4, on.
void fill_words(void* destination, uint32_t value, size_t count) noexcept;

}  // namespace rigel
