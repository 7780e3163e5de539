// Tests on a device of every board that the virtual GPU has.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "backends/common/testing/virtual_gpu.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx::testing {

struct BoardCase {
  const char* name;
  const Family* family;
};

class EveryBoard : public ::testing::TestWithParam<BoardCase> {
 protected:
  void SetUp() override { gpu_ = std::make_unique<VirtualGpu>(GetParam().name, *GetParam().family); }
  VirtualGpu& gpu() { return *gpu_; }

 private:
  std::unique_ptr<VirtualGpu> gpu_;
};

inline std::string board_name(const ::testing::TestParamInfo<BoardCase>& info) {
  return info.param.name;
}

}  // namespace rigel::gfx::testing

#define RIGEL_ON_EVERY_BOARD(Suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      On, Suite,                                                                                \
      ::testing::Values(::rigel::gfx::testing::BoardCase{"fiji", &::rigel::gfx8::kFamily},      \
                        ::rigel::gfx::testing::BoardCase{"polaris10", &::rigel::gfx8::kFamily}, \
                        ::rigel::gfx::testing::BoardCase{"vega10", &::rigel::gfx9::kFamily},    \
                        ::rigel::gfx::testing::BoardCase{"vega20", &::rigel::gfx9::kFamily},    \
                        ::rigel::gfx::testing::BoardCase{"navi10", &::rigel::gfx10::kFamily},   \
                        ::rigel::gfx::testing::BoardCase{"navi21", &::rigel::gfx10::kFamily}),  \
      ::rigel::gfx::testing::board_name)
