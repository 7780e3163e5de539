// Sizes of objects in slabs: every number of pages up to 8, then four sizes per doubling. At most a fifth of
// an object is therefore unused. The largest sizes divide a slab evenly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/memory/extent.hpp"

namespace rigel {

inline constexpr std::array<uint16_t, 25> kClassPages{1,  2,  3,  4,  5,  6,  7,  8,  10,  12,  14,  16, 20,
                                                      24, 28, 32, 40, 48, 56, 64, 80, 102, 128, 170, 256};
constexpr size_t kLargestClassPages = kClassPages.back();

namespace detail {
constexpr std::array<uint8_t, kLargestClassPages + 1> classes_by_pages() {
  std::array<uint8_t, kLargestClassPages + 1> table{};
  size_t size_class = 0;
  for (size_t pages = 0; pages < table.size(); ++pages) {
    if (pages > kClassPages[size_class]) ++size_class;
    table[pages] = static_cast<uint8_t>(size_class);
  }
  return table;
}
inline constexpr auto kClassByPages = classes_by_pages();
}  // namespace detail

/// Returns the class of an object of `pages` pages, 1 to kLargestClassPages.
constexpr uint32_t size_class_of(size_t pages) noexcept {
  return detail::kClassByPages[pages];
}
constexpr uint32_t objects_per_slab(uint32_t size_class) noexcept {
  return static_cast<uint32_t>(kPagesPerUnit / kClassPages[size_class]);
}

}  // namespace rigel
