#include "loader/module/files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "loader/module/testing/scratch_world.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Files : public ScratchWorld {};

TEST_F(Files, ListsDirectorySortedByBytes) {
  for (const char* name : {"b.json", "a.json", "B.json", ".hidden.json", "c.json~", "10.json", "9.json"}) {
    write(std::string("folder/") + name, "");
  }
  EXPECT_THAT(*list_folder(root / "folder", ".json"),
              ElementsAre("10.json", "9.json", "B.json", "a.json", "b.json"));
  EXPECT_FALSE(list_folder(root / "none", ".json"));
}

TEST_F(Files, SplitsPaths) {
  EXPECT_EQ(folder_of("/a/b"), "/a");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(file_name_of("/a/b.json"), "b.json");
  EXPECT_EQ(file_name_of("b.json"), "b.json");
}

class CheckTrusted : public ScratchWorld {
 protected:
  void SetUp() override {
    ScratchWorld::SetUp();
    file = write("outer/inner/file", "x");
    for (const char* folder : {"outer", "outer/inner"}) ::chmod((root / folder).c_str(), 0755);
    ::chmod(file.c_str(), 0644);
  }
  auto check() { return check_trusted(file, environment.owner); }
  std::string file;
};

TEST_F(CheckTrusted, AcceptsFileOfOwner) {
  EXPECT_TRUE(check()) << check().error();
}

TEST_F(CheckTrusted, RejectsWritableFile) {
  ::chmod(file.c_str(), 0664);
  EXPECT_THAT(check().error(), HasSubstr("file is writable by group or others (mode 664)"));
  ::chmod(file.c_str(), 0646);
  EXPECT_FALSE(check());
}

TEST_F(CheckTrusted, RejectsWritableDirectory) {
  ::chmod((root / "outer/inner").c_str(), 0775);
  EXPECT_THAT(check().error(), HasSubstr("inner is writable"));
  ::chmod((root / "outer/inner").c_str(), 01777);
  EXPECT_THAT(check().error(), HasSubstr("inner is writable")) << "others could add files to it";
}

TEST_F(CheckTrusted, RejectsWritableParentUnlessSticky) {
  ::chmod((root / "outer").c_str(), 0777);
  EXPECT_THAT(check().error(), HasSubstr("outer is writable"));
  ::chmod((root / "outer").c_str(), 01777);
  EXPECT_TRUE(check()) << check().error();
}

TEST_F(CheckTrusted, RejectsOtherOwner) {
  constexpr uid_t kSomebody = 54321;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(file.c_str(), kSomebody, static_cast<gid_t>(-1)), 0);
  } else {
    environment.owner = kSomebody;
  }
  EXPECT_THAT(check().error(), HasSubstr("not to root"));
}

}  // namespace
}  // namespace rigel
