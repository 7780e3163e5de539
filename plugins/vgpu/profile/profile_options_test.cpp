#include "plugins/vgpu/profile/profile_options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace rigel::vgpu::profile {
namespace {

TEST(ProfileOutputs, FormatFollowsFromName) {
  const auto outputs =
      parse_outputs("-,a.txt,b/c.json,d.callgrind,callgrind.out.7,e.info,f.folded,g.perfetto");
  ASSERT_TRUE(outputs.has_value()) << outputs.error();
  const std::vector<Output> expected = {{"", Format::kTable},
                                        {"a.txt", Format::kTable},
                                        {"b/c.json", Format::kJson},
                                        {"d.callgrind", Format::kCallgrind},
                                        {"callgrind.out.7", Format::kCallgrind},
                                        {"e.info", Format::kLcov},
                                        {"f.folded", Format::kFolded},
                                        {"g.perfetto", Format::kPerfetto}};
  EXPECT_EQ(*outputs, expected);
}

TEST(ProfileOutputs, ErrorNamesPathOfUnknownFormat) {
  for (const char* const list : {"a.xml", "b.json,a.xml", ".json", "a.xml/json"}) {
    const auto outputs = parse_outputs(list);
    ASSERT_FALSE(outputs.has_value()) << list;
    EXPECT_NE(outputs.error().find("unknown format"), std::string::npos) << outputs.error();
  }
  EXPECT_NE(parse_outputs("b.json,a.xml").error().find("a.xml"), std::string::npos);
}

TEST(ProfileOutputs, PathContainsProcessId) {
  const auto outputs = parse_outputs("run-%p.json");
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(outputs->front().path, "run-" + std::to_string(getpid()) + ".json");
}

TEST(ProfileOptions, SelectLaunchesAndQueues) {
  Options options;
  EXPECT_TRUE(options.selects(7, 1));
  options.launches = *parse_ranges("3,5-8,10-");
  options.queues = *parse_ranges("1");
  for (const uint64_t launch : {3, 5, 8, 10, 1000}) EXPECT_TRUE(options.selects(launch, 1)) << launch;
  for (const uint64_t launch : {1, 4, 9}) EXPECT_FALSE(options.selects(launch, 1)) << launch;
  EXPECT_FALSE(options.selects(3, 2));
}

TEST(ProfileOptions, InvalidRangesAreRejected) {
  for (const char* const list : {"x", "-3", "8-5", "1-2-3", "3 "})
    EXPECT_FALSE(parse_ranges(list).has_value() && !parse_ranges(list)->empty()) << list;
}

TEST(ProfileOptions, AreOffWithoutVariables) {
  unsetenv("VGPU_PROFILE");
  unsetenv("VGPU_PROFILE_AGAINST");
  EXPECT_FALSE(Options::from_environment().is_on());
}

TEST(ProfileOptions, ComparisonAloneTurnsProfileOn) {
  setenv("VGPU_PROFILE_AGAINST", "old.json", 1);
  EXPECT_TRUE(Options::from_environment().is_on());
  unsetenv("VGPU_PROFILE_AGAINST");
}

}  // namespace
}  // namespace rigel::vgpu::profile
