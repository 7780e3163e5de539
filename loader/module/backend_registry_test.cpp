#include "loader/module/backend_registry.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "loader/module/testing/manifests.hpp"
#include "loader/module/testing/scratch_world.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

hsabe_node_t node_on(uint32_t bus, GfxVersion version = {}) {
  hsabe_node_t node{};
  node.struct_size = sizeof node;
  node.bus = bus;
  node.gfx_major = version.major;
  node.gfx_minor = version.minor;
  node.gfx_stepping = version.stepping;
  return node;
}

std::string test_module(std::string_view way) {
  return fmt::format("{}/module_{}.so", RIGEL_TEST_MODULES, way);
}

/// A version of the backend ABI with this runtime's minor number.
std::string abi(unsigned major) {
  return fmt::format("{}.{}", major, HSABE_ABI_MINOR);
}

class BackendRegistryTest : public ScratchWorld {
 protected:
  void install(const std::string& file, const std::string& text) { write(installed / file, text); }

  /// Installs and discovers one backend, `test`, and opens it.
  const LoadedBackend* open_only(const std::string& library, std::string_view more = "",
                                 std::string_view claims = kClaimsGfx9) {
    install("50-test.json", manifest_text("test", library, more, claims));
    registry.discover(environment, config, report);
    const auto all = registry.backends();
    if (all.size() != 1) return nullptr;
    return registry.open(*all[0], report).value_or(nullptr);
  }

  std::vector<std::string> claimants(const hsabe_node_t& node) {
    std::vector<std::string> names;
    for (const auto* backend : registry.candidates(node, "the node", report))
      names.push_back(backend->manifest.name);
    return names;
  }

  RuntimeConfig config;
  BackendRegistry registry;
};

TEST_F(BackendRegistryTest, OpensModuleOfMatchingManifest) {
  install("50-test.json", manifest_text("test", test_module("good")));
  registry.discover(environment, config, report);
  const auto found = registry.candidates(node_on(HSABE_BUS_KFD, {9, 0, 6}), "node 1", report);
  ASSERT_EQ(found.size(), 1u);
  const auto loaded = registry.open(*found[0], report);
  ASSERT_TRUE(loaded) << report.to_text();
  EXPECT_EQ((*loaded)->name, "test");
  EXPECT_EQ((*loaded)->version, "1.2.3");
  EXPECT_EQ((*loaded)->path, test_module("good"));
  EXPECT_NE((*loaded)->device.select, nullptr);
  EXPECT_FALSE((*loaded)->has_queue());
  EXPECT_EQ((*loaded)->queue.create, nullptr);
  EXPECT_EQ(registry.conclude(report), HSA_STATUS_SUCCESS);
  EXPECT_THAT(failures(), IsEmpty());
  EXPECT_THAT(warnings(), IsEmpty());
  EXPECT_THAT(
      lines(Outcome::kOk),
      ElementsAre("searched ~/etc/backends.d: 0 manifests",
                  "searched ~/prefix/share/hsa/backends.d: 1 manifests",
                  "found ~/prefix/share/hsa/backends.d/50-test.json: ",
                  "parsed ~/prefix/share/hsa/backends.d/50-test.json: backend test",
                  "permitted test: ", "selected node 1: gfx version 9.0.6: test (priority 100, 50-test.json)",
                  "opened test: " + test_module("good"),
                  "negotiated test: version '1.2.3', backend ABI " + abi(HSABE_ABI_MAJOR)));
}

TEST_F(BackendRegistryTest, OpensOnlyNeededModules) {
  std::filesystem::copy_file(test_module("good"), root / "unneeded.so");
  install("50-test.json", manifest_text("test", (root / "unneeded.so").string()));
  registry.discover(environment, config, report);
  EXPECT_THAT(claimants(node_on(HSABE_BUS_KFD, {10, 3, 0})), IsEmpty());
  EXPECT_THAT(claimants(node_on(HSABE_BUS_CPU)), IsEmpty());
  EXPECT_EQ(registry.conclude(report), HSA_STATUS_SUCCESS);
  EXPECT_EQ(::dlopen((root / "unneeded.so").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  EXPECT_THAT(skipped(), ElementsAre("selected the node: no backend supports gfx version 10.3.0",
                                     "selected the node: no backend supports bus cpu",
                                     "selected test: no device on this system needs it"));
}

TEST_F(BackendRegistryTest, HighestPriorityIsFirstCandidate) {
  install("30-low.json", manifest_text("low", "x.so", R"(, "priority": -5)"));
  install("50-b.json", manifest_text("second_by_file"));
  install("40-c.json", manifest_text("first_by_file"));
  install("90-high.json", manifest_text("high", "x.so", R"(, "priority": 101)"));
  install("10-other.json", manifest_text("other", "x.so", "", R"({"bus": "cpu"})"));
  registry.discover(environment, config, report);
  EXPECT_THAT(claimants(node_on(HSABE_BUS_KFD, {9, 0, 0})),
              ElementsAre("high", "first_by_file", "second_by_file", "low"));
  EXPECT_EQ(
      report.lines().back().text,
      "gfx version 9.0.0: high (priority 101, 90-high.json); also claimed by first_by_file (priority 100, "
      "40-c.json), second_by_file (priority 100, 50-b.json), low (priority -5, 30-low.json)");
}

TEST_F(BackendRegistryTest, ListsEnumerators) {
  install("10-a.json", manifest_text("a"));
  install("20-b.json", manifest_text("b", "x.so", "", R"({"bus": "own"})"));
  registry.discover(environment, config, report);
  const auto found = registry.enumerators();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->manifest.name, "b");
}

struct BadModule {
  const char* way;
  const char* stage;
  std::string text;
};

void PrintTo(const BadModule& module, std::ostream* out) {
  *out << module.way;
}

class RejectedModule : public BackendRegistryTest, public ::testing::WithParamInterface<BadModule> {};

TEST_P(RejectedModule, IsReportedWithoutAffectingOthers) {
  const auto& [way, stage, text] = GetParam();
  install("10-bad.json", manifest_text("bad", test_module(way)));
  install("20-good.json", manifest_text("good", test_module("good")));
  registry.discover(environment, config, report);
  const auto found = registry.candidates(node_on(HSABE_BUS_KFD, {9, 0, 0}), "node", report);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(registry.open(*found[0], report));
  EXPECT_TRUE(registry.open(*found[1], report));
  EXPECT_THAT(failures(), ElementsAre(HasSubstr(fmt::format("{} bad: ", stage))));
  EXPECT_THAT(failures(), ElementsAre(HasSubstr(text)));

  EXPECT_FALSE(registry.open(*found[0], report)) << "a failure is remembered";
  EXPECT_EQ(failures().size(), 1u) << "and reported once";
}

INSTANTIATE_TEST_SUITE_P(
    Each, RejectedModule,
    ::testing::Values(
        BadModule{"short_table", "negotiated",
                  "the table: invalid struct_size 80; version 1.0 has 120 bytes"},
        BadModule{"short_group", "negotiated",
                  "the device group: invalid struct_size 24; version 1.0 has 48 bytes"},
        BadModule{"no_device", "negotiated", "the device group is missing"},
        BadModule{"no_close", "negotiated", "the device group has no function 'close'"},
        BadModule{"no_destroy", "negotiated", "the queue group has no function 'destroy'"},
        BadModule{"wrong_major", "negotiated",
                  "built for backend ABI " + abi(HSABE_ABI_MAJOR + 1) + "; this runtime has " +
                      abi(HSABE_ABI_MAJOR)},
        BadModule{"sanitizer", "negotiated", "Sanitizer, but this runtime is built with"},
        BadModule{"throws", "negotiated", "its query function threw: the moon is full"},
        BadModule{"null", "negotiated", "does not support ABI " + abi(HSABE_ABI_MAJOR) + " of this runtime"},
        BadModule{"bad_name", "negotiated", "its name is an invalid string"},
        BadModule{"no_query", "negotiated", "does not export hsa_backend_query_v1"},
        BadModule{"undefined", "opened", "undefined symbol"},
        BadModule{"that_is_not_there", "opened", "module_that_is_not_there.so: No such file or directory"}),
    [](const auto& module) { return std::string(module.param.way); });

TEST_F(BackendRegistryTest, AcceptsNewerMinorVersion) {
  const auto* loaded = open_only(test_module("newer_minor"));
  ASSERT_NE(loaded, nullptr) << report.to_text();
  EXPECT_EQ(loaded->abi_minor, HSABE_ABI_MINOR + 1);
}

TEST_F(BackendRegistryTest, AcceptsOlderMinorVersion) {
  const auto* loaded = open_only(test_module("before_images"));
  ASSERT_NE(loaded, nullptr) << report.to_text();
  EXPECT_EQ(loaded->abi_minor, 3u);
  EXPECT_FALSE(loaded->has_image());
}

TEST_F(BackendRegistryTest, NullGroupIsUnsupportedFeature) {
  const auto* loaded = open_only(test_module("good"));
  ASSERT_NE(loaded, nullptr);
  EXPECT_FALSE(loaded->has_queue());
  EXPECT_FALSE(loaded->has_code());
  EXPECT_FALSE(loaded->has_memory());
  EXPECT_EQ(loaded->queue.set_cu_mask, nullptr);
  EXPECT_EQ(loaded->code.load, nullptr);
}

TEST_F(BackendRegistryTest, OwnBusRequiresEnumerate) {
  EXPECT_EQ(open_only(test_module("good"), "", R"({"bus": "own"})"), nullptr);
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("has no function 'enumerate'")));
}

TEST_F(BackendRegistryTest, OwnBusWithEnumerateIsOpened) {
  EXPECT_NE(open_only(test_module("own_bus"), "", R"({"bus": "own"})"), nullptr) << report.to_text();
}

TEST_F(BackendRegistryTest, WarnsIfManifestAndModuleBuildsDiffer) {
  EXPECT_NE(open_only(test_module("good"), R"(, "build_id": "beef")"), nullptr);
  EXPECT_THAT(warnings(),
              ElementsAre("negotiated test: the manifest has build ID 'beef', the module 'cafe'"));
}

TEST_F(BackendRegistryTest, WarnsIfModuleNameDiffers) {
  install("a.json", manifest_text("other", test_module("good")));
  registry.discover(environment, config, report);
  EXPECT_TRUE(registry.open(*registry.backends()[0], report));
  EXPECT_THAT(warnings(), ElementsAre("negotiated other: the module has the name 'test'"));
}

TEST_F(BackendRegistryTest, FindsLibraryRelativeToRealManifest) {
  std::filesystem::create_directories(root / "package/lib");
  std::filesystem::copy_file(test_module("good"), root / "package/lib/x.so");
  const auto file = write("package/share/x.json", manifest_text("test", "../lib/x.so"));
  std::filesystem::create_symlink(file, installed / "x.json");
  registry.discover(environment, config, report);
  const auto loaded = registry.open(*registry.backends().at(0), report);
  ASSERT_TRUE(loaded) << report.to_text();
  EXPECT_EQ((*loaded)->path, root / "package/lib/x.so");
}

TEST_F(BackendRegistryTest, FindsBareLibraryInBackendDirectory) {
  std::filesystem::copy_file(test_module("good"), root / "prefix/lib/hsa/backends/bare.so");
  EXPECT_NE(open_only("bare.so"), nullptr) << report.to_text();
}

TEST_F(BackendRegistryTest, RejectsWritableLibraryInElevatedProcess) {
  const auto library = root / "prefix/lib/hsa/backends/loose.so";
  std::filesystem::copy_file(test_module("good"), library);
  install("50-test.json", manifest_text("test", "loose.so"));
  for (const auto& path : {root / "etc/backends.d", root / "prefix/lib/hsa/backends", installed}) {
    ::chmod(path.c_str(), 0755);
  }
  ::chmod((installed / "50-test.json").c_str(), 0644);
  ::chmod(library.c_str(), 0775);
  environment.elevated = true;
  registry.discover(environment, config, report);
  ASSERT_EQ(registry.backends().size(), 1u) << report.to_text();
  EXPECT_FALSE(registry.open(*registry.backends()[0], report));
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("loose.so is writable by group or others (mode 775)")));
}

TEST_F(BackendRegistryTest, ModuleIsLoadedOnceForAllRuntimes) {
  const auto* first = open_only(test_module("good"));
  BackendRegistry second_life;
  second_life.discover(environment, config, report);
  EXPECT_EQ(second_life.open(*second_life.backends().at(0), report).value_or(nullptr), first);
}

TEST_F(BackendRegistryTest, ConfigurationOverridesManifestOptions) {
  install("a.json", manifest_text("test", "x.so", R"(, "config": {"sdma": "auto", "max_queues": 128})"));
  variables["HSA_PLUGIN_CONFIG"] = write("runtime.json", R"({"config_version": "1.0", "backends": {
    "test": {"sdma": "off", "max_queue": 4, "colour": "blue"}, "tset": {}}})");
  registry.discover(environment, *load_config(environment, report), report);
  const auto& options = registry.backends().at(0)->options;
  EXPECT_EQ(options.string("sdma", ""), "off");
  EXPECT_EQ(options.integer("max_queues", 0), 128);
  EXPECT_THAT(warnings(),
              ElementsAre("config ~/runtime.json: /backends/test/colour: unknown key; use max_queues, sdma",
                          "config ~/runtime.json: /backends/test/max_queue: unknown key; did you mean "
                          "'max_queues'?",
                          "config ~/runtime.json: /backends/tset: unknown backend; did you mean 'test'?"));
}

TEST_F(BackendRegistryTest, UnlistedOptionIsPassedWithWarning) {
  install("a.json", manifest_text("test", "x.so"));
  variables["HSA_PLUGIN_CONFIG"] =
      write("runtime.json", R"({"config_version": "1.0", "backends": {"test": {"a/b": "off"}}})");
  registry.discover(environment, *load_config(environment, report), report);
  EXPECT_EQ(registry.backends().at(0)->options.string("a/b", ""), "off");
  EXPECT_THAT(
      warnings(),
      ElementsAre("config ~/runtime.json: /backends/test/a~1b: unknown key; no keys are allowed here"));
}

TEST_F(BackendRegistryTest, RequiredBackendMustOpenDevice) {
  config.backends.required = {"test"};
  EXPECT_NE(open_only(test_module("good")), nullptr);
  EXPECT_EQ(registry.conclude(report), HSA_STATUS_ERROR);
  EXPECT_THAT(failures(), ElementsAre("config test: required, but opened no device"));
  registry.note_device(*registry.backends()[0]);
  EXPECT_EQ(registry.conclude(report), HSA_STATUS_SUCCESS);
}

TEST_F(BackendRegistryTest, MissingRequiredBackendIsError) {
  config.backends.required = {"tset"};
  EXPECT_NE(open_only(test_module("good")), nullptr);
  EXPECT_EQ(registry.conclude(report), HSA_STATUS_ERROR);
  EXPECT_THAT(failures(), ElementsAre("config tset: required, but not found; did you mean 'test'?"));
}

TEST_F(BackendRegistryTest, RejectsBackendOfOtherRegistry) {
  const Backend foreign;
  EXPECT_FALSE(registry.open(foreign, report));
}

}  // namespace
}  // namespace rigel
