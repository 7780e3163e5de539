#include "loader/module/discovery_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace rigel {
namespace {

using ::testing::HasSubstr;

TEST(DiscoveryReport, KeepsOrderOfLines) {
  DiscoveryReport report;
  report.add(Stage::kFound, Outcome::kOk, "a.json");
  report.add(Stage::kOpened, Outcome::kSkipped, "a", "why");
  const auto lines = report.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].subject, "a.json");
  EXPECT_EQ(lines[1].stage, Stage::kOpened);
  EXPECT_EQ(lines[1].text, "why");
}

TEST(DiscoveryReport, FormatsAsText) {
  DiscoveryReport report;
  report.add(Stage::kFound, Outcome::kOk, "a.json");
  report.add(Stage::kNegotiated, Outcome::kSkipped, "a", "why");
  EXPECT_EQ(report.to_text(), "ok      found       a.json\nskipped negotiated  a: why\n");
}

TEST(DiscoveryReport, FormatsAnyBytesAsJson) {
  DiscoveryReport report;
  report.add(Stage::kTool, Outcome::kSkipped, "caf\xe9 \"x\"", "line\nbreak");
  const auto document = nlohmann::json::parse(report.to_json());
  ASSERT_EQ(document.size(), 1u);
  EXPECT_EQ(document[0]["stage"], "tool");
  EXPECT_EQ(document[0]["outcome"], "skipped");
  EXPECT_EQ(document[0]["subject"], "caf\xef\xbf\xbd \"x\"");
  EXPECT_EQ(document[0]["text"], "line\nbreak");
}

TEST(DiscoveryReport, LogsFailuresByDefaultAndSuccessesOnRequest) {
  DiscoveryReport report;
  ::testing::internal::CaptureStderr();
  report.add(Stage::kFound, Outcome::kOk, "quiet.json");
  report.add(Stage::kOpened, Outcome::kFailed, "gfx9", "no such file");
  report.add(Stage::kConfig, Outcome::kWarning, "runtime.json", "unknown key");
  report.add(Stage::kConfig, Outcome::kFailed, "other.json", "it cannot be read");
  const auto log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, Not(HasSubstr("quiet.json")));
  EXPECT_THAT(log, HasSubstr("rigel: warning: backend gfx9: no such file\n"));
  EXPECT_THAT(log, HasSubstr("rigel: warning: runtime.json: unknown key\n"));
  EXPECT_THAT(log, HasSubstr("rigel: error: other.json: it cannot be read\n"));
}

TEST(DiscoveryReport, AcceptsLinesFromAnyThread) {
  DiscoveryReport report;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&report, t] {
      for (int i = 0; i < 200; ++i) report.add(Stage::kNode, Outcome::kOk, "node " + std::to_string(t));
    });
  }
  for (int i = 0; i < 20; ++i) (void)report.to_text();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(report.lines().size(), 800u);
}

}  // namespace
}  // namespace rigel
