// Truncation and exclusive access of the trace's file.
#include "plugins/trace/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "api/support/testing/file_limit.hpp"

namespace {
bool file_system_has_locks = true;
}  // namespace

// Replaces the C library's function, so that tests can simulate a file system without locks.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (file_system_has_locks) return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
  errno = ENOLCK;
  return -1;
}

namespace trace {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  ~OutputFileTest() override {
    file_system_has_locks = true;
    std::filesystem::remove(path_);
  }
  void write(std::string_view text, bool append) const {
    OutputFile file;
    file.open(path_, append);
    EXPECT_EQ(file.write(text), 0);
  }
  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("output-file-test-" + std::to_string(::getpid()));
};

TEST_F(OutputFileTest, IsTruncatedUnlessAppending) {
  for (const bool locks : {true, false}) {
    file_system_has_locks = locks;
    write("of an earlier process", false);
    write("one,", false);
    write("two", true);
    EXPECT_EQ(content(), "one,two") << (locks ? "with locks" : "without locks");
  }
}

TEST_F(OutputFileTest, WriteAboveSizeLimitFails) {
  OutputFile file;
  file.open(path_, false);
  EXPECT_EQ(file.write("1234"), 0);
  const rigel::FileLimit limit(6);
  EXPECT_EQ(file.write("5678"), EFBIG);
  EXPECT_EQ(content(), "123456");
}

TEST_F(OutputFileTest, RejectsSecondWriter) {
  OutputFile first, second;
  first.open(path_, false);
  EXPECT_THROW(second.open(path_, false), std::runtime_error);
  first.close();
  EXPECT_NO_THROW(second.open(path_, false));
}

TEST_F(OutputFileTest, DeviceAcceptsSecondWriter) {
  OutputFile first, second;
  first.open("/dev/null", false);
  EXPECT_NO_THROW(second.open("/dev/null", false));
}

TEST_F(OutputFileTest, PipeAcceptsSecondWriter) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::fstream reader(path_);  // open for reading and writing, so that open() does not block
  OutputFile first, second;
  first.open(path_, false);
  EXPECT_NO_THROW(second.open(path_, false));
}

}  // namespace
}  // namespace trace
