#include "loader/text/json_reader.hpp"

#include <gmock/gmock.h>

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the diagnostics of reading an object, each as "error /pointer: text".
template <class Read>
std::vector<std::string> complaints(std::string_view text, Read&& read) {
  Diagnostics diagnostics;
  const auto document = parse_json(text, diagnostics);
  if (document) read(ObjectReader(&**document, "", diagnostics));
  std::vector<std::string> out;
  for (const auto& entry : diagnostics.entries()) {
    out.push_back((entry.is_error ? "error " : "warning ") + entry.text);
  }
  return out;
}

TEST(JsonReader, ReportsEveryErrorWithPointer) {
  const auto said = complaints(R"({"a": 1, "b": {"c/d": "x", "e": []}})", [](ObjectReader reader) {
    EXPECT_EQ(reader.string("a", ObjectReader::kOptional, "otherwise"), "otherwise");
    ObjectReader b = reader.object("b", ObjectReader::kRequired);
    EXPECT_EQ(b.integer("c/d", ObjectReader::kOptional, 7, 0, 9), 7);
    EXPECT_TRUE(b.boolean("e", true));
    b.string("f", ObjectReader::kRequired);
  });
  EXPECT_THAT(said,
              ElementsAre("error /a: should be a string but is number; did you mean \"1\"?",
                          "error /b/c~1d: should be an integer but is string",
                          "error /b/e: should be true or false but is array", "error /b/f: is missing"));
}

TEST(JsonReader, SuggestsValueForWrongType) {
  const auto said = complaints(
      R"({"list": ["gfx803", "gfx906"], "mixed": ["x", 1], "flag": "on", "bit": 0, "count": "12", "one": "x"})",
      [](ObjectReader reader) {
        reader.string("list", ObjectReader::kOptional);
        reader.string("mixed", ObjectReader::kOptional);
        reader.boolean("flag", false);
        reader.boolean("bit", true);
        reader.integer("count", ObjectReader::kOptional, 0, 0, 99);
        reader.strings("one");
      });
  EXPECT_THAT(said,
              ElementsAre("error /list: should be a string but is array; did you mean \"gfx803,gfx906\"?",
                          "error /mixed: should be a string but is array",
                          "error /flag: should be true or false but is string; did you mean true?",
                          "error /bit: should be true or false but is number; did you mean false?",
                          "error /count: should be an integer but is string; did you mean 12?",
                          "error /one: should be an array but is string; did you mean [\"x\"]?"));
}

TEST(JsonReader, UnknownKeysAreReportedWithSuggestion) {
  const auto read = [](auto&& conclude) {
    return [conclude](ObjectReader reader) {
      reader.string("library", ObjectReader::kOptional);
      reader.boolean("enabled", true);
      conclude(reader);
    };
  };
  constexpr const char* kText = R"({"librray": "x", "zzzzzz": 1})";
  EXPECT_THAT(complaints(kText, read([](const auto& reader) { reader.warn_about_unknown_keys(); })),
              ElementsAre("warning /librray: unknown key; did you mean 'library'?",
                          "warning /zzzzzz: unknown key; use library, enabled"));
  EXPECT_THAT(complaints(kText, read([](const auto& reader) { reader.refuse_unknown_keys(); })),
              ElementsAre("error /librray: unknown key; did you mean 'library'?",
                          "error /zzzzzz: unknown key; use library, enabled"));
}

TEST(JsonReader, NumbersCanBeHexadecimalStrings) {
  const auto said = complaints(R"({"a": 31, "b": "0x1f", "w": ["0xffffffff", 2]})", [](ObjectReader reader) {
    EXPECT_EQ(reader.natural("a", 0, 31), 31u);
    EXPECT_EQ(reader.natural("b", 0, 31), 31u);
    EXPECT_THAT(reader.words("w", 2), ElementsAre(0xffffffff, 2));
  });
  EXPECT_THAT(said, IsEmpty());
}

TEST(JsonReader, InvalidNumbersReturnMinimum) {
  const auto said = complaints(R"({"a": 32, "b": "1f", "c": -1, "d": "0x", "e": "12", "w": [1, -1], "v": 3})",
                               [](ObjectReader reader) {
                                 EXPECT_EQ(reader.natural("a", 1, 31), 1u);
                                 for (const char* key : {"b", "c", "d", "e", "f"}) reader.natural(key, 0, 31);
                                 EXPECT_THAT(reader.words("w", 3), ElementsAre(1, 0, 0));
                                 EXPECT_THAT(reader.words("v", 2), ElementsAre(0, 0));
                               });
  constexpr const char* kWanted = "should be a number, 0 or more, or a string such as \"0x1f\", but is ";
  EXPECT_THAT(
      said,
      ElementsAre("error /a: should be between 1 and 31 but is 32", HasSubstr(std::string("/b: ") + kWanted),
                  HasSubstr(std::string("/c: ") + kWanted), HasSubstr(std::string("/d: ") + kWanted),
                  HasSubstr("did you mean 12?"), "error /f: is missing",
                  "error /w: should have 3 elements but has 2", HasSubstr(std::string("/w/1: ") + kWanted),
                  "error /v: should be an array but is number"));
}

TEST(JsonReader, SuggestionIsTruncatedAndEscaped) {
  const std::string text = R"({"list": [")" + std::string(1000, 'x') + R"(", "\u001b[0m"]})";
  const auto said =
      complaints(text, [](ObjectReader reader) { reader.string("list", ObjectReader::kOptional); });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_LT(said[0].size(), 300u);
  EXPECT_THAT(said[0], Not(HasSubstr("\x1b")));
}

TEST(JsonReader, InvalidJsonIsOneErrorWithPosition) {
  const auto said = complaints("{\"a\": }", [](ObjectReader) { FAIL(); });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("line 1, column 7"));
}

}  // namespace
}  // namespace rigel
