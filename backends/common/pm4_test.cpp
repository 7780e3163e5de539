#include "backends/common/pm4.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::gfx::pm4 {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kVa = 0x0000'1234'5678'9ab0;

TEST(Pm4, JumpsToBuffer) {
  EXPECT_THAT(indirect_buffer(kVa, 0x21), ElementsAre(0xc0023f00, 0x56789ab0, 0x00001234, 0x00800021));
}

TEST(Pm4, InvalidatesCodeOnGfx8And9) {
  // Code 29, scalar 27, L2 23, L1 22, write-back of L2 18; the whole address space.
  EXPECT_THAT(invalidate_code(), ElementsAre(0xc0055800, 0x28c40000, 0xffffffff, 0xff, 0, 0, 0x0a));
}

TEST(Pm4, InvalidatesCodeOnGfx10) {
  // Code 0, scalar 6 and 7, vector 8, L1 9, L2 14 and 15.
  EXPECT_THAT(invalidate_code_gcr(), ElementsAre(0xc0065800, 0, 0xffffffff, 0xff, 0, 0, 0x0a, 0x0000c3c1));
}

TEST(Pm4, WritesDwordWithConfirmation) {
  EXPECT_THAT(write_data(kVa, 77), ElementsAre(0xc0033700, 0x00100200, 0x56789ab0, 0x1234, 77));
}

TEST(Pm4, WaitsForMemory) {
  EXPECT_THAT(wait_mem(kVa, Compare::kEqual, 5, 0xff),
              ElementsAre(0xc0053c00, 0x13, 0x56789ab0, 0x1234, 5, 0xff, 4));
}

TEST(Pm4, ReleasesWithStoreAndInterrupt) {
  const Release release{.va = kVa, .value = 0x1'0000'0002, .data = ReleaseData::kQuad};
  EXPECT_THAT(release_mem_gfx8(release),
              ElementsAre(0xc0054900, 0x00038514, 0x40000000, 0x56789ab0, 0x1234, 2, 1));
  EXPECT_THAT(release_mem_gfx9(release),
              ElementsAre(0xc0064900, 0x00038514, 0x40000000, 0x56789ab0, 0x1234, 2, 1, 0));
  EXPECT_THAT(release_mem_gfx10(release),
              ElementsAre(0xc0064900, 0x0030c514, 0x40000000, 0x56789ab0, 0x1234, 2, 1, 0));
  const Release interrupt{.va = kVa, .value = 9, .data = ReleaseData::kDword, .interrupt_context = 9};
  EXPECT_THAT(release_mem_gfx9(interrupt),
              ElementsAre(0xc0064900, 0x00038514, 0x22000000, 0x56789ab0, 0x1234, 9, 0, 9));
}

TEST(Pm4InAql, FillsSlotOnGfx8) {
  EXPECT_THAT(aql_slot_gfx8(kVa, 7), ElementsAre(0xc0031000, 0, 0, 0, 0,  // NOP of five dwords
                                                 0xc0023f00, 0x56789ab0, 0x1234, 0x00800007,  // the buffer
                                                 0xc0054900, 0x700, 0, 0, 0, 0, 0));  // the slot is freed
}

TEST(Pm4InAql, IsVendorPacketFromGfx9On) {
  EXPECT_THAT(aql_slot_vendor(kVa, 7, 0xabcd'0000'1111, 0x1500),
              ElementsAre(0x00011500, 0xc0023f00, 0x56789ab0, 0x1234, 0x00800007, 10, 0, 0, 0, 0, 0, 0, 0, 0,
                          0x00001111, 0xabcd));
  // Only the barrier bit and the fences enter the header.
  EXPECT_EQ(aql_slot_vendor(kVa, 7, 0, 0xffff)[0], 0x00011f00u);
}

}  // namespace
}  // namespace rigel::gfx::pm4
