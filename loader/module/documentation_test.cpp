// The parsers match docs/reference/configuration.md and the schemas.
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "loader/module/config.hpp"
#include "loader/module/manifest.hpp"
#include "loader/text/json_reader.hpp"

namespace rigel {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(RIGEL_TEST_DOCS "/" + path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> complaints(const json& document) {
  Diagnostics diagnostics;
  if (document.contains("config_version")) {
    parse_config(document.dump(), diagnostics);
  } else {
    parse_manifest(document.dump(), diagnostics);
  }
  std::vector<std::string> out;
  for (const auto& entry : diagnostics.entries()) out.push_back(entry.text);
  return out;
}

// Returns an object with every member of a schema, null unless it is an object or an array of objects.
json skeleton(const json& schema) {
  if (schema.contains("properties")) {
    auto object = json::object();
    for (const auto& [key, value] : schema["properties"].items()) object[key] = skeleton(value);
    return object;
  }
  if (schema.contains("items") && schema["items"].contains("properties")) {
    return json::array({skeleton(schema["items"])});
  }
  return nullptr;
}

void collect_keys(const json& object, std::set<std::string>& keys) {
  if (object.is_object()) {
    for (const auto& [key, value] : object.items()) keys.insert(key);
  }
  for (const auto& member : object) {
    if (member.is_structured()) collect_keys(member, keys);
  }
}

TEST(Documentation, ParserAndPageContainEveryKeyOfSchemas) {
  const std::string page = read("reference/configuration.md");
  for (const char* name : {"backend-manifest", "runtime-config"}) {
    json document = skeleton(json::parse(read(std::string("schemas/") + name + ".json")));
    std::set<std::string> keys;
    collect_keys(document, keys);
    EXPECT_GT(keys.size(), 10u);
    for (const auto& key : keys) EXPECT_THAT(page, HasSubstr(key)) << name;

    document[document.contains("config_version") ? "config_version" : "manifest_version"] = "1.0";
    const auto all = complaints(document);
    EXPECT_FALSE(all.empty()) << "null is no good value";
    for (const auto& complaint : all) EXPECT_THAT(complaint, Not(HasSubstr("unknown key"))) << name;
  }
}

}  // namespace
}  // namespace rigel
