// Parameters of tests for each SIMD level.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec::testing {

inline constexpr SimdLevel kLevels[] = {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512};

struct LevelName {
  template <class Info>
  std::string operator()(const Info& info) const {
    constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
    return kNames[static_cast<size_t>(info.param)];
  }
};

}  // namespace rigel::vgpu::exec::testing
