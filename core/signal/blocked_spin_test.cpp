#include "core/signal/blocked_spin.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

constexpr uint64_t kUs = 1'000, kMs = 1'000'000;

TEST(BlockedSpin, IsLongEnoughForWaitsThatComeBackSoon) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.took(120 * kUs, false);
  EXPECT_GT(spin.ns(), 120 * kUs);
  EXPECT_LE(spin.ns(), BlockedSpin::kLongestNs);
}

TEST(BlockedSpin, IsNotLongerThanShortWaitsNeed) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.took(3 * kUs, false);
  EXPECT_EQ(spin.ns(), BlockedSpin::kUsualNs);
}

TEST(BlockedSpin, IsShortWhereItNeverHelps) {
  BlockedSpin spin;
  uint64_t in_vain = 0;
  for (int i = 0; i < 100; ++i) {
    in_vain += spin.ns();
    spin.took(5 * kMs, true);
  }
  EXPECT_EQ(spin.ns(), BlockedSpin::kShortestNs);
  EXPECT_LT(in_vain, 2 * BlockedSpin::kLongestNs + 100 * BlockedSpin::kShortestNs);
}

TEST(BlockedSpin, DoesNotGrowForLongWaitsWithShortOnesBetween) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.took(5 * kUs, false), spin.took(5 * kMs, true);
  for (int i = 0; i < 100; ++i) {
    spin.took(5 * kUs, false);
    EXPECT_LE(spin.ns(), BlockedSpin::kUsualNs);
    spin.took(5 * kMs, true);
  }
}

// A thread that has become cautious sleeps in waits that it could have looked for, and hears of them late.
TEST(BlockedSpin, RecoversFromSleepsThatOnlyWakingUpMadeLong) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.took(5 * kMs, true);
  spin.took(110 * kUs + BlockedSpin::kWakeUpNs, true);
  EXPECT_GT(spin.ns(), 110 * kUs);
  for (int i = 0; i < 100; ++i) spin.took(5 * kMs, true);
  spin.took(60 * kUs, true);
  EXPECT_GE(spin.ns(), BlockedSpin::kUsualNs) << "shorter than waking up is thought to be";
}

}  // namespace
}  // namespace rigel
