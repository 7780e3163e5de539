#include "backends/common/aql_ring.hpp"

#include <gtest/gtest.h>

#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

TEST(AqlRing, HasSizeOfPackets) {
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

TEST(Doorbell, IsIndexOrIndexPlusOne) {
  EXPECT_EQ(doorbell_value(gfx9::kFamily.doorbell, 64, 0x1'0000'0000), 0x1'0000'0000u);
  EXPECT_EQ(doorbell_value(gfx10::kFamily.doorbell, 64, 0), 0u);
  EXPECT_EQ(doorbell_value(gfx8::kFamily.doorbell, 64, 0), 1u);
  EXPECT_EQ(doorbell_value(gfx8::kFamily.doorbell, 64, 0x1'0000'0000), 1u);
}

TEST(Doorbell, TongaUsesDwordsInDoubledRing) {
  const uint32_t kind = aql_doorbell(gfx8::kFamily, testing::tonga().facts());
  EXPECT_EQ(doorbell_value(kind, 64, 0), 16u);
  EXPECT_EQ(doorbell_value(kind, 64, 63), 64u * 16) << "a ring full to the last packet is not an empty one";
  EXPECT_EQ(doorbell_value(kind, 64, 127), 0u);
  EXPECT_EQ(doorbell_value(kind, 64, 0x1'0000'0000), 16u);
  EXPECT_EQ(aql_doorbell(gfx8::kFamily, testing::fiji().facts()), HSABE_DOORBELL_INDEX32_LEGACY);
  EXPECT_EQ(aql_doorbell(gfx9::kFamily, testing::vega10().facts()), HSABE_DOORBELL_INDEX64);
}

TEST(AqlPacket, HasSystemRelease) {
  constexpr uint16_t kAgent = HSA_FENCE_SCOPE_AGENT << 9 | HSA_FENCE_SCOPE_AGENT << 11 | 1u << 8;
  EXPECT_EQ(
      releasing_to_system(HSA_PACKET_TYPE_KERNEL_DISPATCH | kAgent),
      HSA_PACKET_TYPE_KERNEL_DISPATCH | HSA_FENCE_SCOPE_AGENT << 9 | HSA_FENCE_SCOPE_SYSTEM << 11 | 1u << 8);
  EXPECT_EQ(releasing_to_system(HSA_PACKET_TYPE_KERNEL_DISPATCH), 2 | 2 << 11);
}

}  // namespace
}  // namespace rigel::gfx
