// Tests for each SIMD level: where there is no such level they are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec::testing {

inline constexpr SimdLevel kLevels[] = {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512};

/// Names the tests of a suite of levels.
struct LevelName {
  template <class Info>
  std::string operator()(const Info& info) const {
    constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
    return kNames[static_cast<size_t>(info.param)];
  }
};

}  // namespace rigel::vgpu::exec::testing
