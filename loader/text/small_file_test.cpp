#include "loader/text/small_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rigel {
namespace {

using ::testing::HasSubstr;

class SmallFile : public ::testing::Test {
 protected:
  SmallFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "rigel-small-file-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~SmallFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string folder_;
};

TEST_F(SmallFile, ReadsFileUpToLimit) {
  const auto file = write("a", "0123456789");
  EXPECT_EQ(read_small_file(file, 10), "0123456789");
  EXPECT_EQ(read_small_file(file, 9).error(), "10 bytes exceed the maximum of 9");
  EXPECT_EQ(read_small_file(write("empty", ""), 10), "");
}

TEST_F(SmallFile, ReadsFileOfUnknownSize) {
  const auto text = read_small_file("/proc/self/status", 1 << 20);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("Name:"));
}

TEST_F(SmallFile, RejectsPipeWithoutBlocking) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_small_file(pipe, 10).error(), "not a regular file");
  EXPECT_EQ(read_small_file("/dev/zero", 10).error(), "not a regular file");
  EXPECT_EQ(read_small_file(folder_, 10).error(), "not a regular file");
}

TEST_F(SmallFile, ReportsReasonForUnreadableFile) {
  EXPECT_EQ(read_small_file(path("none"), 10).error(), "No such file or directory");
}

}  // namespace
}  // namespace rigel
