#include "plugins/vgpu/cp/spin_time.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

using namespace std::chrono_literals;
using Clock = SpinTime::Clock;
constexpr Clock::time_point kStart{1h};

TEST(SpinTime, FrequentCollisionsMoveThenPauseSpinning) {
  SpinTime spin;
  int moves = 0;
  while (moves < 100 && spin.woken_after(10us, kStart)) ++moves;
  EXPECT_GT(moves, 0);
  EXPECT_LT(moves, 10);
  EXPECT_EQ(spin.length(kStart + 1us), 0us);
  EXPECT_FALSE(spin.woken_after(10us, kStart + 1us)) << "it was not looking";
  EXPECT_GT(spin.length(kStart + SpinTime::kPause + 1us), 0us);
}

TEST(SpinTime, RareWakeUpsDoNotMove) {
  SpinTime spin;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(spin.woken_after(5ms, kStart));
    EXPECT_GT(spin.length(kStart), 0us);
  }
}

}  // namespace
}  // namespace rigel::vgpu
