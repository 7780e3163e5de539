#include "core/signal/blocked_spin.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

constexpr uint64_t kUs = 1'000, kMs = 1'000'000;

TEST(BlockedSpin, IsLongEnoughForWaitsThatComeBackSoon) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.found(120 * kUs);
  EXPECT_GT(spin.ns(), 120 * kUs);
  EXPECT_LE(spin.ns(), BlockedSpin::kLongestNs);
}

TEST(BlockedSpin, IsNotLongerThanShortWaitsNeed) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.found(3 * kUs);
  EXPECT_EQ(spin.ns(), BlockedSpin::kUsualNs);
}

TEST(BlockedSpin, IsShortWhereItNeverHelps) {
  BlockedSpin spin;
  uint64_t in_vain = 0;
  for (int i = 0; i < 100; ++i) {
    in_vain += spin.ns();
    spin.woken(5 * kMs);
  }
  EXPECT_EQ(spin.ns(), BlockedSpin::kShortestNs);
  EXPECT_LT(in_vain, 2 * BlockedSpin::kLongestNs + 100 * BlockedSpin::kShortestNs);
}

TEST(BlockedSpin, DoesNotGrowForLongWaitsWithShortOnesBetween) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.found(5 * kUs), spin.woken(5 * kMs);
  for (int i = 0; i < 100; ++i) {
    spin.found(5 * kUs);
    EXPECT_LE(spin.ns(), BlockedSpin::kUsualNs);
    spin.woken(5 * kMs);
  }
}

// A thread that has become cautious sleeps in waits that it could have looked for, and hears of them late.
TEST(BlockedSpin, RecoversFromSleepsThatOnlyWakingUpMadeLong) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.woken(5 * kMs);
  spin.woken(110 * kUs + BlockedSpin::kWakeUpNs);
  EXPECT_GT(spin.ns(), 110 * kUs);
  BlockedSpin another;
  for (int i = 0; i < 100; ++i) another.woken(5 * kMs);
  another.woken(60 * kUs);
  EXPECT_GE(another.ns(), BlockedSpin::kUsualNs) << "shorter than waking up is thought to be";
}

// They look as if they could have been found; only looking shows that they cannot.
TEST(BlockedSpin, IsMostlyShortForWaitsThatAreALittleTooLong) {
  BlockedSpin spin;
  uint64_t in_vain = 0;
  for (int i = 0; i < 330; ++i) {
    in_vain += spin.ns();
    spin.woken(BlockedSpin::kLongestNs + 50 * kUs);
  }
  EXPECT_LT(in_vain / 330, 20 * kUs);
}

// Somebody else had the processor.
TEST(BlockedSpin, StaysLongWhereOneOfManyTookLonger) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) {
    spin.found(150 * kUs);
    spin.woken(i % 2 == 0 ? 280 * kUs : 2 * kMs);
    if (spin.ns() < 150 * kUs) spin.woken(150 * kUs + BlockedSpin::kWakeUpNs);
    EXPECT_EQ(spin.ns(), BlockedSpin::kLongestNs);
  }
}

TEST(BlockedSpin, IsShortForWaitsWhoseTimeRunsOut) {
  BlockedSpin spin;
  for (int i = 0; i < 100; ++i) spin.in_vain();
  EXPECT_EQ(spin.ns(), BlockedSpin::kShortestNs);
}

}  // namespace
}  // namespace rigel
