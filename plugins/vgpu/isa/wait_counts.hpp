// The immediate of s_waitcnt: maximum numbers of outstanding instructions. Source: ISA manuals, SOPP,
// S_WAITCNT.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

struct WaitCounts {
  unsigned vm = 0, exp = 0, lgkm = 0;
  /// Maximum field values, which do not wait.
  unsigned most_vm = 0, most_exp = 0, most_lgkm = 0;
};

constexpr WaitCounts wait_counts(Family family, uint16_t value) {
  if (family >= Family::kGfx11 && family != Family::kNone)
    return {value >> 10 & 63u, value & 7u, value >> 4 & 63u, 63, 7, 63};
  const unsigned most_vm = family == Family::kGfx8 ? 15 : 63, most_lgkm = family == Family::kGfx10 ? 63 : 15;
  return {(value & 15u) | ((value >> 10 & 0x30u) & most_vm),
          value >> 4 & 7u,
          value >> 8 & most_lgkm,
          most_vm,
          7,
          most_lgkm};
}

}  // namespace rigel::vgpu::isa
