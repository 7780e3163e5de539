// Counts of a work-group, by interpreted and by compiled code.
#include "plugins/vgpu/exec/profile/counters.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu::exec {
namespace {

// What compiled code adds for one execution of a segment.
constexpr uint64_t segment_of(uint64_t lanes) {
  return lanes << Counter::kLanesShift | 1;
}

TEST(GroupCountersTest, SumContainsSegmentsAndInstructions) {
  GroupCounters counters;
  ASSERT_TRUE(counters.reserve(3));
  counters.range(1, 2)[1].segments += segment_of(64) + segment_of(3);
  counters.count(2, 10);
  counters.count_block(2, 7);
  const profile::Count count = counters[2];
  EXPECT_EQ(count.times, 3u);
  EXPECT_EQ(count.lanes, 77u);
  EXPECT_EQ(count.block_dwords, 7u);
  EXPECT_EQ(counters[1].times, 0u);
}

TEST(GroupCountersTest, CountsOfLongestSliceDoNotMeet) {
  constexpr uint64_t kTimes = uint64_t{1} << 22;
  GroupCounters counters;
  ASSERT_TRUE(counters.reserve(1));
  counters.range(0, 1)[0].segments = kTimes * segment_of(64);
  EXPECT_EQ(counters[0].times, kTimes);
  EXPECT_EQ(counters[0].lanes, kTimes * 64);
}

TEST(GroupCountersTest, ClearedCountersAreZero) {
  GroupCounters counters;
  EXPECT_GE(counters.begin(), counters.end()) << "nothing is counted";
  counters.count(9, 1);
  counters.count(4, 1);
  EXPECT_EQ(counters.begin(), 4u);
  EXPECT_EQ(counters.end(), 10u);
  counters.clear();
  EXPECT_GE(counters.begin(), counters.end());
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(counters[i].times, 0u) << i;
  counters.count(7, 2);
  EXPECT_EQ(counters.begin(), 7u);
  EXPECT_EQ(counters.end(), 8u);
}

TEST(GroupCountersTest, LargerReserveKeepsCounts) {
  GroupCounters counters;
  counters.count(0, 5);
  ASSERT_TRUE(counters.reserve(100000));
  EXPECT_EQ(counters[0].lanes, 5u);
  EXPECT_EQ(counters[99999].times, 0u);
}

}  // namespace
}  // namespace rigel::vgpu::exec
