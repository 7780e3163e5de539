#include "backends/common/queue_cu_mask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::gfx {
namespace {

using ::testing::ElementsAre;

TEST(CuMask, IsLimitedToExistingUnits) {
  const uint32_t asked[] = {0xffffffff, 0xffffffff, 1}, few[] = {0xff};
  const CuMask mask = make_cu_mask(asked, 36, false);
  EXPECT_EQ(mask.status, HSA_STATUS_SUCCESS);
  EXPECT_THAT(mask.words, ElementsAre(0xffffffff, 0xf));
  EXPECT_THAT(make_cu_mask(asked, 64, false).words, ElementsAre(0xffffffff, 0xffffffff));
  EXPECT_THAT(make_cu_mask(few, 64, false).words, ElementsAre(0xff, 0));
}

TEST(CuMask, RequiresWholePairsOnGfx10) {
  const uint32_t pairs[] = {0xcc}, split[] = {0xc4}, across[] = {0x6};
  EXPECT_EQ(make_cu_mask(pairs, 40, true).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(make_cu_mask(split, 40, true).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask(across, 40, true).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask(split, 40, false).status, HSA_STATUS_SUCCESS);
}

TEST(CuMask, RejectsEmptyMask) {
  const uint32_t none[] = {0}, beyond[] = {0, 1};
  EXPECT_EQ(make_cu_mask(none, 40, false).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask({}, 40, false).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_cu_mask(beyond, 32, false).status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace rigel::gfx
