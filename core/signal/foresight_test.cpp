#include "core/signal/foresight.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(Foresight, KnowsNothingAtFirst) {
  const Foresight::Window window = Foresight().window();
  EXPECT_EQ(window.begin, window.end);
}

TEST(Foresight, IsAwakeAQuarterBeforeTheLastLengthAndLooksForAnEighthLonger) {
  Foresight foresight;
  foresight.took(8 * kMs);
  EXPECT_EQ(foresight.window().begin, 6 * kMs);
  EXPECT_EQ(foresight.window().end, 9 * kMs);
}

TEST(Foresight, LeavesTimeToBeWoken) {
  Foresight foresight;
  foresight.took(kMs / 2);
  EXPECT_EQ(foresight.window().begin, kMs / 2 - Foresight::kWakeUpNs);
}

TEST(Foresight, FollowsShorterWaitsAtOnceAndLongerOnesInTime) {
  Foresight foresight;
  foresight.took(8 * kMs);
  foresight.took(4 * kMs);
  EXPECT_EQ(foresight.window().end, 4 * kMs + kMs / 2);
  foresight.took(8 * kMs);
  EXPECT_LT(foresight.window().end, 8 * kMs);
  for (int i = 0; i < 20; ++i) foresight.took(8 * kMs);
  EXPECT_LT(foresight.window().begin, 8 * kMs);
  EXPECT_GT(foresight.window().end, 8 * kMs);
}

TEST(Foresight, GivesUpOnLongWaits) {
  Foresight foresight;
  foresight.took(8 * kMs);
  foresight.took(Foresight::kLongestNs + 1);
  EXPECT_EQ(foresight.window().begin, foresight.window().end);
}

}  // namespace
}  // namespace rigel
