// The page size of the driver and the GPUs' page tables.
#pragma once

#include <cstdint>

#include "plugins/vgpu/kfd/page_table.hpp"

namespace rigel::vgpu {

inline constexpr uint64_t kPage = PageTable::kPageBytes;

/// Rounds `bytes` up to whole pages.
constexpr uint64_t pages_up(uint64_t bytes) {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

}  // namespace rigel::vgpu
