#include "plugins/vgpu/check/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::vgpu::check {
namespace {

using testing::HasSubstr;

Options all_tools() {
  Options options;
  options.tools = (1u << kTools) - 1;
  return options;
}

TEST(Findings, CountReturnsTrueForFirstOfKind) {
  Findings findings(all_tools());
  const Kind race{Tool::kRaces, 1, 0, 0x100, 0x200};
  EXPECT_TRUE(findings.count(race, Severity::kError));
  EXPECT_FALSE(findings.count(race, Severity::kError));
  EXPECT_TRUE(findings.count({Tool::kRaces, 1, 0, 0x100, 0x204}, Severity::kError));
  EXPECT_EQ(findings.errors(), 2u);
}

TEST(Findings, SummaryCountsKindsAndTimes) {
  Findings findings(all_tools());
  EXPECT_EQ(findings.summary(), "check: 0 errors, 0 warnings by memory, races, sync, waits, init\n");
  for (int i = 0; i < 3; ++i) findings.count({Tool::kMemory, 0, 0, 0x100, 0}, Severity::kError);
  findings.count({Tool::kSync, 0, 0, 0x200, 0}, Severity::kWarning);
  findings.note_unchecked("images");
  findings.note_unchecked("images");
  EXPECT_EQ(findings.summary(),
            "check: 1 error (found 3 times), 1 warning by memory, races, sync, waits, init\n"
            "check: not checked: images\n");
}

TEST(Findings, CountStopsAtLimit) {
  Options options = all_tools();
  options.limit = 2;
  Findings findings(options);
  int described = 0;
  for (uint64_t pc = 0; pc < 5; ++pc)
    described += findings.count({Tool::kMemory, 0, 0, pc, 0}, Severity::kError);
  EXPECT_EQ(described, 2);
  EXPECT_EQ(findings.errors(), 5u);
  EXPECT_THAT(findings.summary(), HasSubstr("3 findings were not printed; raise VGPU_CHECK_LIMIT"));
}

TEST(Findings, ForgetRemovesFindings) {
  Findings findings(all_tools());
  findings.count({Tool::kMemory, 0, 0, 0x100, 0}, Severity::kError);
  findings.forget();
  EXPECT_EQ(findings.errors(), 0u);
}

}  // namespace
}  // namespace rigel::vgpu::check
