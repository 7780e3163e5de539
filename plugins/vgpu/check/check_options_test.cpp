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
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.exit_status, 7);
  EXPECT_EQ(options.limit, 100u) << "an invalid number selects the default";
  for (const char* name : {"VGPU_CHECK", "VGPU_CHECK_OUTPUT", "VGPU_CHECK_STATUS", "VGPU_CHECK_LIMIT"})
    unsetenv(name);
}

}  // namespace
}  // namespace rigel::vgpu::check
