#include "loader/module/dynamic_module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>

#include <fmt/core.h>

#include "loader/module/elf_check.hpp"
#include "loader/module/testing/scratch_world.hpp"

namespace rigel {
namespace {

using ::testing::HasSubstr;

class DynamicModuleTest : public ScratchWorld {
 protected:
  void SetUp() override {
    ScratchWorld::SetUp();
    const std::ifstream file(fmt::format("{}/module_good.so", RIGEL_TEST_MODULES), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    good = bytes.str();
    ASSERT_GT(good.size(), sizeof(Elf64_Ehdr));
  }

  // Returns the path of the valid module with a modified ELF header.
  template <class Change>
  std::string changed(Change&& change) {
    Elf64_Ehdr header;
    std::memcpy(&header, good.data(), sizeof header);
    change(header);
    std::string bytes = good;
    std::memcpy(bytes.data(), &header, sizeof header);
    return write("changed.so", bytes);
  }

  static std::string failure(const std::string& path) {
    const auto module = DynamicModule::open(path);
    return module ? "opened" : module.error();
  }

  std::string good;
};

TEST_F(DynamicModuleTest, OpensAndFindsSymbols) {
  const auto module = DynamicModule::open(write("good.so", good));
  ASSERT_TRUE(module) << module.error();
  EXPECT_NE(module->symbol("hsa_backend_query_v1"), nullptr);
  EXPECT_EQ(module->symbol("hsa_backend_query_v2"), nullptr);
}

TEST_F(DynamicModuleTest, KeepsSymbolsPrivate) {
  ASSERT_TRUE(DynamicModule::open(write("good.so", good)));
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "hsa_backend_query_v1"), nullptr);
}

TEST_F(DynamicModuleTest, StaysLoadedAfterClose) {
  const std::string path = write("pinned.so", good);
  ASSERT_TRUE(DynamicModule::open(path));
  // Closes every possible reference; a module that is not pinned would be unmapped.
  for (int i = 0; i < 8; ++i) {
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(handle, nullptr);
    ::dlclose(handle);
    ::dlclose(handle);
  }
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(handle, nullptr);
}

TEST_F(DynamicModuleTest, RequiresAbsolutePath) {
  EXPECT_EQ(failure("libm.so.6"), "libm.so.6: not an absolute path");
  EXPECT_EQ(failure(""), ": not an absolute path");
}

TEST_F(DynamicModuleTest, RejectsMissingFile) {
  EXPECT_THAT(failure(root / "none.so"), HasSubstr("No such file or directory"));
}

TEST_F(DynamicModuleTest, RejectsOtherFiles) {
  EXPECT_THAT(failure(write("text.so", "INPUT(libfoo.so)\n")), HasSubstr("text.so: not an ELF file"));
  EXPECT_THAT(failure(write("empty.so", "")), HasSubstr("not an ELF file"));
  EXPECT_THAT(failure(root), HasSubstr("not a regular file"));
}

TEST_F(DynamicModuleTest, RejectsOtherArchitecture) {
  EXPECT_THAT(failure(changed([](auto& header) { header.e_ident[EI_CLASS] = ELFCLASS32; })),
              HasSubstr("a 32-bit library in a 64-bit process"));
  EXPECT_THAT(failure(changed([](auto& header) { header.e_ident[EI_DATA] = ELFDATA2MSB; })),
              HasSubstr("the byte order differs from that of this process"));
  EXPECT_THAT(failure(changed([](auto& header) { header.e_machine = EM_AMDGPU; })),
              HasSubstr("built for another architecture (ELF machine 224"));
}

TEST_F(DynamicModuleTest, RejectsOtherElfTypes) {
  EXPECT_THAT(failure(changed([](auto& header) { header.e_type = ET_REL; })),
              HasSubstr("not a shared library (ELF type 1)"));
  EXPECT_THAT(failure(changed([](auto& header) { header.e_phnum = 0; })),
              HasSubstr("invalid program headers (0 of"));
  // The first header only, which is not the dynamic section.
  EXPECT_THAT(failure(changed([](auto& header) { header.e_phnum = 1; })), HasSubstr("no dynamic section"));
}

TEST_F(DynamicModuleTest, RejectsTruncatedFile) {
  EXPECT_THAT(failure(write("a.so", good.substr(0, 40))), HasSubstr("truncated within the ELF header"));
  EXPECT_THAT(failure(write("b.so", good.substr(0, 100))), HasSubstr("truncated within the program headers"));
  EXPECT_THAT(failure(write("c.so", good.substr(0, 0x1100))), HasSubstr("truncated: a segment ends at byte"));
  EXPECT_THAT(failure(changed([](auto& header) { header.e_phoff = ~0ull - 100; })),
              HasSubstr("truncated within the program headers"));
}

// A sanitizer's runtime that is loaded late ends the process.
TEST_F(DynamicModuleTest, RejectsMissingSanitizerRuntime) {
  EXPECT_THAT(failure(fmt::format("{}/module_sanitized.so", RIGEL_TEST_MODULES)),
              HasSubstr("module_sanitized.so: built with a sanitizer (lib"));
}

TEST_F(DynamicModuleTest, ReturnsMessageOfDynamicLinker) {
  EXPECT_THAT(failure(fmt::format("{}/module_undefined.so", RIGEL_TEST_MODULES)),
              HasSubstr("undefined symbol: rigel_test_function_that_nobody_defines"));
}

}  // namespace
}  // namespace rigel
