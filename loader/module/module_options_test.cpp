#include "loader/module/module_options.hpp"

#include <gmock/gmock.h>

#include "loader/module/module_options_data.hpp"

namespace rigel {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModuleOptions options(const char* text) {
  return make_options(JsonDocument(json::parse(text)));
}

TEST(ModuleOptions, ReturnTypedValues) {
  const auto given = options(R"({"i": -7, "b": true, "s": "text", "l": ["x", "y"]})");
  EXPECT_EQ(given.integer("i", 0), -7);
  EXPECT_TRUE(given.boolean("b", false));
  EXPECT_EQ(given.string("s", ""), "text");
  EXPECT_THAT(given.strings("l"), ElementsAre("x", "y"));
  EXPECT_THAT(given.strings("s"), ElementsAre("text"));
}

TEST(ModuleOptions, ReturnFallbackForMissingMember) {
  for (const auto& none : {ModuleOptions(), options("{}")}) {
    std::string wrong;
    EXPECT_EQ(none.integer("i", 3, &wrong), 3);
    EXPECT_TRUE(none.boolean("b", true, &wrong));
    EXPECT_EQ(none.string("s", "other", &wrong), "other");
    EXPECT_THAT(none.strings("l", &wrong), IsEmpty());
    EXPECT_EQ(none.json(), "{}");
    EXPECT_EQ(wrong, "");
  }
}

TEST(ModuleOptions, ReturnFallbackAndErrorForOtherType) {
  const auto given =
      options(R"({"i": "7", "b": 1, "s": true, "l": ["x", 2], "f": 1.5, "big": 9223372036854775808})");
  EXPECT_EQ(given.integer("i", 3), 3);
  EXPECT_EQ(given.string("s", "other"), "other");
  const auto what_is_wrong = [](auto&& read) {
    std::string wrong;
    read(&wrong);
    return wrong;
  };
  for (const char* key : {"i", "f", "big"}) {
    EXPECT_THAT(what_is_wrong([&](auto* wrong) { EXPECT_EQ(given.integer(key, 3, wrong), 3); }),
                HasSubstr(std::string("option '") + key + "': should be an integer of 64 bits but is "));
  }
  EXPECT_THAT(what_is_wrong([&](auto* wrong) { EXPECT_FALSE(given.boolean("b", false, wrong)); }),
              HasSubstr("'b': should be true or false but is number"));
  EXPECT_THAT(what_is_wrong([&](auto* wrong) { EXPECT_EQ(given.string("s", "other", wrong), "other"); }),
              HasSubstr("'s': should be a string but is boolean"));
  EXPECT_THAT(what_is_wrong([&](auto* wrong) { EXPECT_THAT(given.strings("l", wrong), IsEmpty()); }),
              HasSubstr("'l': should be an array of strings"));
}

TEST(ModuleOptions, AcceptWholeRangeOfIntegers) {
  const auto given = options(R"({"least": -9223372036854775808, "most": 9223372036854775807})");
  EXPECT_EQ(given.integer("least", 0), INT64_MIN);
  EXPECT_EQ(given.integer("most", 0), INT64_MAX);
}

TEST(ModuleOptions, MergeMemberByMember) {
  const auto base = options(R"({"a": 1, "b": 2, "deep": {"x": 1, "y": 2}})");
  const auto over = options(R"({"b": 3, "c": 4, "deep": {"y": 5}})");
  const auto both = base.overlaid_by(over);
  EXPECT_EQ(both.integer("a", 0), 1);
  EXPECT_EQ(both.integer("b", 0), 3);
  EXPECT_EQ(both.integer("c", 0), 4);
  EXPECT_EQ(json::parse(both.json())["deep"], json::parse(R"({"x": 1, "y": 5})"));
  EXPECT_EQ(base.integer("b", 0), 2) << "the base must not change";
  EXPECT_EQ(ModuleOptions().overlaid_by(over).integer("c", 0), 4);
  EXPECT_EQ(base.overlaid_by(ModuleOptions()).integer("b", 0), 2);
}

TEST(ModuleOptions, ReadOwnLevelOnly) {
  const auto given = options(R"({"a": {"b": 1}})");
  EXPECT_EQ(given.integer("b", 0), 0);
  EXPECT_EQ(given.integer("a/b", 0), 0);
}

}  // namespace
}  // namespace rigel
