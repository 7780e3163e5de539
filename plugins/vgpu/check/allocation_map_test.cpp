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

TEST_F(AllocationMapTest, RangesAreMarkedAsInitialized) {
  map.mark_initialized(0x4100, 0x100);
  map.mark_initialized(0x4180, 0x100);
  uint64_t begin = 0x4000, end = 0x5000;
  EXPECT_TRUE(map.is_initialized(0x417c, begin, end));
  EXPECT_EQ(begin, 0x4100u);
  EXPECT_EQ(end, 0x4180u);
  begin = 0x4000, end = 0x5000;
  EXPECT_FALSE(map.is_initialized(0x4000, begin, end));
  EXPECT_EQ(end, 0x4100u);
  begin = 0x4000, end = 0x5000;
  EXPECT_FALSE(map.is_initialized(0x4280, begin, end));
  EXPECT_EQ(begin, 0x4280u);
  map.add(allocation(0x4000, 0x1000, 0x2000));
  begin = 0x4000, end = 0x5000;
  EXPECT_FALSE(map.is_initialized(0x417c, begin, end)) << "of an earlier allocation";
  EXPECT_EQ(end, 0x5000u);
}

TEST_F(AllocationMapTest, SuballocationHasFillOfAllocation) {
  Allocation filled = allocation(0x8000, 0x1000, 0x2000);
  filled.fill = 7;
  filled.serial = 9;
  map.add(filled);
  map.add_region(allocation(0x8100, 0x100, 0x100));
  ASSERT_TRUE(map.find(0x8180, found));
  EXPECT_EQ(found.bytes, 0x100u);
  EXPECT_EQ(found.fill, 7u);
  EXPECT_EQ(found.serial, 9u);
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

Allocation poison(uint64_t begin, uint64_t bytes) {
  Allocation made = allocation(begin, 0, bytes);
  made.is_poisoned = true;
  return made;
}

TEST_F(AllocationMapTest, PoisonedBytesAfterSuballocationAreItsPadding) {
  map.add_region(poison(0x4000, 0x1000));
  map.add_region(allocation(0x4100, 0x40, 0x40));
  map.add_region(allocation(0x4200, 0x40, 0x40));
  map.set_name(0x4100, "particles");
  EXPECT_TRUE(map.find(0x4140, found));
  EXPECT_EQ(found.begin, 0x4100u);
  EXPECT_EQ(found.bytes, 0x40u);
  EXPECT_EQ(found.room_bytes, 0x100u) << "up to the next suballocation";
  EXPECT_STREQ(found.name, "particles");
  EXPECT_TRUE(map.find(0x40ff, found));
  EXPECT_TRUE(found.is_poisoned) << "no suballocation precedes it";
  EXPECT_EQ(found.bytes, 0u);
  map.mark_region_freed(0x4100, {});
  EXPECT_TRUE(map.find(0x4140, found));
  EXPECT_TRUE(found.is_poisoned) << "the preceding suballocation is freed";
}

TEST_F(AllocationMapTest, FreedSuballocationStaysUntilItsBytesAreReused) {
  map.add_region(allocation(0x4100, 0x40, 0x40));
  map.mark_region_freed(0x4100, {});
  EXPECT_TRUE(map.find(0x4120, found));
  EXPECT_TRUE(found.is_freed);
  map.add_region(allocation(0x4110, 0x20, 0x20));
  EXPECT_TRUE(map.find(0x4120, found));
  EXPECT_FALSE(found.is_freed);
  EXPECT_EQ(found.begin, 0x4110u);
  EXPECT_TRUE(map.find(0x4130, found));
  EXPECT_TRUE(found.is_freed) << "the rest";
}

TEST_F(AllocationMapTest, BytesBetweenRegionsBelongToAllocation) {
  map.add_region(poison(0x4100, 0x100));
  map.add_region(poison(0x4400, 0x100));
  EXPECT_TRUE(map.find(0x4300, found));
  EXPECT_FALSE(found.is_poisoned);
  EXPECT_EQ(found.begin, 0x4200u);
  EXPECT_EQ(found.bytes, 0x200u);
  EXPECT_EQ(found.room_bytes, 0x200u);
  map.remove_regions(0x4100, 0x80);
  EXPECT_TRUE(map.find(0x4100, found));
  EXPECT_FALSE(found.is_poisoned);
  EXPECT_TRUE(map.find(0x4180, found));
  EXPECT_TRUE(found.is_poisoned);
}

TEST_F(AllocationMapTest, RegionsEndWithTheirAllocation) {
  map.add_region(poison(0x4000, 0x1000));
  map.mark_freed(0x4000, {});
  map.add(allocation(0x4000, 0x1000, 0x1000));
  EXPECT_TRUE(map.find(0x4000, found));
  EXPECT_FALSE(found.is_poisoned);
}

TEST_F(AllocationMapTest, RegionIsFoundOutsideOfAllocations) {
  map.add_region(allocation(0x3000, 0x40, 0x40));
  EXPECT_TRUE(map.find(0x3020, found));
  EXPECT_EQ(found.bytes, 0x40u);
  EXPECT_FALSE(map.find(0x3040, found));
  EXPECT_EQ(found.begin, 0x3040u);
  EXPECT_EQ(found.begin + found.room_bytes, 0x4000u);
}

}  // namespace
}  // namespace rigel::vgpu::check
