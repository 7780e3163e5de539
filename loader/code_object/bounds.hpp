// Overflow-safe arithmetic on untrusted offsets and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace rigel {

/// Whether [offset, offset + size) is inside [0, limit).
constexpr bool lies_within(uint64_t offset, uint64_t size, uint64_t limit) {
  return size <= limit && offset <= limit - size;
}

constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  return a <= UINT64_MAX - b ? std::optional(a + b) : std::nullopt;
}

constexpr bool is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

/// `alignment` is a power of two.
constexpr uint64_t align_down(uint64_t value, uint64_t alignment) {
  return value & ~(alignment - 1);
}

/// Reads a T from bytes of any alignment; the caller has checked their number.
template <class T>
T read_unaligned(const void* bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace rigel
