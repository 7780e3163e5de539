#include "plugins/vgpu/check/allocation_map.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu::check {
namespace {

Allocation allocation(uint64_t begin, uint64_t bytes, uint64_t room) {
  Allocation made;
  made.begin = begin;
  made.bytes = bytes;
  made.room_bytes = room;
  return made;
}

class AllocationMapTest : public testing::Test {
 protected:
  AllocationMapTest() {
    map.add(allocation(0x1000, 100, 0x1000));
    map.add(allocation(0x4000, 0x1000, 0x2000));
  }
  AllocationMap map;
  Allocation found;
};

TEST_F(AllocationMapTest, FindReturnsAllocationWhoseRoomContainsAddress) {
  EXPECT_TRUE(map.find(0x1000 + 200, found));
  EXPECT_EQ(found.begin, 0x1000u);
  EXPECT_EQ(found.bytes, 100u);
  EXPECT_TRUE(map.find(0x5fff, found));
  EXPECT_EQ(found.begin, 0x4000u);
}

TEST_F(AllocationMapTest, FindReturnsGapWithoutAllocation) {
  EXPECT_FALSE(map.find(0x3000, found));
  EXPECT_EQ(found.begin, 0x2000u);
  EXPECT_EQ(found.room_bytes, 0x2000u);
  EXPECT_FALSE(map.find(0x10, found));
  EXPECT_EQ(found.begin, 0u);
  EXPECT_EQ(found.room_bytes, 0x1000u);
  EXPECT_FALSE(map.find(UINT64_MAX, found));
}

TEST_F(AllocationMapTest, FreedAllocationStaysUntilItsRoomIsReused) {
  EXPECT_TRUE(map.mark_freed(0x1000, {}).has_value());
  EXPECT_FALSE(map.mark_freed(0x1000, {}).has_value());
  EXPECT_FALSE(map.live_at(0x1000).has_value());
  EXPECT_TRUE(map.find(0x1000, found));
  EXPECT_TRUE(found.is_freed);
  map.add(allocation(0x1800, 16, 0x800));
  EXPECT_FALSE(map.find(0x1000, found));
  EXPECT_TRUE(map.find(0x1800, found));
  EXPECT_FALSE(found.is_freed);
}

TEST_F(AllocationMapTest, VersionChangesWithEveryChange) {
  const uint64_t before = map.version();
  map.mark_freed(0x4000, {});
  const uint64_t after_free = map.version();
  map.remove(0x4000);
  EXPECT_NE(after_free, before);
  EXPECT_NE(map.version(), after_free);
}

}  // namespace
}  // namespace rigel::vgpu::check
