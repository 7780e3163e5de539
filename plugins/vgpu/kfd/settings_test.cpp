#include "plugins/vgpu/kfd/settings.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace rigel::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> errors_of(std::string_view options, Settings settings = {}) {
  Diagnostics diagnostics;
  settings.read_options(options, diagnostics);
  settings.make_machine(diagnostics);
  std::vector<std::string> errors;
  for (const auto& entry : diagnostics.entries()) errors.push_back(entry.text);
  return errors;
}

TEST(Settings, OptionsOverrideVariables) {
  Settings settings;
  settings.gpus = "gfx803";
  settings.link = "xgmi";
  Diagnostics diagnostics;
  settings.read_options(R"({"gpus": "gfx906,gfx906", "log": "queue,fault", "threads": false, "seed": 7})",
                        diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  const Machine virtual_system = settings.make_machine(diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(virtual_system.gpus.size(), 2u);
  EXPECT_EQ(virtual_system.gpus[1].board.name, "vega20");
  EXPECT_EQ(virtual_system.peers, PeerLink::kXgmi);
  EXPECT_EQ(settings.log, "queue,fault");
  EXPECT_FALSE(settings.options.threads);
  EXPECT_EQ(settings.options.seed, 7u);
}

TEST(Settings, DefaultsApplyWithoutOptions) {
  EXPECT_THAT(errors_of(""), IsEmpty());
  EXPECT_THAT(errors_of("{}"), IsEmpty());
  EXPECT_EQ(Settings{}.gpus, kDefaultGpus);
}

TEST(Settings, OptionErrorHasPointerAndSuggestion) {
  EXPECT_THAT(errors_of(R"({"gpsu": "gfx900"})"), ElementsAre("/gpsu: unknown key; did you mean 'gpus'?"));
  EXPECT_THAT(errors_of(R"({"gpus": ["gfx900", "gfx906"]})"),
              ElementsAre("/gpus: should be a string but is array; did you mean \"gfx900,gfx906\"?"));
  EXPECT_THAT(errors_of(R"({"gpus": "gfx90O"})"),
              ElementsAre(StartsWith("/gpus: unknown board 'gfx90O'; did you mean 'gfx900'?")));
  EXPECT_THAT(errors_of(R"({"link": "xgm"})"),
              ElementsAre(StartsWith("/link: unknown link 'xgm'; did you mean 'xgmi'?")));
  EXPECT_THAT(errors_of(R"({"log": "quue"})"),
              ElementsAre(StartsWith("/log: unknown category 'quue'; did you mean 'queue'?")));
  EXPECT_THAT(errors_of(R"({"threads": "yes"})"),
              ElementsAre("/threads: should be true or false but is string; did you mean true?"));
  EXPECT_THAT(errors_of(R"(["gfx900"])"), ElementsAre("the document: should be an object but is array"));
}

TEST(Settings, ReportsAllErrors) {
  EXPECT_THAT(
      errors_of(R"({"devices": [], "gpus": "gfx90O,gfx906,vega21", "link": "wire", "seed": -1})"),
      ElementsAre(StartsWith("/seed: should be between"),
                  "/devices: unknown key; use gpus, link, log, log_file, threads, seed",

                  StartsWith("/link: unknown link 'wire'"), StartsWith("/gpus: unknown board 'gfx90O'"),
                  StartsWith("/gpus: unknown board 'vega21'")));
}

TEST(Settings, EnvironmentErrorNamesVariable) {
  Settings settings;
  settings.gpus = "gfx90O";
  settings.link = "wire";
  EXPECT_THAT(errors_of(R"({"seed": 1})", settings),
              ElementsAre(StartsWith("VGPU_LINK: unknown link"), StartsWith("VGPU_GPUS: unknown board")));
  Settings empty;
  empty.gpus = "";
  EXPECT_THAT(errors_of("", empty), ElementsAre(StartsWith("VGPU_GPUS: no board is named")));
}

std::map<std::string, std::string, std::less<>> documented_options() {
  std::stringstream page;
  page << std::ifstream(RIGEL_TEST_DOCS "/reference/configuration.md", std::ios::binary).rdbuf();
  const std::string text = page.str();
  const size_t start = text.find("\n### The options of the virtual GPU\n");
  EXPECT_NE(start, text.npos);
  std::istringstream section(text.substr(start + 1, text.find("\n## ", start) - start));
  std::map<std::string, std::string, std::less<>> options;
  for (std::string line; std::getline(section, line);) {
    if (!line.starts_with("| `")) continue;
    const size_t name_end = line.find('`', 3), type = line.find("| ", name_end) + 2;
    options[line.substr(3, name_end - 3)] = line.substr(type, line.find(" |", type) - type);
  }
  return options;
}

TEST(Settings, DocumentationListsEveryOption) {
  const auto options = documented_options();
  EXPECT_EQ(options.size(), Settings::option_names().size());
  const std::map<std::string, std::string, std::less<>> expected_errors{
      {"string", "should be a string"},
      {"boolean", "should be true or false"},
      {"integer", "should be an integer"}};
  for (const std::string_view name : Settings::option_names()) {
    ASSERT_TRUE(options.contains(name)) << name << " is not in docs/reference/configuration.md";
    const std::string type = options.find(name)->second;
    ASSERT_TRUE(expected_errors.contains(type)) << name << ": " << type;
    EXPECT_THAT(errors_of("{\"" + std::string(name) + "\": null}"),
                ElementsAre(HasSubstr(expected_errors.at(type))))
        << name;
  }
}

}  // namespace
}  // namespace rigel::vgpu
