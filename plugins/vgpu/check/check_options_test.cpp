#include "plugins/vgpu/check/check_options.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::vgpu::check {
namespace {

TEST(ParseTools, SelectsListedTools) {
  EXPECT_EQ(parse_tools("memory"), 1u << static_cast<int>(Tool::kMemory));
  EXPECT_EQ(parse_tools("races,waits"),
            1u << static_cast<int>(Tool::kRaces) | 1u << static_cast<int>(Tool::kWaits));
  EXPECT_EQ(parse_tools("all"), (1u << kTools) - 1);
  EXPECT_EQ(parse_tools(""), 0u);
}

TEST(ParseTools, NamesUnknownWord) {
  EXPECT_THAT(parse_tools("memory,race").error(), testing::HasSubstr("'race'; did you mean 'races'?"));
  EXPECT_THAT(parse_tools("x").error(), testing::HasSubstr("memory, races, sync, waits, init or all"));
}

TEST(Options, FromEnvironmentReadsVariables) {
  setenv("VGPU_CHECK", "sync", 1);
  setenv("VGPU_CHECK_OUTPUT", "json", 1);
  setenv("VGPU_CHECK_STATUS", "7", 1);
  setenv("VGPU_CHECK_LIMIT", "many", 1);
  const Options options = Options::from_environment();
  EXPECT_TRUE(options.has(Tool::kSync));
  EXPECT_FALSE(options.has(Tool::kMemory));
  EXPECT_TRUE(options.observes_waves());
  EXPECT_EQ(options.format, Format::kJson);
  EXPECT_EQ(options.exit_status, 7);
  EXPECT_EQ(options.limit, 100u) << "an invalid number selects the default";
  for (const char* name : {"VGPU_CHECK", "VGPU_CHECK_OUTPUT", "VGPU_CHECK_STATUS", "VGPU_CHECK_LIMIT"})
    unsetenv(name);
}

std::string problem_with(const char* variable, std::string_view value, Options& options) {
  for (const Setting& setting : settings()) {
    if (std::string_view(setting.variable) == variable) return setting.read(value, options);
  }
  return "unknown variable";
}

TEST(Options, SelectsLaunchesAndKernels) {
  Options options;
  EXPECT_TRUE(options.selects(7, "scale(int*)"));
  EXPECT_EQ(problem_with("VGPU_CHECK_LAUNCH", "3,5-6,10-", options), "");
  EXPECT_EQ(problem_with("VGPU_CHECK_KERNEL", "scale", options), "");
  std::vector<int> selected;
  for (int launch = 1; launch <= 11; ++launch) {
    if (options.selects(static_cast<uint64_t>(launch), "scale(int*)")) selected.push_back(launch);
  }
  EXPECT_THAT(selected, testing::ElementsAre(3, 5, 6, 10, 11));
  EXPECT_FALSE(options.selects(3, "reverse(int*)"));
}

TEST(Options, InvalidLaunchesAreNamed) {
  Options options;
  for (const char* value : {"0", "5-3", "x", "-3", "3-5-7", "3,,x"})
    EXPECT_THAT(problem_with("VGPU_CHECK_LAUNCH", value, options), testing::StartsWith("invalid value "))
        << value;
  EXPECT_TRUE(options.launches.empty());
}

TEST(Options, ChildrenAreYesNoOrProcess) {
  Options options;
  EXPECT_EQ(problem_with("VGPU_CHECK_CHILDREN", "no", options), "");
  EXPECT_FALSE(options.checks_children);
  EXPECT_EQ(problem_with("VGPU_CHECK_CHILDREN", "123", options), "");
  EXPECT_EQ(options.only_process, 123);
  EXPECT_EQ(problem_with("VGPU_CHECK_CHILDREN", "some", options), "invalid value 'some'; use yes or no");
}

}  // namespace
}  // namespace rigel::vgpu::check
