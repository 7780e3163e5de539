#include "loader/module/search.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "loader/module/elf_check.hpp"
#include "loader/module/testing/manifests.hpp"
#include "loader/module/testing/scratch_world.hpp"
#include "loader/text/diagnostics.hpp"

namespace rigel {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ManifestSearch : public ScratchWorld {
 protected:
  void install(const std::string& file, const std::string& text) { write(installed / file, text); }

  std::vector<std::string> found() {
    report.clear();
    std::vector<std::string> names;
    for (const auto& one : find_manifests(environment, config, report)) names.push_back(one.manifest.name);
    return names;
  }

  BackendsConfig config;
};

TEST_F(ManifestSearch, SearchesUserThenSystemThenInstalledDirectory) {
  install("50-c.json", manifest_text("c"));
  install("40-d.json", manifest_text("d"));
  write("etc/backends.d/90-b.json", manifest_text("b"));
  variables["XDG_CONFIG_HOME"] = root / "settings";
  write("settings/hsa/backends.d/99-a.json", manifest_text("a"));
  EXPECT_THAT(found(), ElementsAre("a", "b", "d", "c"));
  EXPECT_THAT(failures(), IsEmpty());
}

TEST_F(ManifestSearch, IgnoresMissingDirectories) {
  environment.system_folder = root / "none";
  environment.manifest_folder = root / "none";
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(failures(), IsEmpty());
  EXPECT_THAT(skipped(), Contains("searched ~/none: No such file or directory"));
}

TEST_F(ManifestSearch, HsaBackendManifestsReplacesSearchPath) {
  install("a.json", manifest_text("a"));
  write("other/b.json", manifest_text("b"));
  const auto file = write("c.json", manifest_text("c"));
  variables["HSA_ADD_BACKEND_MANIFESTS"] = installed;
  variables["HSA_BACKEND_MANIFESTS"] = file + ":" + (root / "other").string();
  EXPECT_THAT(found(), ElementsAre("c", "b"));
}

TEST_F(ManifestSearch, HsaAddBackendManifestsIsFirst) {
  install("a.json", manifest_text("a"));
  variables["HSA_ADD_BACKEND_MANIFESTS"] = write("c.json", manifest_text("c")) + ":";
  EXPECT_THAT(found(), ElementsAre("c", "a"));
}

TEST_F(ManifestSearch, ReportsMissingPath) {
  variables["HSA_BACKEND_MANIFESTS"] = (root / "none").string() + ":" + write("c.json", manifest_text("c"));
  EXPECT_THAT(found(), ElementsAre("c"));
  EXPECT_THAT(failures(), ElementsAre("searched ~/none: named by HSA_BACKEND_MANIFESTS, but does not exist"));
}

TEST_F(ManifestSearch, FirstManifestOfNameIsUsed) {
  install("a.json", manifest_text("gfx9", "installed.so"));
  write("etc/backends.d/z.json", manifest_text("gfx9", "etc.so"));
  report.clear();
  const auto manifests = find_manifests(environment, config, report);
  ASSERT_EQ(manifests.size(), 1u);
  EXPECT_EQ(manifests[0].manifest.library, "etc.so");
  EXPECT_THAT(skipped(), ElementsAre("permitted gfx9: ~/prefix/share/hsa/backends.d/a.json: "
                                     "overridden by ~/etc/backends.d/z.json"));
}

TEST_F(ManifestSearch, InvalidManifestDoesNotHideNext) {
  write("etc/backends.d/a.json", manifest_text("gfx9", "etc.so", R"(, "priority": "high")"));
  install("a.json", manifest_text("gfx9", "installed.so"));
  EXPECT_THAT(found(), ElementsAre("gfx9"));
  EXPECT_THAT(failures(),
              ElementsAre("parsed ~/etc/backends.d/a.json: /backend/priority: should be an integer but is "
                          "string"));
}

TEST_F(ManifestSearch, ReadsFileOnce) {
  const auto file = write("c.json", manifest_text("c"));
  std::filesystem::create_symlink(file, installed / "link.json");
  variables["HSA_ADD_BACKEND_MANIFESTS"] = file;
  EXPECT_THAT(found(), ElementsAre("c"));
  EXPECT_THAT(skipped(), ElementsAre("found ~/prefix/share/hsa/backends.d/link.json: already read"));
}

TEST_F(ManifestSearch, ReportsEachInvalidFile) {
  install("10-good.json", manifest_text("first"));
  install("20-text.json", "this is no JSON");
  install("21-empty.json", "");
  install("22-version.json", R"({"manifest_version": "2.0", "backend": []})");
  install("23-type.json", manifest_text("x", "x.so", R"(, "arch": 64)"));
  install("24-abi.json", R"({"manifest_version": "1.0", "backend": {"name": "future", "library": "x.so",
                            "abi": {"major": 2}, "claims": [{"bus": "cpu"}]}})");
  install("25-minor.json", R"({"manifest_version": "1.0", "backend": {"name": "minor", "library": "x.so",
                            "abi": {"major": 1, "min_minor": 99}, "claims": [{"bus": "cpu"}]}})");
  install("26-big.json", manifest_text("big") + std::string(kMaxJsonBytes, ' '));
  install("27-deep.json", std::string(1'000, '['));
  std::filesystem::create_symlink(root / "nowhere", installed / "28-dangling.json");
  std::filesystem::create_directory(installed / "29-folder.json");
  ASSERT_EQ(::mkfifo((installed / "30-pipe.json").c_str(), 0600), 0);
  install("90-good.json", manifest_text("last"));

  EXPECT_THAT(found(), ElementsAre("first", "last"));
  EXPECT_THAT(
      failures(),
      ElementsAre(HasSubstr("20-text.json: parse error at line 1"), HasSubstr("21-empty.json: parse error"),
                  HasSubstr("22-version.json: /manifest_version: unknown format '2.0'"),
                  HasSubstr("23-type.json: /backend/arch: should be a string but is number"),
                  HasSubstr("needs backend ABI 2.0; this runtime has 1."),
                  HasSubstr("needs backend ABI 1.99; this runtime has 1."), HasSubstr("26-big.json: 1048"),
                  HasSubstr("27-deep.json: nested deeper than 32 levels"),
                  HasSubstr("28-dangling.json: No such file or directory"),
                  HasSubstr("29-folder.json: not a regular file"),
                  HasSubstr("30-pipe.json: not a regular file")));
}

TEST_F(ManifestSearch, ReadsAtMost256Files) {
  for (int i = 0; i < 260; ++i) install(fmt::format("{:03}.json", i), "{}");
  install("zzz.json", manifest_text("late"));
  EXPECT_THAT(found(), IsEmpty());
  const auto lines = failures();
  EXPECT_EQ(lines.back(),
            "found ~/prefix/share/hsa/backends.d/256.json: more than 256 manifests; this and the "
            "following ones are ignored");
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](auto& line) { return line.starts_with("parsed"); }),
            256);
}

TEST_F(ManifestSearch, FullDirectoryDoesNotHideNext) {
  for (int i = 0; i < 300; ++i) write(fmt::format("full/{:03}.json", i), "{}");
  install("installed.json", manifest_text("installed"));
  variables["HSA_ADD_BACKEND_MANIFESTS"] = root / "full";
  EXPECT_THAT(found(), ElementsAre("installed"));
}

TEST_F(ManifestSearch, ReadsAtMost256NamedFiles) {
  std::string list;
  for (int i = 0; i < 300; ++i) list += write(fmt::format("named/{:03}.json", i), "{}") + ":";
  write("folder/x.json", manifest_text("in_a_folder"));
  variables["HSA_ADD_BACKEND_MANIFESTS"] = list + (root / "folder").string();
  EXPECT_THAT(found(), ElementsAre("in_a_folder"));
  const auto lines = failures();
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](auto& line) { return line.starts_with("found"); }),
            1);
}

TEST_F(ManifestSearch, SkipsOtherArchitectures) {
  install("a.json", manifest_text("a", "a.so", R"(, "arch": "vax")"));
  install("b.json", manifest_text("b", "b.so", fmt::format(R"(, "arch": "{}")", host_arch())));
  EXPECT_THAT(found(), ElementsAre("b"));
  EXPECT_THAT(skipped(), ElementsAre(HasSubstr("for architecture vax, not for ")));
}

TEST_F(ManifestSearch, SelectsAndDisablesByPattern) {
  for (const char* name : {"gfx8", "gfx9", "gfx9_debug", "cpu"})
    install(fmt::format("{}.json", name), manifest_text(name));
  variables["HSA_BACKENDS_SELECT"] = "gfx*,nosuch";
  EXPECT_THAT(found(), ElementsAre("gfx8", "gfx9", "gfx9_debug"));
  EXPECT_THAT(skipped(), ElementsAre("permitted cpu: not selected by HSA_BACKENDS_SELECT"));
  EXPECT_THAT(warnings(), ElementsAre("config HSA_BACKENDS_SELECT: 'nosuch' matches none of the backends"));

  variables["HSA_BACKENDS_DISABLE"] = "*_debug,gfx?";
  EXPECT_THAT(found(), IsEmpty());
  variables.erase("HSA_BACKENDS_SELECT");
  EXPECT_THAT(found(), ElementsAre("cpu"));
  EXPECT_THAT(skipped(), Contains("permitted gfx9_debug: disabled by '*_debug' in HSA_BACKENDS_DISABLE"));

  variables.clear();
  config.disable = {"c*"};
  EXPECT_THAT(found(), ElementsAre("gfx8", "gfx9", "gfx9_debug"));
  EXPECT_THAT(skipped(), ElementsAre("permitted cpu: disabled by 'c*' in the configuration file"));
}

TEST_F(ManifestSearch, VariableOfBackendDisablesIt) {
  install("a.json", manifest_text("a", "a.so", R"(, "disable_environment": "NO_A")"));
  EXPECT_THAT(found(), ElementsAre("a"));
  variables["NO_A"] = "0";
  EXPECT_THAT(found(), ElementsAre("a"));
  variables["NO_A"] = "1";
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(skipped(), ElementsAre("permitted a: disabled by NO_A"));
}

class ElevatedManifestSearch : public ManifestSearch {
 protected:
  void SetUp() override {
    ManifestSearch::SetUp();
    environment.elevated = true;
    for (const auto& folder : {root / "etc", root / "etc/backends.d", root / "prefix", installed}) {
      ::chmod(folder.c_str(), 0755);
    }
  }
  void install(const std::string& file, const std::string& text, mode_t mode = 0644) {
    ::chmod(write(installed / file, text).c_str(), mode);
  }
};

TEST_F(ElevatedManifestSearch, SearchesSystemDirectoriesOnly) {
  install("a.json", manifest_text("a"));
  write("home/.config/hsa/backends.d/b.json", manifest_text("b"));
  variables = {{"HOME", root / "home"},
               {"HSA_ADD_BACKEND_MANIFESTS", write("c.json", manifest_text("c"))},
               {"HSA_BACKENDS_SELECT", "nothing"}};
  EXPECT_THAT(found(), ElementsAre("a"));
  variables["HSA_BACKEND_MANIFESTS"] = root / "c.json";
  EXPECT_THAT(found(), ElementsAre("a"));
}

TEST_F(ElevatedManifestSearch, UserCanDisableBackends) {
  install("a.json", manifest_text("a"));
  variables["HSA_BACKENDS_DISABLE"] = "a";
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ElevatedManifestSearch, RejectsWritableFiles) {
  install("a.json", manifest_text("a"), 0666);
  install("b.json", manifest_text("b"), 0664);
  install("c.json", manifest_text("c"));
  EXPECT_THAT(found(), ElementsAre("c"));
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("a.json is writable by group or others (mode 666)"),
                                      HasSubstr("b.json is writable by group or others (mode 664)")));
}

TEST_F(ElevatedManifestSearch, RejectsLinkToWritableFile) {
  const auto target = write("elsewhere/a.json", manifest_text("a"));
  ::chmod(target.c_str(), 0644);
  ::chmod((root / "elsewhere").c_str(), 0777);
  std::filesystem::create_symlink(target, installed / "a.json");
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("elsewhere is writable by group or others")));
}

TEST_F(ElevatedManifestSearch, RejectsFilesInWritableDirectory) {
  install("a.json", manifest_text("a"));
  ::chmod(installed.c_str(), 0777);
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(failures(), SizeIs(1));
}

}  // namespace
}  // namespace rigel
