#include "plugins/trace/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace trace {
namespace {

std::string error_of(std::string_view json) {
  try {
    Options::parse(json);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(Options, AreAllOptional) {
  const Options options = Options::parse("{}");
  EXPECT_EQ(options.file, "trace-%p.pftrace");
  EXPECT_TRUE(options.functions.mean("hsa_init"));
  EXPECT_TRUE(options.memory);
}

TEST(Options, AreRead) {
  const Options options = Options::parse(
      R"({"file": "a", "summary": "none", "functions": ["hsa_queue_*"], "agents": ["gfx9*"], "kernels": ["!copy*"],
          "packets": false, "copies": false, "memory": false, "markers": false, "buffer_kb": 16, "flush_ms": 1})");
  EXPECT_EQ(options.file, "a");
  EXPECT_EQ(options.summary, "none");
  EXPECT_TRUE(options.functions.mean("hsa_queue_create"));
  EXPECT_FALSE(options.functions.mean("hsa_init"));
  EXPECT_FALSE(options.agents.mean("gfx1030"));
  EXPECT_FALSE(options.kernels.mean("copy_all"));
  EXPECT_TRUE(options.kernels.mean("scale"));
  EXPECT_FALSE(options.packets || options.copies || options.memory || options.markers);
  EXPECT_EQ(options.buffer_kb, 16u);
  EXPECT_EQ(options.flush_ms, 1u);
}

TEST(Options, ThatAreWrongAreAllNamed) {
  EXPECT_EQ(error_of("[]"), "the options should be a JSON object");
  EXPECT_EQ(error_of(R"({"file": 1, "flush_ms": 0})"),
            "option 'file' should be a string that is not empty but is 1; "
            "option 'flush_ms' should be an integer from 1 to 60000 but is 0");
  EXPECT_EQ(error_of(R"({"kernels": ["a", 2]})"),
            "option 'kernels' should be a list of patterns but is [\"a\",2]");
  EXPECT_EQ(error_of(R"({"memory": "yes"})"), "option 'memory' should be true or false but is \"yes\"");
  EXPECT_THAT(error_of(R"({"function": []})"),
              ::testing::StartsWith("option 'function' is unknown; there are file, summary, functions,"));
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

TEST(Patterns, MayTakeAway) {
  const Patterns patterns({"hsa_signal_*", "!*_load_*"});
  EXPECT_TRUE(patterns.mean("hsa_signal_wait_relaxed"));
  EXPECT_FALSE(patterns.mean("hsa_signal_load_relaxed"));
  EXPECT_FALSE(patterns.mean("hsa_queue_create"));
}

TEST(Paths, NameTheProcess) {
  EXPECT_EQ(expand_path("a-%p.b", 12), "a-12.b");
  EXPECT_EQ(expand_path("100%%p%", 12), "100%p%");
}

}  // namespace
}  // namespace trace
