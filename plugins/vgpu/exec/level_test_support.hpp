// Tests for each SIMD level: where there is no such level they are skipped, and say why.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::testing {

inline constexpr SimdLevel kLevels[] = {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512};
/// Those that native code can be made for.
inline constexpr SimdLevel kNativeLevels[] = {SimdLevel::kAvx2, SimdLevel::kAvx512};

/// Names the tests of a suite of levels.
struct LevelName {
  template <class Info>
  std::string operator()(const Info& info) const {
    constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
    return kNames[static_cast<size_t>(info.param)];
  }
};

/// The fixture of tests of native code for one level.
class NativeLevel : public ::testing::TestWithParam<SimdLevel> {
 protected:
  void SetUp() override {
    if (const std::string_view why = native::why_none(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace rigel::vgpu::exec::testing
