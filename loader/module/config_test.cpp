#include "loader/module/config.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "loader/module/testing/scratch_world.hpp"
#include "loader/text/json_reader.hpp"

namespace rigel {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

json good_config() {
  return json::parse(R"({
    "config_version": "1.0",
    "log": {"level": "info", "to": "stderr"},
    "driver": {"library": "libhsa_driver_vgpu.so", "config": {"gpus": "gfx803,gfx906"}},
    "backends": {"disable": ["experimental_*"], "required": ["gfx9"], "gfx9": {"sdma": "off"}},
    "plugins": [
      {"name": "api_trace", "library": "libhsa_tool_trace.so", "enabled": false, "on_error": "skip",
       "intercept": ["hsa_queue_create", "hsa_executable_*"], "config": {"file": "trace-%p.json"}},
      {"name": "rocprofiler", "library": "/opt/lib/librocprofiler64.so.1", "abi": "hsa_tools", "on_error": "fail"}
    ]
  })");
}

struct Parsed {
  RuntimeConfig config;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

Parsed parse(const json& document) {
  Parsed out;
  Diagnostics diagnostics;
  out.config = parse_config(document.dump(), diagnostics);
  for (const auto& entry : diagnostics.entries())
    (entry.is_error ? out.errors : out.warnings).push_back(entry.text);
  return out;
}

Parsed parse_with(const char* pointer, json value) {
  json document = good_config();
  document[json::json_pointer(pointer)] = std::move(value);
  return parse(document);
}

TEST(Config, ParsesAllMembers) {
  const auto [config, errors, warnings] = parse(good_config());
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(config.log.level, "info");
  EXPECT_EQ(config.log.to, "stderr");
  ASSERT_TRUE(config.driver);
  EXPECT_EQ(config.driver->library, "libhsa_driver_vgpu.so");
  EXPECT_EQ(config.driver->config.string("gpus", ""), "gfx803,gfx906");
  EXPECT_EQ(config.driver->config.json(), R"({"gpus":"gfx803,gfx906"})");
  EXPECT_THAT(config.backends.disable, ElementsAre("experimental_*"));
  EXPECT_THAT(config.backends.required, ElementsAre("gfx9"));
  EXPECT_EQ(config.backends.options_of("gfx9").string("sdma", ""), "off");
  EXPECT_EQ(config.backends.options_of("gfx8").json(), "{}");

  ASSERT_EQ(config.plugins.size(), 2u);
  EXPECT_EQ(config.plugins[0].name, "api_trace");
  EXPECT_EQ(config.plugins[0].abi, PluginAbi::kRigel);
  EXPECT_FALSE(config.plugins[0].enabled);
  EXPECT_FALSE(config.plugins[0].fail_on_error);
  EXPECT_THAT(config.plugins[0].intercept, ElementsAre("hsa_queue_create", "hsa_executable_*"));
  EXPECT_EQ(config.plugins[0].config.string("file", ""), "trace-%p.json");
  EXPECT_EQ(config.plugins[1].abi, PluginAbi::kHsaTools);
  EXPECT_TRUE(config.plugins[1].enabled);
  EXPECT_TRUE(config.plugins[1].fail_on_error);
}

TEST(Config, RequiresOnlyVersion) {
  const auto parsed = parse(json::parse(R"({"config_version": "1.0"})"));
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_FALSE(parsed.config.driver);
  EXPECT_THAT(parsed.config.plugins, IsEmpty());
}

TEST(Config, ReportsInvalidMember) {
  const struct {
    const char* pointer;
    json value;
    const char* text;
  } rows[] = {
      {"/config_version", "2.0", "/config_version: unknown format '2.0'; this runtime reads format 1"},
      {"/log", "info", "/log: should be an object but is string"},
      {"/log/level", 3, "/log/level: should be a string but is number; did you mean \"3\"?"},
      {"/driver", true, "/driver: should be an object but is boolean"},
      {"/driver/library", "", "/driver/library: is empty"},
      {"/driver/config", "x", "/driver/config: should be an object but is string"},
      {"/backends/disable", "x",
       "/backends/disable: should be an array but is string; did you mean [\"x\"]?"},
      {"/backends/required/0", nullptr, "/backends/required/0: should be a string but is null"},
      {"/backends/gfx9", "off", "/backends/gfx9: should be an object but is string"},
      {"/plugins", json::object(), "/plugins: should be an array but is object"},
      {"/plugins/0", "x", "/plugins/0: should be an object but is string"},
      {"/plugins/0/enabled", "no",
       "/plugins/0/enabled: should be true or false but is string; did you mean false?"},
      {"/plugins/1/config", json{{"table", "rocm6"}},
       "/plugins/1/config/table: should be 'either' or 'rocm5' or 'rocm5.5' or 'current' but is 'rocm6'; did "
       "you mean "
       "'rocm5'?"},
      {"/plugins/1/config", json{{"table", 5}},
       "/plugins/1/config/table: should be a string but is number; did you mean \"5\"?"},
      {"/plugins/0/on_error", "ignore", "/plugins/0/on_error: should be 'skip' or 'fail' but is 'ignore'"},
      {"/plugins/0/on_error", "fial",
       "/plugins/0/on_error: should be 'skip' or 'fail' but is 'fial'; did you mean 'fail'?"},
      {"/plugins/1/abi", "ocl", "/plugins/1/abi: should be 'rigel' or 'hsa_tools' but is 'ocl'"},
      {"/plugins/1/name", "api_trace", "/plugins/1/name: an earlier tool has this name"},
  };
  for (const auto& row : rows) EXPECT_THAT(parse_with(row.pointer, row.value).errors, Contains(row.text));
}

TEST(Config, ReportsAllErrors) {
  json document = good_config();
  document["log"]["level"] = json::array({"warn", "info"});
  document["backends"]["required"] = "gfx9";
  document["plugins"][0].erase("name");
  Diagnostics diagnostics;
  parse_config(document.dump(), diagnostics);
  std::vector<std::string> said;
  for (const auto& entry : diagnostics.entries()) said.push_back(entry.text);
  EXPECT_THAT(said,
              ElementsAre("/log/level: should be a string but is array; did you mean \"warn,info\"?",
                          "/backends/required: should be an array but is string; did you mean [\"gfx9\"]?",
                          "/plugins/0/name: is missing"));
}

TEST(Config, WarnsAboutUnknownKeys) {
  EXPECT_THAT(parse_with("/plugin", json::array()).warnings,
              ElementsAre("/plugin: unknown key; did you mean 'plugins'?"));
  EXPECT_THAT(parse_with("/plugins/0/interecpt", json::array()).warnings,
              ElementsAre("/plugins/0/interecpt: unknown key; did you mean 'intercept'?"));
  EXPECT_THAT(parse_with("/plugins/1/config", json{{"tables", "rocm5"}}).warnings,
              ElementsAre("/plugins/1/config/tables: unknown key; did you mean 'table'?"));
  EXPECT_THAT(parse_with("/log/file", "x").warnings, ElementsAre("/log/file: unknown key; use level, to"));
}

class LoadConfig : public ScratchWorld {
 protected:
  static std::string named(std::string_view level) {
    return R"({"config_version": "1.0", "log": {"level": ")" + std::string(level) + R"("}})";
  }
  std::string level() {
    const auto config = load_config(environment, report);
    return config ? config->log.level : "refused";
  }
};

TEST_F(LoadConfig, IsEmptyWithoutFile) {
  EXPECT_EQ(level(), "");
  EXPECT_THAT(report.lines(), IsEmpty());
}

TEST_F(LoadConfig, PrefersVariableThenUserThenSystem) {
  write("etc/runtime.json", named("system"));
  EXPECT_EQ(level(), "system");
  write("home/.config/hsa/runtime.json", named("user"));
  variables["HOME"] = root / "home";
  EXPECT_EQ(level(), "user");
  variables["HSA_PLUGIN_CONFIG"] = write("other.json", named("named"));
  EXPECT_EQ(level(), "named");
}

TEST_F(LoadConfig, NoneDisablesConfiguration) {
  write("etc/runtime.json", "broken");
  variables["HSA_PLUGIN_CONFIG"] = "none";
  EXPECT_EQ(level(), "");
  EXPECT_THAT(failures(), IsEmpty());
  environment.elevated = true;
  EXPECT_EQ(level(), "");
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(LoadConfig, StoresRealPath) {
  const auto file = write("other/runtime.json", named("x"));
  std::filesystem::create_symlink(file, root / "link.json");
  variables["HSA_PLUGIN_CONFIG"] = root / "link.json";
  EXPECT_EQ(load_config(environment, report)->folder(), root / "other");
}

TEST_F(LoadConfig, PassesPartOfFileWithErrors) {
  std::optional<RuntimeConfig> handed_on;
  const auto load = [&](std::string_view more) {
    write("etc/runtime.json",
          R"({"config_version": "1.0", "driver": {"library": "libx.so", "config": {"gpus": 1}})" +
              std::string(more) + "}");
    handed_on.reset();
    return load_config(environment, report, [&](RuntimeConfig config) { handed_on = std::move(config); });
  };
  EXPECT_TRUE(load(""));
  EXPECT_FALSE(handed_on) << "it is returned";
  EXPECT_FALSE(
      load(R"(, "log": 1, "plugins": [{"name": "a", "library": "liba.so", "config": {"b": 2}, "abi": 3}])"));
  ASSERT_TRUE(handed_on && handed_on->driver && handed_on->plugins.size() == 1);
  EXPECT_EQ(handed_on->driver->config.json(), R"({"gpus":1})");
  EXPECT_EQ(handed_on->plugins[0].config.json(), R"({"b":2})");
  EXPECT_EQ(handed_on->path, root / "etc/runtime.json");
}

TEST_F(LoadConfig, RejectsMissingRequestedFile) {
  write("etc/runtime.json", named("system"));
  variables["HSA_PLUGIN_CONFIG"] = root / "none.json";
  const auto config = load_config(environment, report);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error(), HSA_STATUS_ERROR_INVALID_FILE);
  EXPECT_THAT(failures(),
              ElementsAre("config ~/none.json: the configuration file cannot be read: No such file or "
                          "directory; correct HSA_PLUGIN_CONFIG"));
}

TEST_F(LoadConfig, RejectsInvalidFileWithAllErrors) {
  write("etc/runtime.json", R"({"config_version": "1.0", "log": 1, "plugins": 2, "colour": 3})");
  EXPECT_EQ(level(), "refused");
  EXPECT_THAT(failures(),
              ElementsAre("config ~/etc/runtime.json: /log: should be an object but is number",
                          "config ~/etc/runtime.json: /plugins: should be an array but is number"));
  EXPECT_THAT(warnings(),
              ElementsAre("config ~/etc/runtime.json: /colour: unknown key; use config_version, $schema, "
                          "log, driver, backends, plugins"));
}

TEST_F(LoadConfig, UsesOnlySystemFileInElevatedProcess) {
  environment.elevated = true;
  ::chmod((root / "etc").c_str(), 0755);
  ::chmod(write("etc/runtime.json", named("system")).c_str(), 0644);
  write("home/.config/hsa/runtime.json", named("user"));
  variables = {{"HOME", root / "home"}, {"HSA_PLUGIN_CONFIG", write("other.json", named("named"))}};
  EXPECT_EQ(level(), "system");
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("HSA_PLUGIN_CONFIG ignored")));
}

TEST_F(LoadConfig, RejectsWritableFileInElevatedProcess) {
  ::chmod((root / "etc").c_str(), 0755);
  ::chmod(write("etc/runtime.json", named("system")).c_str(), 0666);
  EXPECT_EQ(level(), "system");
  environment.elevated = true;
  EXPECT_EQ(level(), "refused");
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("writable by group or others (mode 666)")));
}

}  // namespace
}  // namespace rigel
