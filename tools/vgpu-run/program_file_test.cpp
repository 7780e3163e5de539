#include "program_file.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace rigel::vgpu_run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class CannotBePreloaded : public testing::Test {
 protected:
  CannotBePreloaded() {
    char name[] = "/tmp/rigel_program_XXXXXX";
    root = fs::canonical(mkdtemp(name));
  }
  ~CannotBePreloaded() override { fs::remove_all(root); }

  std::string file(const char* name, const std::string& content) const {
    const fs::path path = root / name;
    std::ofstream(path, std::ios::binary) << content;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  /// Returns an ELF program that requests this dynamic linker; none if `linker` is empty.
  static std::string program(const std::string& linker, unsigned char bits = ELFCLASS64) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = bits;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = linker.empty() ? 1 : 2;
    Elf64_Phdr segments[2]{};
    segments[0].p_type = PT_LOAD;
    segments[1].p_type = PT_INTERP;
    segments[1].p_offset = sizeof header + sizeof segments;
    segments[1].p_filesz = linker.size() + 1;
    std::string content(reinterpret_cast<const char*>(&header), sizeof header);
    content.append(reinterpret_cast<const char*>(segments), sizeof segments);
    return content + linker + '\0';
  }
  fs::path root;
};

TEST_F(CannotBePreloaded, IsEmptyForOtherPrograms) {
  EXPECT_EQ(cannot_be_preloaded("sh"), "");
  EXPECT_EQ(cannot_be_preloaded("/proc/self/exe"), "");
  EXPECT_EQ(cannot_be_preloaded(file("glibc", program("/lib64/ld-linux-x86-64.so.2"))), "");
  EXPECT_EQ(cannot_be_preloaded(file("text", "echo")), "");
  EXPECT_EQ(cannot_be_preloaded(file("empty", "")), "");
  EXPECT_EQ(cannot_be_preloaded(file("short", program("").substr(0, 70))), "");
  EXPECT_EQ(cannot_be_preloaded(root), "");
  EXPECT_EQ(cannot_be_preloaded("no_such_program_anywhere"), "");
}

TEST_F(CannotBePreloaded, ReportsStaticProgram) {
  const std::string path = file("static", program(""));
  EXPECT_THAT(cannot_be_preloaded(path), StartsWith(path + ": statically linked: "));
  setenv("PATH", (root.string() + ":" + getenv("PATH")).c_str(), 1);
  EXPECT_THAT(cannot_be_preloaded("static"), StartsWith(path + ": statically linked: "));
}

TEST_F(CannotBePreloaded, ReportsMuslProgram) {
  EXPECT_THAT(cannot_be_preloaded(file("musl", program("/lib/ld-musl-x86_64.so.1"))),
              HasSubstr("linked with musl"));
}

TEST_F(CannotBePreloaded, Reports32BitProgram) {
  EXPECT_THAT(cannot_be_preloaded(file("old", program("/lib/ld-linux.so.2", ELFCLASS32))),
              HasSubstr("32-bit program"));
}

TEST_F(CannotBePreloaded, ReportsInterpreterOfScript) {
  const std::string interpreter = file("interpreter", program(""));
  const std::string script = file("script", "#! " + interpreter + " -e\n");
  EXPECT_THAT(cannot_be_preloaded(file("outer", "#!" + script + "\n")),
              StartsWith(interpreter + ": statically linked"));
  const std::string endless = file("endless", "");
  std::ofstream(endless) << "#!" << endless << "\n";
  EXPECT_EQ(cannot_be_preloaded(endless), "");
}

}  // namespace
}  // namespace rigel::vgpu_run
