#include "plugins/vgpu/cp/schedule.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

using Order = Schedule::Order;

TEST(Schedule, ParsesText) {
  EXPECT_EQ(Schedule::from_text(""), (Schedule{Order::kWaits, 0}));
  EXPECT_EQ(Schedule::from_text("barriers"), (Schedule{Order::kBarriers, 0}));
  EXPECT_EQ(Schedule::from_text("random"), (Schedule{Order::kRandom, 0}));
  EXPECT_EQ(Schedule::from_text("random:18446744073709551615"), (Schedule{Order::kRandom, ~uint64_t{0}}));
}

TEST(Schedule, RejectsInvalidText) {
  for (const char* const text : {"barrier", "Random", "random:", "random:-1", "random:7 ",
                                 "random:18446744073709551616", "random7", "waits "}) {
    EXPECT_FALSE(Schedule::from_text(text)) << text;
  }
}

TEST(Schedule, TextRoundTrips) {
  for (const Schedule schedule : {Schedule{}, Schedule{Order::kBarriers, 0}, Schedule{Order::kRandom, 42}}) {
    EXPECT_EQ(Schedule::from_text(schedule.text()), schedule);
  }
}

}  // namespace
}  // namespace rigel::vgpu
