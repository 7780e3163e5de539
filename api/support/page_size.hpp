// Rounding of sizes and addresses, and sizes of pages.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace rigel {

/// Page size of amdkfd's ioctls, of GPU page tables and of x86-64. The host's pages may be larger.
inline constexpr size_t kPageBytes = 4096;

inline size_t host_page_bytes() noexcept {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

/// Rounds to a multiple of `multiple`, which must be a power of two. The result must be less than 2^64.
constexpr uint64_t round_up(uint64_t value, uint64_t multiple) noexcept {
  return (value + multiple - 1) & ~(multiple - 1);
}
constexpr uint64_t round_down(uint64_t value, uint64_t multiple) noexcept {
  return value & ~(multiple - 1);
}

/// Rounds to a multiple of kPageBytes.
constexpr uint64_t page_up(uint64_t value) noexcept {
  return round_up(value, kPageBytes);
}
constexpr uint64_t page_down(uint64_t value) noexcept {
  return round_down(value, kPageBytes);
}

}  // namespace rigel
