#include "loader/module/loader_environment.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fmt/core.h>

#include "loader/module/testing/scratch_world.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LoaderEnvironmentTest : public ScratchWorld {};

TEST_F(LoaderEnvironmentTest, EmptyVariableIsUnset) {
  variables = {{"EMPTY", ""}, {"SET", "x"}};
  EXPECT_EQ(environment.get("EMPTY"), nullptr);
  EXPECT_EQ(environment.get("UNSET"), nullptr);
  EXPECT_STREQ(environment.get("SET"), "x");
  EXPECT_STREQ(environment.trusted("SET"), "x");
}

TEST_F(LoaderEnvironmentTest, UserDirectoryFollowsBaseDirectorySpecification) {
  EXPECT_EQ(environment.user_folder(), "");
  variables["HOME"] = "/home/ada";
  EXPECT_EQ(environment.user_folder(), "/home/ada/.config/hsa");
  variables["XDG_CONFIG_HOME"] = "/home/ada/settings/";
  EXPECT_EQ(environment.user_folder(), "/home/ada/settings/hsa");
  variables["XDG_CONFIG_HOME"] = "relative";
  EXPECT_EQ(environment.user_folder(), "/home/ada/.config/hsa");
}

TEST_F(LoaderEnvironmentTest, ElevatedProcessIgnoresVariablesThatSelectCode) {
  variables = {{"HOME", "/home/ada"}, {"HSA_BACKEND_MANIFESTS", "x"}};
  environment.elevated = true;
  EXPECT_EQ(environment.user_folder(), "");
  EXPECT_EQ(environment.trusted("HSA_BACKEND_MANIFESTS"), nullptr);
  EXPECT_STREQ(environment.get("HSA_BACKEND_MANIFESTS"), "x");
}

TEST_F(LoaderEnvironmentTest, ElevatedProcessReportsIgnoredVariables) {
  variables = {{"HSA_BACKEND_MANIFESTS", "x"}, {"HSA_PLUGIN_CONFIG", "y"}, {"HSA_BACKENDS_DISABLE", "z"}};
  environment.report_ignored_variables(report);
  EXPECT_THAT(warnings(), IsEmpty());
  environment.elevated = true;
  environment.report_ignored_variables(report);
  EXPECT_THAT(warnings(),
              ElementsAre("config environment: HSA_BACKEND_MANIFESTS, HSA_PLUGIN_CONFIG ignored because "
                          "this process has elevated privileges"));
}

TEST_F(LoaderEnvironmentTest, DirectoriesAreRelativeToRealLibrary) {
  const auto library = write("opt/rocm/" RIGEL_TEST_LIBDIR "/libhsa-runtime64.so.1", "");
  std::filesystem::create_symlink(library, root / "libhsa-runtime64.so.1");
  environment.set_library(root / "libhsa-runtime64.so.1");
  EXPECT_EQ(environment.library_folder, root / "opt/rocm/" RIGEL_TEST_LIBDIR);
  EXPECT_EQ(environment.manifest_folder, root / "opt/rocm/share/hsa/backends.d");
  EXPECT_EQ(environment.backend_folder, root / "opt/rocm/" RIGEL_TEST_LIBDIR "/hsa/backends");
}

TEST_F(LoaderEnvironmentTest, FindsLibraryOfAddress) {
  static const int here = 0;
  const auto process = LoaderEnvironment::of_process(&here);
  EXPECT_EQ(process.library_folder, std::filesystem::canonical("/proc/self/exe").parent_path());
  EXPECT_EQ(process.system_folder, "/etc/hsa");
  EXPECT_FALSE(process.elevated);
}

TEST_F(LoaderEnvironmentTest, FindsLibraryOpenedByRelativePath) {
  std::filesystem::copy_file(fmt::format("{}/module_good.so", RIGEL_TEST_MODULES), root / "relative.so");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(root);
  void* const handle = ::dlopen("./relative.so", RTLD_NOW);
  std::filesystem::current_path(before);
  ASSERT_NE(handle, nullptr) << ::dlerror();
  EXPECT_EQ(LoaderEnvironment::of_process(::dlsym(handle, "hsa_backend_query_v1")).library_folder, root);
  ::dlclose(handle);
}

class FindLibrary : public ScratchWorld {
 protected:
  Explained<std::string> find(const std::string& library) {
    return environment.find_library(library, root / "manifests", {environment.backend_folder, ""});
  }
};

TEST_F(FindLibrary, SearchesManifestDirectoryFirst) {
  const auto beside = write("manifests/libx.so", "");
  const auto installed_one = write("prefix/lib/hsa/backends/libx.so", "");
  EXPECT_EQ(find("libx.so"), beside);
  std::filesystem::remove(beside);
  EXPECT_EQ(find("libx.so"), installed_one);
}

// The working directory must not select a library.
TEST_F(FindLibrary, SearchesInstalledDirectoriesWithoutFile) {
  const auto working_directory = std::filesystem::current_path();
  write("prefix/elsewhere/libx.so", "");
  std::filesystem::current_path(root / "prefix/elsewhere");
  const auto find_without_file = [&](const std::string& library) {
    return environment.find_library(library, "", {environment.driver_folder, ""});
  };
  const auto none = find_without_file("libx.so");
  const auto relative = find_without_file("./libx.so");
  const auto installed_one = write("prefix/lib/hsa/drivers/libx.so", "");
  const auto one = find_without_file("libx.so");
  std::filesystem::current_path(working_directory);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), environment.driver_folder + "/libx.so: No such file or directory");
  EXPECT_EQ(relative, (root / "prefix/elsewhere/libx.so").string());
  EXPECT_EQ(one, installed_one);
  EXPECT_FALSE(environment.find_library("libx.so", "", {""}));
}

TEST_F(FindLibrary, NeverSearchesSystemPath) {
  const auto none = find("libc.so.6");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr("manifests/libc.so.6: No such file or directory; also not in"));
}

TEST_F(FindLibrary, RelativePathStartsAtManifest) {
  const auto library = write("elsewhere/libx.so", "");
  EXPECT_EQ(find("../elsewhere/libx.so"), library);
  EXPECT_FALSE(find("./libx.so"));
}

TEST_F(FindLibrary, AcceptsAbsolutePath) {
  const auto library = write("elsewhere/libx.so", "");
  std::filesystem::create_symlink(library, root / "link.so");
  EXPECT_EQ(find(root / "link.so"), library);
}

TEST_F(FindLibrary, RejectsUntrustedLibraryInElevatedProcess) {
  const auto library = write("elsewhere/libx.so", "");
  ::chmod(library.c_str(), 0666);
  EXPECT_TRUE(find(library));
  environment.elevated = true;
  ASSERT_FALSE(find(library));
  EXPECT_THAT(find(library).error(), HasSubstr("writable by group or others"));
}

}  // namespace
}  // namespace rigel
