#include "plugins/vgpu/check/suppressions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::vgpu::check {
namespace {

using testing::HasSubstr;

Finding race_in_reverse() {
  Finding finding;
  finding.kind.tool = Tool::kRaces;
  finding.kind.problem = kLdsRace;
  finding.kernel = "void reverse<int>(int*)";
  finding.place.code = "void reverse<int>(int*)+0x1c";
  finding.place.frames = {{"store(int)", "/src/lib/store.h", 7, 3},
                          {finding.kernel, "src/reverse.hip", 20, 11}};
  finding.others.push_back(
      {"earlier read", "void reverse<int>(int*)+0x28", 0, {{finding.kernel, "src/reverse.hip", 22, 13}}});
  return finding;
}

bool suppresses(std::string_view line, const Finding& finding) {
  std::vector<Suppression> list;
  EXPECT_EQ(parse_suppressions(line, "file", list), "");
  return list.size() == 1 && matches(list[0], finding);
}

TEST(Suppressions, MatchCheckAndKernel) {
  const Finding race = race_in_reverse();
  EXPECT_TRUE(suppresses("races: *", race));
  EXPECT_TRUE(suppresses("races/lds: void reverse<*>(int*)", race));
  EXPECT_TRUE(suppresses("*: *reverse*", race));
  EXPECT_FALSE(suppresses("races/memory: *", race));
  EXPECT_FALSE(suppresses("memory: *", race));
  EXPECT_FALSE(suppresses("races: reverse", race)) << "the pattern matches the whole name";
}

TEST(Suppressions, MatchPlacesOfBothAccessesAndInlinedCode) {
  const Finding race = race_in_reverse();
  EXPECT_TRUE(suppresses("races: * at store.h:7", race));
  EXPECT_TRUE(suppresses("races: * at lib/store.h", race));
  EXPECT_TRUE(suppresses("races: * at /src/lib/store.h:7", race));
  EXPECT_TRUE(suppresses("races: * at store(int)", race));
  EXPECT_TRUE(suppresses("races: * at reverse.hip:20", race)) << "into which it was inlined";
  EXPECT_TRUE(suppresses("races: * at reverse.hip:22", race)) << "the other access";
  EXPECT_TRUE(suppresses("races: * at *+0x1c", race));
  EXPECT_FALSE(suppresses("races: * at reverse.hip:21", race));
  EXPECT_FALSE(suppresses("races: * at ore.h:7", race)) << "only whole directories are omitted";
}

TEST(Suppressions, PrintedLineMatchesItsFinding) {
  Finding finding = race_in_reverse();
  EXPECT_EQ(suppression_for(finding), "races/lds: void reverse<int>(int*) at store.h:7");
  EXPECT_TRUE(suppresses(suppression_for(finding), finding));
  finding.place.frames = {{"helper(int)", "", 0, 0}};
  EXPECT_EQ(suppression_for(finding), "races/lds: void reverse<int>(int*) at helper(int)");
  EXPECT_TRUE(suppresses(suppression_for(finding), finding));
  finding.place.frames.clear();
  EXPECT_EQ(suppression_for(finding), "races/lds: void reverse<int>(int*)");
  EXPECT_TRUE(suppresses(suppression_for(finding), finding));
}

TEST(Suppressions, ParseSkipsCommentsAndEmptyLines) {
  std::vector<Suppression> list;
  EXPECT_EQ(parse_suppressions("# a comment\r\n\n  sync: f(int) at a.hip:3  \r\n", "s.txt", list), "");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].position, "s.txt:3");
  EXPECT_EQ(list[0].kernel, "f(int)");
  EXPECT_EQ(list[0].place, "a.hip:3");
}

TEST(Suppressions, ParseNamesEachInvalidLine) {
  std::vector<Suppression> list;
  const std::string wrong =
      parse_suppressions("race: *\nraces: f\nreverse\nraces:\nsync: f at \n", "s.txt", list);
  EXPECT_THAT(wrong, HasSubstr("s.txt:1: unknown check 'race'; did you mean 'races'?"));
  EXPECT_THAT(wrong, HasSubstr("s.txt:3: invalid suppression 'reverse'; use '<check>: <kernel> at <place>'"));
  EXPECT_THAT(wrong, HasSubstr("s.txt:4: the kernel is missing; use * for all kernels"));
  EXPECT_THAT(wrong, HasSubstr("s.txt:5: the place after 'at' is missing"));
  EXPECT_EQ(list.size(), 1u) << "the valid line";
}

TEST(Suppressions, ReadNamesFileThatCannotBeRead) {
  std::vector<Suppression> list;
  EXPECT_EQ(read_suppressions("/no/such/file", list),
            "/no/such/file: cannot read: No such file or directory");
  EXPECT_EQ(read_suppressions("/", list), "/: cannot read: Is a directory");
}

}  // namespace
}  // namespace rigel::vgpu::check
