#include "runtime_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace rigel::vgpu_run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RuntimeFolder : public testing::Test {
 protected:
  RuntimeFolder() {
    char name[] = "/tmp/rigel_runtime_XXXXXX";
    root = fs::canonical(mkdtemp(name));
    for (const char* folder : {"ours", "other", "empty"}) fs::create_directory(root / folder);
    for (const char* folder : {"ours", "other"}) {
      std::ofstream(root / folder / "libhsa-runtime64.so.1.0.1") << folder;
      fs::create_symlink("libhsa-runtime64.so.1.0.1", root / folder / "libhsa-runtime64.so.1");
    }
    std::ofstream(root / "other/libhsa-runtime64.so.1.0.2") << "newer";
  }
  ~RuntimeFolder() override { fs::remove_all(root); }

  auto folder(const std::string& selection) const { return runtime_folder(selection, root / "ours"); }
  fs::path root;
};

TEST_F(RuntimeFolder, RigelSelectsOwnFolder) {
  EXPECT_EQ(folder("rigel"), (root / "ours").string());
  EXPECT_THAT(runtime_folder("rigel", root / "empty").error(), HasSubstr("--runtime system"));
}

TEST_F(RuntimeFolder, SystemSelectsNoFolder) {
  EXPECT_EQ(folder("system"), "");
}

TEST_F(RuntimeFolder, PathSelectsItsDirectory) {
  EXPECT_EQ(folder(root / "other"), (root / "other").string());
  EXPECT_EQ(folder(root / "other/"), (root / "other").string());
  EXPECT_EQ(folder(root / "other/libhsa-runtime64.so.1"), (root / "other").string());
  EXPECT_EQ(folder(root / "other/libhsa-runtime64.so.1.0.1"), (root / "other").string())
      << "by its real name";
  fs::create_directory_symlink("other", root / "link");
  EXPECT_EQ(folder(root / "link"), (root / "other").string());
}

TEST_F(RuntimeFolder, RejectsInvalidPath) {
  EXPECT_THAT(folder("rocr").error(), HasSubstr("rigel, system or a path"));
  EXPECT_THAT(folder(root / "nowhere").error(), HasSubstr("no such file"));
  EXPECT_THAT(folder(root / "empty").error(), HasSubstr("libhsa-runtime64.so.1 not found"));
  EXPECT_THAT(folder(root / "other/libhsa-runtime64.so.1.0.2").error(), HasSubstr("a different file"));
}

TEST(CannotBeNamed, ReportsSeparatorOfDynamicLinker) {
  EXPECT_EQ(cannot_be_named("/usr/lib/rigel", "LD_PRELOAD"), "");
  EXPECT_EQ(cannot_be_named("/my lib", "LD_LIBRARY_PATH"), "");
  EXPECT_THAT(
      cannot_be_named("/my lib", "LD_PRELOAD"),
      HasSubstr("/my lib: invalid directory name: the dynamic linker ends names in LD_PRELOAD at ' '"));
  EXPECT_THAT(cannot_be_named("/a:b", "LD_PRELOAD"), HasSubstr("':'"));
  EXPECT_THAT(cannot_be_named("/a:b", "LD_LIBRARY_PATH"), HasSubstr("':'"));
  EXPECT_THAT(cannot_be_named("/a;b", "LD_LIBRARY_PATH"), HasSubstr("';'"));
}

}  // namespace
}  // namespace rigel::vgpu_run
