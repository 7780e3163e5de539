#include "backends/common/cu_mask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::gfx {
namespace {

using ::testing::ElementsAre;

TEST(CuMask, IsAllThatThereIsByDefault) {
  const CuMask mask = make_cu_mask({}, {}, 36, false);
  EXPECT_EQ(mask.status, HSA_STATUS_SUCCESS);
  EXPECT_THAT(mask.words, ElementsAre(0xffffffff, 0xf));
  EXPECT_FALSE(mask.reduced);
}

TEST(CuMask, IsWithinWhatIsAllowed) {
  const uint32_t asked[] = {0xff}, allowed[] = {0xf0};
  const CuMask mask = make_cu_mask(asked, allowed, 64, false);
  EXPECT_THAT(mask.words, ElementsAre(0xf0, 0));
  EXPECT_TRUE(mask.reduced);
  EXPECT_FALSE(make_cu_mask({}, allowed, 64, false).reduced);  // nobody asked for more
}

TEST(CuMask, SaysThatAskedForUnitsAreNotThere) {
  const uint32_t asked[] = {0xffffffff, 0, 1};
  const CuMask mask = make_cu_mask(asked, {}, 40, false);
  EXPECT_THAT(mask.words, ElementsAre(0xffffffff, 0));
  EXPECT_TRUE(mask.reduced);
}

TEST(CuMask, HasWholePairsOnGfx10) {
  const uint32_t pairs[] = {0xcc}, split[] = {0xc4}, across[] = {0x6};
  EXPECT_EQ(make_cu_mask(pairs, {}, 40, true).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(make_cu_mask(split, {}, 40, true).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask(across, {}, 40, true).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask(split, {}, 40, false).status, HSA_STATUS_SUCCESS);
}

TEST(CuMask, LeavesSomethingOn) {
  const uint32_t none[] = {0}, beyond[] = {0, 1};
  EXPECT_EQ(make_cu_mask(none, {}, 40, false).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask(beyond, {}, 32, false).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace rigel::gfx
