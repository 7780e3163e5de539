#include "plugins/vgpu/check/findings.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/check/test_bus.hpp"

namespace rigel::vgpu::check {
namespace {

using testing::HasSubstr;

Finding overrun(uint64_t pc, std::string kernel) {
  Finding finding;
  finding.kind = kind_of(Tool::kMemory, kPastEnd, 0, pc, 0);
  finding.summary = "out-of-bounds write";
  finding.kernel = std::move(kernel);
  return finding;
}

// Counts and reports a finding, as the executor does.
void find(Findings& findings, const Finding& finding, DeviceBus& bus) {
  if (findings.count(finding.kind, finding.severity)) findings.add(finding, bus, 1);
}

Options all_tools() {
  Options options;
  options.tools = (1u << kTools) - 1;
  return options;
}

TEST(Findings, CountReturnsTrueForFirstOfKind) {
  Findings findings(all_tools());
  const Kind race = kind_of(Tool::kRaces, kLdsRace, 0, 0x200, 0x100);
  EXPECT_TRUE(findings.count(race, Severity::kError));
  EXPECT_FALSE(findings.count(race, Severity::kError));
  EXPECT_TRUE(findings.count(kind_of(Tool::kRaces, kLdsRace, 0, 0x100, 0x204), Severity::kError));
  EXPECT_EQ(findings.errors(), 2u);
}

TEST(Findings, SummaryCountsKindsAndTimes) {
  Findings findings(all_tools());
  EXPECT_EQ(findings.summary().text(),
            "check: 0 errors, 0 warnings by memory, races, sync, waits, init\n"
            "check: not checked: the process has launched no kernels\n");
  EXPECT_EQ(findings.number_launch(), 1u);
  EXPECT_EQ(findings.summary().text(), "check: 0 errors, 0 warnings by memory, races, sync, waits, init\n");
  for (int i = 0; i < 3; ++i) findings.count(kind_of(Tool::kMemory, kPastEnd, 0, 0x100, 0), Severity::kError);
  findings.count(kind_of(Tool::kSync, kMissedBarrier, 0, 0x200, 0), Severity::kWarning);
  findings.note_unchecked("images");
  findings.note_unchecked("images");
  EXPECT_EQ(findings.summary().text(),
            "check: 1 error (found 3 times), 1 warning by memory, races, sync, waits, init\n"
            "check: not checked: images\n");
}

TEST(Findings, ReportsEndAtLimit) {
  Options options = all_tools();
  options.limit = 2;
  Findings findings(options);
  TestBus bus;
  for (uint64_t pc = 0; pc < 5; ++pc) find(findings, overrun(pc, "scale(int*)"), bus);
  EXPECT_EQ(bus.texts.size(), 2u);
  EXPECT_EQ(findings.errors(), 5u);
  EXPECT_THAT(findings.summary().text(),
              HasSubstr("findings over the limit, which were not printed: 3; use --check-limit"));
}

TEST(Findings, ReportEndsWithItsSuppression) {
  Findings findings(all_tools());
  TestBus bus;
  find(findings, overrun(0x100, "scale(int*)"), bus);
  EXPECT_THAT(bus.texts,
              testing::ElementsAre(testing::EndsWith("suppress     memory/out-of-bounds: scale(int*)")));
}

TEST(Findings, SuppressedFindingsAreOnlyCounted) {
  Options options = all_tools();
  options.limit = 1;
  ASSERT_EQ(parse_suppressions("memory: third_party*\nraces: scale*\n", "s.txt", options.suppressions), "");
  Findings findings(options);
  findings.number_launch();
  TestBus bus;
  find(findings, overrun(0x100, "scale(int*)"), bus);
  for (int i = 0; i < 3; ++i) find(findings, overrun(0x200, "third_party_sort(int*)"), bus);
  EXPECT_EQ(bus.texts.size(), 1u);
  EXPECT_EQ(findings.errors(), 1u);
  EXPECT_EQ(findings.summary().text(),
            "check: 1 error, 0 warnings by memory, races, sync, waits, init\n"
            "check: 1 suppressed finding (found 3 times)\n"
            "check: unused suppression: s.txt:2: races: scale*\n");
}

TEST(Findings, SummaryCountsUnselectedLaunches) {
  Findings findings(all_tools());
  for (int i = 0; i < 3; ++i) findings.number_launch();
  findings.note_unselected_launch();
  EXPECT_THAT(findings.summary().text(), HasSubstr("not checked: 1 of 3 launches, which --check-kernel or"));
}

TEST(Findings, ChildOfForkIsSilentIfOnlyItsParentIsChecked) {
  Options options = all_tools();
  options.only_process = 1;
  Findings findings(options);
  findings.forget();
  EXPECT_FALSE(findings.count(kind_of(Tool::kMemory, kPastEnd, 0, 0x100, 0), Severity::kError));
  EXPECT_EQ(findings.errors(), 0u);
}

TEST(Findings, ForgetRemovesFindings) {
  Findings findings(all_tools());
  findings.count(kind_of(Tool::kMemory, kPastEnd, 0, 0x100, 0), Severity::kError);
  findings.forget();
  EXPECT_EQ(findings.errors(), 0u);
}

}  // namespace
}  // namespace rigel::vgpu::check
