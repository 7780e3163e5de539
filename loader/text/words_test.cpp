#include "loader/text/words.hpp"

#include <gmock/gmock.h>

#include <array>

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Glob, MatchesWholeText) {
  EXPECT_TRUE(glob_matches("gfx9", "gfx9"));
  EXPECT_FALSE(glob_matches("gfx9", "gfx90"));
  EXPECT_FALSE(glob_matches("gfx9", "agfx9"));
  EXPECT_FALSE(glob_matches("", "gfx9"));
  EXPECT_TRUE(glob_matches("", ""));
}

TEST(Glob, StarMatchesAnyCharacters) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("gfx*", "gfx"));
  EXPECT_TRUE(glob_matches("*_debug", "gfx9_debug_debug"));
  EXPECT_TRUE(glob_matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_matches("a*b*c", "a-c-b"));
  EXPECT_TRUE(glob_matches("**x**", "x"));
}

TEST(Glob, QuestionMarkMatchesOneCharacter) {
  EXPECT_TRUE(glob_matches("gfx?", "gfx9"));
  EXPECT_FALSE(glob_matches("gfx?", "gfx"));
  EXPECT_TRUE(glob_matches("*?", "a"));
  EXPECT_FALSE(glob_matches("*?", ""));
}

TEST(Glob, ManyStarsAreFast) {
  const std::string pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(glob_matches(pattern, std::string(20'000, 'a')));
}

TEST(Split, OmitsEmptyParts) {
  EXPECT_THAT(split(":a::bc:", ':'), ElementsAre("a", "bc"));
  EXPECT_THAT(split("", ':'), IsEmpty());
  EXPECT_THAT(split(":::", ':'), IsEmpty());
}

TEST(Closest, FindsClosestWord) {
  constexpr std::array<std::string_view, 4> known{"library", "priority", "claims", "arch"};
  EXPECT_EQ(closest("libary", known), "library");
  EXPECT_EQ(closest("prioritiy", known), "priority");
  EXPECT_EQ(closest("hcra", known), "");
  EXPECT_EQ(closest("acrh", known), "arch");
  EXPECT_EQ(closest("colour", known), "");
  constexpr std::string_view kDigits[] = {"0", "1"};
  EXPECT_EQ(closest("2", kDigits), "");
  EXPECT_EQ(closest(std::string(10'000, 'x'), known), "");
}

TEST(InQuotes, EscapesLineBreaks) {
  EXPECT_EQ(in_quotes("a\nb\x7f"), "'a?b?'");
  EXPECT_LT(in_quotes(std::string(5'000, 'x')).size(), 200u);
}

}  // namespace
}  // namespace rigel
