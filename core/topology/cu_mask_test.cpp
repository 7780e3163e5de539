#include "core/topology/cu_mask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CuGrant, GrantsAllUnitsByDefault) {
  const CuGrant grant = grant_units({}, {}, 36);
  EXPECT_THAT(grant.words, ElementsAre(0xffffffff, 0xf));
  EXPECT_FALSE(grant.reduced);
  EXPECT_THAT(grant_units({}, {}, 64).words, ElementsAre(0xffffffff, 0xffffffff));
  EXPECT_THAT(grant_units({}, {}, 0).words, IsEmpty());
}

TEST(CuGrant, GrantsAllowedUnitsOnly) {
  const uint32_t asked[] = {0xff}, allowed[] = {0xf0, 1};
  const CuGrant grant = grant_units(asked, allowed, 64);
  EXPECT_THAT(grant.words, ElementsAre(0xf0, 0));
  EXPECT_TRUE(grant.reduced);
  const uint32_t within[] = {0x30, 1};
  EXPECT_FALSE(grant_units(within, allowed, 64).reduced);
  const CuGrant all = grant_units({}, allowed, 64);
  EXPECT_THAT(all.words, ElementsAre(0xf0, 1));
  EXPECT_TRUE(all.reduced) << "all were asked for";
}

TEST(CuGrant, MissingUnitsDoNotReduceGrant) {
  const uint32_t asked[] = {0xffffffff, 0xffffffff, 1};
  const CuGrant grant = grant_units(asked, {}, 40);
  EXPECT_THAT(grant.words, ElementsAre(0xffffffff, 0xff));
  EXPECT_FALSE(grant.reduced);
  const uint32_t allowed[] = {0xffffffff, 0xff};
  EXPECT_FALSE(grant_units(asked, allowed, 40).reduced);
}

}  // namespace
}  // namespace rigel
