#include "plugins/vgpu/isa/target.hpp"

#include <gtest/gtest.h>

#include <set>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {
namespace {

TEST(IsaTarget, RoundTripsNames) {
  for (const char* text : {"gfx803", "gfx900", "gfx906", "gfx90a", "gfx90c", "gfx942", "gfx1010", "gfx1030",
                           "gfx1100", "gfx1151", "gfx1201"}) {
    const auto target = target_of(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(name(*target), text);
    EXPECT_FALSE(chip_set(*target).is_empty()) << text;
  }
  EXPECT_EQ(target_of("gfx906:sramecc+:xnack-"), (Target{9, 0, 6}));
}

TEST(IsaTarget, RejectsUnknownNames) {
  for (const char* text : {"", "gfx", "gfx9", "gfx700", "gfx1104", "gfx1202", "gfx9x0", "sm_80", "gfx90z",
                           "gfx10300", "gfx804", "gfx1020"})
    EXPECT_FALSE(target_of(text)) << text;
  for (const Target& target : {Target{9, 4, 3}, Target{8, 0, 16}, Target{255, 255, 255}}) {
    EXPECT_TRUE(chip_set(target).is_empty()) << name(target);
    EXPECT_EQ(target.family(), Family::kNone) << name(target);
  }
}

TEST(IsaTarget, EachChipHasItsOwnBitAndFamily) {
  ChipSet seen;
  for (const Target& target : all_targets()) {
    const ChipSet chip = chip_set(target);
    EXPECT_FALSE(seen.intersects(chip)) << name(target);
    EXPECT_EQ(target_of(name(target)), target);
    for (const Family family : {Family::kGfx8, Family::kGfx9, Family::kGfx10, Family::kGfx11, Family::kGfx12})
      EXPECT_EQ(chip_set(family).intersects(chip), target.family() == family) << name(target);
    seen |= chip;
  }
}

TEST(IsaTraits, ExistExactlyForChipsOfTheTables) {
  for (const Target& target : all_targets()) EXPECT_NE(find_traits(target), nullptr) << name(target);
  for (const Target& target :
       {Target{8, 0, 4}, Target{9, 4, 3}, Target{10, 2, 0}, Target{11, 0, 4}, Target{12, 0, 2}}) {
    EXPECT_EQ(find_traits(target), nullptr) << name(target);
  }
}

TEST(IsaOp, HasNamesAndFamilies) {
  EXPECT_EQ(name(Op::none), "none");
  EXPECT_EQ(name(Op::v_add_f32), "v_add_f32");
  EXPECT_EQ(name(static_cast<Op>(kOpCount)), "?");
  EXPECT_TRUE(exists_on(Op::v_add_co_u32, Family::kGfx8));
  EXPECT_FALSE(exists_on(Op::v_add_u32, Family::kGfx8));
  EXPECT_TRUE(exists_on(Op::global_load_dword, Family::kGfx9));
  EXPECT_FALSE(exists_on(Op::global_load_dword, Family::kGfx8));
}

TEST(IsaOp, NamesAreUnique) {
  std::set<std::string_view> names;
  for (size_t i = 0; i != kOpCount; ++i) EXPECT_TRUE(names.insert(name(static_cast<Op>(i))).second);
}

}  // namespace
}  // namespace rigel::vgpu::isa
