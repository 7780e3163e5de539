#include "plugins/vgpu/isa/target.hpp"

#include <gtest/gtest.h>

#include <set>

#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {
namespace {

TEST(IsaTarget, RoundTripsNames) {
  for (const char* text : {"gfx803", "gfx900", "gfx906", "gfx90a", "gfx90c", "gfx1010", "gfx1030"}) {
    const auto target = target_of(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(name(*target), text);
    EXPECT_NE(chip_bit(*target), 0u) << text;
  }
  EXPECT_EQ(target_of("gfx906:sramecc+:xnack-"), (Target{9, 0, 6}));
}

TEST(IsaTarget, RejectsUnknownNames) {
  for (const char* text : {"", "gfx", "gfx9", "gfx700", "gfx1100", "gfx1200", "gfx9x0", "sm_80", "gfx90z",
                           "gfx10300", "gfx804", "gfx1020"})
    EXPECT_FALSE(target_of(text)) << text;
  EXPECT_EQ(chip_bit({9, 4, 2}), 0u);
}

TEST(IsaTraits, ExistExactlyForChipsOfTheTables) {
  for (uint32_t bit = 1; bit != 0; bit <<= 1) {
    const auto target = target_of_bit(bit);
    if (!target) break;
    EXPECT_NE(find_traits(*target), nullptr) << name(*target);
  }
  for (const Target& target : {Target{8, 0, 4}, Target{9, 4, 2}, Target{10, 2, 0}, Target{11, 0, 0}}) {
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
