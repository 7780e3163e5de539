#include "core/topology/cu_mask_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CuMaskList, ParsesRangesAndDigits) {
  const CuMaskList list = parse_cu_mask_list("0,2-3:0-3,32;1:0x10000000F;");
  EXPECT_EQ(list.wrong, "");
  ASSERT_EQ(list.entries.size(), 4u);
  for (const uint32_t gpu : {0u, 2u, 3u}) {
    ASSERT_NE(list.find(gpu), nullptr);
    EXPECT_THAT(*list.find(gpu), ElementsAre(0xf, 1));
  }
  EXPECT_THAT(*list.find(1), ElementsAre(0xf, 1));
  EXPECT_EQ(list.find(4), nullptr);
  EXPECT_FALSE(list.left_out);
}

TEST(CuMaskList, IgnoresSpacesAndCase) {
  const CuMaskList list = parse_cu_mask_list(" 0 :\t0X aB ; 1 : 1 0 - 1 1\n");
  EXPECT_EQ(list.wrong, "");
  EXPECT_THAT(*list.find(0), ElementsAre(0xab));
  EXPECT_THAT(*list.find(1), ElementsAre(0xc00)) << "spaces mean nothing, in a number either";
  EXPECT_TRUE(parse_cu_mask_list("").entries.empty());
  EXPECT_EQ(parse_cu_mask_list(" ").wrong, "");
}

TEST(CuMaskList, StopsAtFirstInvalidSet) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"5", "no ':'"},
      {":1", "empty list"},
      {"5:", "empty list"},
      {"5:x", "invalid number or range 'x'"},
      {"5:1,,2", "invalid number or range ''"},
      {"5:1-", "invalid number or range '1-'"},
      {"5:-1", "invalid number or range '-1'"},
      {"5:1-2-3", "invalid number or range '1-2-3'"},
      {"5:3-2", "invalid range '3-2': its end is less than its start"},
      {"5:1,0-4", "1 is listed twice"},
      {"5,5:1", "5 is listed twice"},
      {"0:1", "GPU 0 is listed twice"},
      {"5,0:1", "GPU 0 is listed twice"},
      {"5:0x", "a mask has no digits"},
      {"5:0x1g", "invalid hexadecimal digit 'g'"},
      {"5:0x00", "selects no compute units"},
      {"5:1:2", "invalid number or range '1:2'"},
      {"0x1:1", "invalid number or range '0x1'"},
  };
  for (const auto& one : cases) {
    const CuMaskList list = parse_cu_mask_list("0:0x3;" + std::string(one.text) + ";1:1");
    EXPECT_THAT(list.wrong, HasSubstr("'" + std::string(one.text) + "': ")) << one.text;
    EXPECT_THAT(list.wrong, HasSubstr(one.why)) << one.text;
    ASSERT_EQ(list.entries.size(), 1u) << one.text;
    EXPECT_THAT(*list.find(0), ElementsAre(3));
  }
  EXPECT_NE(parse_cu_mask_list(";0:1").wrong, "");
}

TEST(CuMaskList, IgnoresNumbersAboveMaximum) {
  const CuMaskList list = parse_cu_mask_list("0-99999999999999999999:0-4294967295");
  EXPECT_EQ(list.wrong, "");
  EXPECT_EQ(list.entries.size(), CuMaskList::kGpusMost);
  EXPECT_EQ(list.find(0)->size(), CuMaskList::kUnitsMost / 32);
  EXPECT_THAT(parse_cu_mask_list("0:4096-4294967295").wrong, HasSubstr("selects no compute units"));
  EXPECT_TRUE(list.left_out);
  EXPECT_TRUE(parse_cu_mask_list("1024:1").entries.empty());
  EXPECT_TRUE(parse_cu_mask_list("1024:1").left_out);
  const CuMaskList digits = parse_cu_mask_list("0:0x" + std::string(5000, 'f'));
  EXPECT_EQ(digits.find(0)->size(), CuMaskList::kUnitsMost / 32);
  EXPECT_TRUE(digits.left_out);
  EXPECT_FALSE(parse_cu_mask_list("0:0x" + std::string(5000, '0') + "1").left_out);
}

}  // namespace
}  // namespace rigel
