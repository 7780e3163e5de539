#include "plugins/vgpu/exec/native/perf_map.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rigel::vgpu::exec::compiler {
namespace {

namespace fs = std::filesystem;

class PerfMap : public ::testing::Test {
 protected:
  PerfMap() { fs::remove(path_); }
  ~PerfMap() override { fs::remove(path_); }
  static void write(const char* kernel) {
    std::byte code[16] = {};
    write_perf_map(code, kernel, 0);
  }
  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const fs::path path_ = "/tmp/perf-" + std::to_string(getpid()) + ".map";
};

TEST_F(PerfMap, AppendsToFileWithPrivatePermissions) {
  write("first");
  write("second");
  const std::string text = content(path_);
  EXPECT_NE(text.find(" 10 vgpu:first\n"), text.npos) << text;
  EXPECT_NE(text.find(" 10 vgpu:second\n"), text.npos) << text;
  EXPECT_EQ(fs::status(path_).permissions() & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(PerfMap, RejectsLinksPipesAndForeignFiles) {
  char other[] = "/tmp/perf_map_test_XXXXXX";
  ::close(mkstemp(other));
  fs::create_symlink(other, path_);
  write("link");
  fs::remove(path_);
  fs::create_hard_link(other, path_);
  write("name");
  EXPECT_EQ(content(other), "");
  fs::remove(path_);
  fs::remove(other);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  write("pipe");
  if (geteuid() != 0) return;
  fs::remove(path_);
  std::ofstream(path_) << "";
  ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
  write("another user's");
  EXPECT_EQ(content(path_), "");
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
