#include "loader/code_object/target_id.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

constexpr auto kAny = TargetFeature::kAny;
constexpr auto kOff = TargetFeature::kOff;
constexpr auto kOn = TargetFeature::kOn;

TEST(TargetId, IsParsedWithAndWithoutIsaPrefix) {
  const TargetId expected{"gfx90a", kOn, kOff};
  EXPECT_EQ(parse_target_id("gfx90a:sramecc+:xnack-"), expected);
  EXPECT_EQ(parse_target_id("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"), expected);
}

TEST(TargetId, FeaturesAreWrittenInCanonicalOrder) {
  EXPECT_EQ(to_string(*parse_target_id("gfx908:xnack+:sramecc-")), "gfx908:sramecc-:xnack+");
  EXPECT_EQ(to_string(*parse_target_id("gfx9-4-generic")), "gfx9-4-generic");
}

TEST(TargetId, RejectsInvalidText) {
  for (const char* text :
       {"", ":", ":xnack+", "gfx900:", "gfx900:xnack", "gfx900:xnack*", "gfx900:+", "gfx900:cumode+",
        "gfx900:xnack+:xnack-", "gfx900::xnack+", "amdgcn-amd-amdhsa--"}) {
    EXPECT_FALSE(parse_target_id(text)) << text;
  }
}

TEST(TargetId, FindsEveryProcessorByNumber) {
  EXPECT_EQ(find_amd_processor(0x2c)->name, "gfx900");
  EXPECT_EQ(find_amd_processor(0x3a)->name, "gfx602");
  EXPECT_EQ(find_amd_processor(0x5f)->name, "gfx9-4-generic");
  size_t known = 0;
  for (uint32_t mach = 0; mach <= 0x1ff; ++mach) {
    const AmdProcessor* processor = find_amd_processor(mach);
    if (processor == nullptr) continue;
    ++known;
    EXPECT_EQ(processor->mach, mach);
    EXPECT_EQ(to_string(*parse_target_id(processor->name)), processor->name);
    EXPECT_EQ(find_amd_processor(processor->name), processor);
    EXPECT_TRUE(processor->generic.empty() || find_amd_processor(processor->generic) != nullptr);
  }
  EXPECT_EQ(known, 56u);
  EXPECT_EQ(find_amd_processor(0), nullptr);
  EXPECT_EQ(find_amd_processor(0x27), nullptr);
  EXPECT_EQ(find_amd_processor("gfx9"), nullptr);
}

TEST(TargetId, IsaNameRequiresCanonicalForm) {
  EXPECT_EQ(parse_isa_name("amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-"), (TargetId{"gfx906", kOn, kOff}));
  EXPECT_EQ(parse_isa_name("amdgcn-amd-amdhsa--gfx906:xnack+"), (TargetId{"gfx906", kAny, kOn}));
  EXPECT_EQ(parse_isa_name("amdgcn-amd-amdhsa--gfx1030"), (TargetId{"gfx1030"}));
  for (const char* name : {"gfx906", "amdgcn-amd-amdhsa--gfx906:xnack-:sramecc+", "amdgcn-amd-amdhsa--gfx000",
                           "amdgcn-amd-amdhsa--gfx900:sramecc+", "amdgcn-amd-amdhsa--gfx1030:xnack-",
                           "x86_64-unknown-linux-gnu--x86-64", ""}) {
    EXPECT_FALSE(parse_isa_name(name)) << name;
  }
}

TEST(TargetId, GenericTargetHasSupportedSettings) {
  EXPECT_EQ(generic_of({"gfx906", kOn, kOff}), (TargetId{"gfx9-generic", kAny, kOff}));
  EXPECT_EQ(generic_of({"gfx942", kOn, kOff}), (TargetId{"gfx9-4-generic", kOn, kOff}));
  EXPECT_EQ(generic_of({"gfx1030"}), (TargetId{"gfx10-3-generic"}));
  for (const char* processor : {"gfx803", "gfx90a", "gfx9-generic", "gfx000", ""})
    EXPECT_FALSE(generic_of({processor})) << processor;
}

TEST(TargetId, CodeRunsWithoutContradictingSettings) {
  const TargetId agent{"gfx90a", kOn, kOff};
  EXPECT_TRUE(runs_on({"gfx90a", kAny, kAny}, agent));
  EXPECT_TRUE(runs_on({"gfx90a", kOn, kOff}, agent));
  EXPECT_FALSE(runs_on({"gfx90a", kOff, kAny}, agent));
  EXPECT_FALSE(runs_on({"gfx90a", kAny, kOn}, agent));
  EXPECT_FALSE(runs_on({"gfx908", kAny, kAny}, agent));
  EXPECT_TRUE(runs_on({"gfx9-generic"}, {"gfx906", kOn, kOff}));
  EXPECT_TRUE(runs_on({"gfx9-generic", kAny, kOff}, {"gfx900", kAny, kOff}));
  EXPECT_TRUE(runs_on({"gfx10-3-generic"}, {"gfx1036"}));
  EXPECT_TRUE(runs_on({"gfx9-generic"}, {"gfx9-generic"}));
  EXPECT_FALSE(runs_on({"gfx9-generic", kAny, kOn}, {"gfx900", kAny, kOff}));
  EXPECT_FALSE(runs_on({"gfx10-1-generic"}, {"gfx1030"}));
  EXPECT_FALSE(runs_on({"gfx9-generic"}, {"gfx90a", kOn, kOff})) << "it is of no generic processor";
  EXPECT_FALSE(runs_on({"gfx900"}, {"gfx9-generic"})) << "what only one chip has is not what all have";
  // An agent without the setting does not satisfy a requirement for it.
  EXPECT_FALSE(runs_on({"gfx1030", kAny, kOn}, {"gfx1030", kAny, kAny}));
}

}  // namespace
}  // namespace rigel
