#include "plugins/vgpu/kfd/vgpu_log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "api/support/testing/file_limit.hpp"

namespace rigel::vgpu {
namespace {

std::string stderr_of_log(const char* words, const char* path) {
  ::testing::internal::CaptureStderr();
  const Log log(words, path);
  return ::testing::internal::GetCapturedStderr();
}

constexpr const char* kInvalidPath = "/dev/null/log";

TEST(Log, WarnsIfFileCannotBeOpened) {
  EXPECT_NE(
      stderr_of_log("", kInvalidPath).find("VGPU_LOG_FILE: cannot open '/dev/null/log': Not a directory"),
      std::string::npos);
  EXPECT_EQ(stderr_of_log("", "/dev/null"), "");
}

TEST(Log, NoneSuppressesWarnings) {
  EXPECT_EQ(stderr_of_log("none", kInvalidPath), "");
}

TEST(Log, SendsWarningsToSink) {
  std::string log_lines;
  const auto write = [](void* self, LogCategory, std::string_view line) {
    static_cast<std::string*>(self)->append(line).append("\n");
  };
  ::testing::internal::CaptureStderr();
  const Log log("quue", kInvalidPath, {write, &log_lines});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_NE(log_lines.find("VGPU_LOG_FILE: cannot open '/dev/null/log': Not a directory\n"),
            std::string::npos)
      << log_lines;
  EXPECT_NE(log_lines.find("did you mean 'queue'?"), std::string::npos) << log_lines;
}

// A named pipe, opened for reading without blocking.
class LogToPipe : public ::testing::Test {
 protected:
  LogToPipe() { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  ~LogToPipe() override { ::unlink(path_.c_str()); }
  int open_reader() const { return ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }
  const std::string path_ = "/tmp/vgpu_log_test_" + std::to_string(getpid());
};

TEST_F(LogToPipe, OpenFailsWithoutReader) {
  EXPECT_NE(stderr_of_log("", path_.c_str()).find("': No such device or address"), std::string::npos);
}

TEST_F(LogToPipe, SurvivesCloseOfReader) {
  const sighandler_t before = std::signal(SIGPIPE, SIG_DFL);
  const int reader = open_reader();
  Log log("", path_.c_str());
  log(LogCategory::kWarning, "first");
  char text[64] = "";
  EXPECT_GT(::read(reader, text, sizeof text - 1), 0);
  EXPECT_NE(std::strstr(text, "warning: first\n"), nullptr) << text;
  ::close(reader);
  log(LogCategory::kWarning, "second");
  std::signal(SIGPIPE, before);
}

TEST(LogToFile, SurvivesFileSizeLimit) {
  char path[] = "/tmp/vgpu_log_test_XXXXXX";
  ::close(mkstemp(path));
  Log log("", path);
  log(LogCategory::kWarning, "first");
  struct stat full {};
  ASSERT_EQ(::stat(path, &full), 0);
  {
    const FileLimit limit(static_cast<rlim_t>(full.st_size));
    log(LogCategory::kWarning, "second");
  }
  log(LogCategory::kWarning, "third");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("first\n"), text.npos);
  EXPECT_EQ(text.find("second\n"), text.npos);
  EXPECT_NE(text.find("third\n"), text.npos);
  ::unlink(path);
}

TEST_F(LogToPipe, WaitsForSlowReader) {
  const int reader = open_reader();
  constexpr int kLines = 4000, kText = 64;  // more than a pipe's capacity
  std::thread writer([&] {
    Log log("", path_.c_str());
    for (int i = 0; i < kLines; ++i) log(LogCategory::kWarning, "{}", std::string(kText, 'x'));
  });
  ::fcntl(reader, F_SETFL, 0);
  long lines = 0;
  char text[4096];
  while (lines < kLines) {
    const auto bytes = ::read(reader, text, sizeof text);
    if (bytes > 0) lines += std::count(text, text + bytes, '\n');
  }
  writer.join();
  ::close(reader);
  EXPECT_EQ(lines, kLines);
}

}  // namespace
}  // namespace rigel::vgpu
