#include "core/base/log.hpp"

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

TEST_F(Log, ATopicShowsAllItsLevels) {
  configure_log("manifest");
  EXPECT_TRUE(log_enabled(LogLevel::kDebug, LogTopic::kManifest));
  EXPECT_FALSE(log_enabled(LogLevel::kInfo, LogTopic::kQueue));
}

TEST_F(Log, ALevelIncludesTheGraverOnes) {
  configure_log("info");
  EXPECT_TRUE(log_enabled(LogLevel::kInfo, LogTopic::kSignal));
  EXPECT_TRUE(log_enabled(LogLevel::kError, LogTopic::kSignal));
  EXPECT_FALSE(log_enabled(LogLevel::kDebug, LogTopic::kSignal));
}

TEST_F(Log, NoneSilencesEverything) {
  configure_log("none");
  EXPECT_FALSE(log_enabled(LogLevel::kError, LogTopic::kApi));
}

TEST_F(Log, NamesAWordItDoesNotKnow) {
  ::testing::internal::CaptureStderr();
  configure_log("manifest,bogus");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "hsa: warn: api: HSA_LOADER_DEBUG: 'bogus' is neither a level nor a topic\n");
  ::testing::internal::CaptureStderr();
  configure_log("bogus", "/etc/hsa/runtime.json: /log/level");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "hsa: warn: api: /etc/hsa/runtime.json: /log/level: 'bogus' is neither a level nor a topic\n");
}

TEST_F(Log, WritesALongMessageWhole) {
  for (const size_t length : {2047u, 2048u, 2049u, 100'000u}) {
    const std::string text(length, 'x');
    ::testing::internal::CaptureStderr();
    log_message(LogLevel::kError, LogTopic::kApi, "{}", text);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "hsa: error: api: " + text + "\n");
  }
}

TEST_F(Log, GoesToTheFileThatWasNamedLastAndBack) {
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
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "hsa: error: api: back\n");
  for (const std::string& name : names) {
    std::ifstream file(name);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "hsa: error: api: to " + name);
    EXPECT_FALSE(std::getline(file, line)) << "one line each";
    ::unlink(name.c_str());
  }
}

TEST_F(Log, OutlivesTheLimitOfItsFileAndTheReaderOfItsPipe) {
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
  EXPECT_EQ(line, "hsa: error: api: kept");
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

TEST_F(Log, NeverWaitsForAPipe) {
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
