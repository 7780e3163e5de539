// Tests on a device of every virtual GPU board.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/common/testing/virtual_gpu.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"
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

/// Returns all boards. In a sanitizer build, omits discrete gfx8 boards: these address 40 bits, and the
/// sanitizer's shadow memory is in that range.
inline std::vector<BoardCase> every_board() {
  std::vector<BoardCase> boards = {
      {"vega10", &gfx9::kFamily},  {"vega20", &gfx9::kFamily},  {"mi100", &gfx9::kFamily},
      {"mi210", &gfx9::kFamily},   {"navi10", &gfx10::kFamily}, {"navi21", &gfx10::kFamily},
      {"navi31", &gfx11::kFamily}, {"navi48", &gfx12::kFamily},
  };
  if (HSABE_SANITIZER == HSABE_SANITIZER_NONE)
    boards.insert(boards.begin(),
                  {{"fiji", &gfx8::kFamily}, {"polaris10", &gfx8::kFamily}, {"tonga", &gfx8::kFamily}});
  return boards;
}

}  // namespace rigel::gfx::testing

#define RIGEL_ON_EVERY_BOARD(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(On, Suite, ::testing::ValuesIn(::rigel::gfx::testing::every_board()), \
                           ::rigel::gfx::testing::board_name)
