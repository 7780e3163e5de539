// The size of pages, which the driver and the GPUs' page tables share.
#pragma once

#include <cstdint>

#include "plugins/vgpu/kfd/page_table.hpp"

namespace rigel::vgpu {

inline constexpr uint64_t kPage = PageTable::kPageBytes;

/// The bytes of the pages that hold `bytes`.
constexpr uint64_t pages_up(uint64_t bytes) {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

}  // namespace rigel::vgpu
