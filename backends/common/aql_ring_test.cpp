#include "backends/common/aql_ring.hpp"

#include <gtest/gtest.h>

#include "backends/gfx10/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

TEST(AqlRing, IsAsLargeAsItsPackets) {
  const AqlRing ring = aql_ring(gfx9::kFamily, 0, 256);
  EXPECT_EQ(ring.packets, 256u);
  EXPECT_EQ(ring.bytes, 16384u);
  EXPECT_EQ(ring.mapped_bytes, 16384u);
  EXPECT_EQ(ring.announced_bytes, 16384u);
  EXPECT_EQ(ring.write_index_offset, 0x38u);
  EXPECT_FALSE(ring.doubled);
}

TEST(AqlRing, IsDoubledOnGfx8) {
  const AqlRing ring = aql_ring(gfx8::kFamily, kQuirkRingDoubled, 256);
  EXPECT_EQ(ring.bytes, 16384u);
  EXPECT_EQ(ring.mapped_bytes, 32768u);
  EXPECT_EQ(ring.announced_bytes, 32768u);
  EXPECT_EQ(ring.write_index_offset, 0x50u);
  EXPECT_EQ(aql_ring(gfx8::kFamily, kQuirkRingDoubled, 16).packets, 64u);  // whole pages
}

TEST(Doorbell, IsTheIndexOrOneMore) {
  EXPECT_EQ(doorbell_value(gfx9::kFamily.doorbell, 0x1'0000'0000), 0x1'0000'0000u);
  EXPECT_EQ(doorbell_value(gfx10::kFamily.doorbell, 0), 0u);
  EXPECT_EQ(doorbell_value(gfx8::kFamily.doorbell, 0), 1u);
  EXPECT_EQ(doorbell_value(gfx8::kFamily.doorbell, 0x1'0000'0000), 1u);
}

TEST(Doorbell, OfGfx8OnlyMovesOn) {
  EXPECT_TRUE(legacy_doorbell_advances(0, 0));
  EXPECT_FALSE(legacy_doorbell_advances(0, 1));
  EXPECT_TRUE(legacy_doorbell_advances(5, 5));
}

}  // namespace
}  // namespace rigel::gfx
