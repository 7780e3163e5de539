#include "plugins/trace/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trace {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> errors_in(std::string_view json) {
  rigel::Diagnostics diagnostics;
  Options::parse(json, diagnostics);
  std::vector<std::string> out;
  for (const auto& entry : diagnostics.entries()) out.push_back(entry.text);
  return out;
}

Options parse(std::string_view json) {
  rigel::Diagnostics diagnostics;
  Options options = Options::parse(json, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  return options;
}

TEST(Options, HaveDefaults) {
  const Options options = parse("{}");
  EXPECT_EQ(options.file, "trace-%p.pftrace");
  EXPECT_TRUE(options.functions.selects("hsa_init"));
  EXPECT_TRUE(options.memory);
}

TEST(Options, AreParsed) {
  const Options options = parse(
      R"({"file": "a", "summary": "none", "functions": ["hsa_queue_*"], "agents": ["gfx9*"], "kernels": ["!copy*"],
          "packets": false, "copies": false, "memory": false, "markers": false, "buffer_kb": 16, "flush_ms": 1})");
  EXPECT_EQ(options.file, "a");
  EXPECT_EQ(options.summary, "none");
  EXPECT_TRUE(options.functions.selects("hsa_queue_create"));
  EXPECT_FALSE(options.functions.selects("hsa_init"));
  EXPECT_FALSE(options.agents.selects("gfx1030"));
  EXPECT_FALSE(options.kernels.selects("copy_all"));
  EXPECT_TRUE(options.kernels.selects("scale"));
  EXPECT_FALSE(options.packets || options.copies || options.memory || options.markers);
  EXPECT_EQ(options.buffer_kb, 16u);
  EXPECT_EQ(options.flush_ms, 1u);
}

TEST(Options, AllErrorsAreReported) {
  EXPECT_THAT(errors_in("[]"), ElementsAre("the document: should be an object but is array"));
  EXPECT_THAT(
      errors_in(R"({"file": ["a"], "summary": "", "flush_ms": 0, "kernels": ["a", 2, "!"], "memory": "yes",
                              "function": []})"),
      ElementsAre("/file: should be a string but is array; did you mean \"a\"?", "/summary: is empty",
                  "/kernels/1: should be a string but is number", "/kernels: '!' is not a pattern",
                  "/memory: should be true or false but is string; did you mean true?",
                  "/flush_ms: should be between 1 and 60000 but is 0",
                  "/function: unknown key; did you mean 'functions'?"));
}

TEST(Patterns, MatchWholeNames) {
  EXPECT_TRUE(matches("hsa_*_create", "hsa_queue_create"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a?c*", "abc"));
  EXPECT_TRUE(matches("*a*b", "aaab"));
  EXPECT_FALSE(matches("hsa_*_create", "hsa_queue_created"));
  EXPECT_FALSE(matches("a?", "a"));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Patterns, ExcludeNames) {
  const Patterns patterns({"hsa_signal_*", "!*_load_*"});
  EXPECT_TRUE(patterns.selects("hsa_signal_wait_relaxed"));
  EXPECT_FALSE(patterns.selects("hsa_signal_load_relaxed"));
  EXPECT_FALSE(patterns.selects("hsa_queue_create"));
}

TEST(Paths, ContainProcessId) {
  EXPECT_EQ(expand_path("a-%p.b", 12), "a-12.b");
  EXPECT_EQ(expand_path("100%%p%", 12), "100%p%");
}

}  // namespace
}  // namespace trace
