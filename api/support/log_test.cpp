#include "api/support/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "api/support/testing/file_limit.hpp"

namespace rigel {
namespace {

class Log : public ::testing::Test {
 protected:
  void TearDown() override { configure_log(nullptr); }
};

TEST_F(Log, ShowsErrorsAndWarningsByDefault) {
  configure_log(nullptr);
  EXPECT_TRUE(log_enabled(LogLevel::kError, LogTopic::kQueue));
  EXPECT_TRUE(log_enabled(LogLevel::kWarn, LogTopic::kManifest));
  EXPECT_FALSE(log_enabled(LogLevel::kInfo, LogTopic::kManifest));
}

TEST_F(Log, TopicShowsAllLevels) {
  configure_log("manifest");
  EXPECT_TRUE(log_enabled(LogLevel::kDebug, LogTopic::kManifest));
  EXPECT_FALSE(log_enabled(LogLevel::kInfo, LogTopic::kQueue));
}

TEST_F(Log, LevelIncludesMoreSevereLevels) {
  configure_log("info");
  EXPECT_TRUE(log_enabled(LogLevel::kInfo, LogTopic::kSignal));
  EXPECT_TRUE(log_enabled(LogLevel::kError, LogTopic::kSignal));
  EXPECT_FALSE(log_enabled(LogLevel::kDebug, LogTopic::kSignal));
}

TEST_F(Log, NoneSilencesEverything) {
  configure_log("none");
  EXPECT_FALSE(log_enabled(LogLevel::kError, LogTopic::kApi));
}

TEST_F(Log, ReportsUnknownFilter) {
  const std::string words =
      "; use none, all, error, warn, info, debug, manifest, module, chain, api, queue, memory, signal\n";
  ::testing::internal::CaptureStderr();
  configure_log("manifest,bogus");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "rigel: warning: HSA_LOADER_DEBUG: unknown level or topic 'bogus'" + words);
  ::testing::internal::CaptureStderr();
  configure_log("bogus", "/etc/hsa/runtime.json: /log/level");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "rigel: warning: /etc/hsa/runtime.json: /log/level: unknown level or topic 'bogus'" + words);
}

TEST_F(Log, PrintsTopicInDebugLinesOnly) {
  configure_log("all");
  ::testing::internal::CaptureStderr();
  log_message(LogLevel::kError, LogTopic::kQueue, "queue 1: stopped");
  log_message(LogLevel::kWarn, LogTopic::kQueue, "queue 1: slow");
  log_message(LogLevel::kInfo, LogTopic::kQueue, "queue 1: used");
  log_message(LogLevel::kDebug, LogTopic::kQueue, "queue 1: created");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "rigel: error: queue 1: stopped\nrigel: warning: queue 1: slow\nrigel: info: queue 1: used\n"
            "rigel: debug: queue: queue 1: created\n");
}

TEST_F(Log, WritesLongMessages) {
  for (const size_t length : {2047u, 2048u, 2049u, 100'000u}) {
    const std::string text(length, 'x');
    ::testing::internal::CaptureStderr();
    log_message(LogLevel::kError, LogTopic::kApi, "{}", text);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "rigel: error: " + text + "\n");
  }
}

TEST_F(Log, SwitchesBetweenFilesAndStderr) {
  std::string names[2] = {::testing::TempDir() + "rigel-log-a-XXXXXX",
                          ::testing::TempDir() + "rigel-log-b-XXXXXX"};
  for (std::string& name : names) {
    ::close(::mkstemp(name.data()));
    ASSERT_TRUE(log_to_file(name.c_str()));
    log_message(LogLevel::kError, LogTopic::kApi, "to {}", name);
  }
  EXPECT_FALSE(log_to_file("/nonexistent/log"));
  log_to_stderr();
  ::testing::internal::CaptureStderr();
  log_message(LogLevel::kError, LogTopic::kApi, "back");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "rigel: error: back\n");
  for (const std::string& name : names) {
    std::ifstream file(name);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "rigel: error: to " + name);
    EXPECT_FALSE(std::getline(file, line)) << "one line each";
    ::unlink(name.c_str());
  }
}

TEST_F(Log, SurvivesFileLimitAndClosedPipe) {
  std::string name = ::testing::TempDir() + "rigel-log-XXXXXX";
  ::close(::mkstemp(name.data()));
  ASSERT_TRUE(log_to_file(name.c_str()));
  {
    const FileLimit limit(0);
    log_message(LogLevel::kError, LogTopic::kApi, "lost");
  }
  log_message(LogLevel::kError, LogTopic::kApi, "kept");
  std::ifstream file(name);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "rigel: error: kept");
  ::unlink(name.c_str());

  const std::string pipe = ::testing::TempDir() + "rigel-log-pipe-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(log_to_file(pipe.c_str()));
  ::close(reader);
  log_message(LogLevel::kError, LogTopic::kApi, "to nobody");
  log_to_stderr();
  ::unlink(pipe.c_str());
}

TEST_F(Log, DoesNotBlockOnPipe) {
  const std::string pipe = ::testing::TempDir() + "rigel-log-pipe-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(log_to_file(pipe.c_str())) << "nobody reads it";
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(log_to_file(pipe.c_str()));
  for (int i = 0; i < 1000; ++i) log_message(LogLevel::kError, LogTopic::kApi, "{}", std::string(1000, 'x'));
  log_to_stderr();
  ::close(reader);
  ::unlink(pipe.c_str());
}

}  // namespace
}  // namespace rigel
