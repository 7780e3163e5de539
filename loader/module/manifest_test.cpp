#include "loader/module/manifest.hpp"

#include <gmock/gmock.h>
#include <hsa_backend/hsa_backend.h>

#include <nlohmann/json.hpp>

#include "loader/text/json_reader.hpp"

namespace rigel {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

json good_manifest() {
  return json::parse(R"({
    "manifest_version": "1.0",
    "backend": {
      "name": "gfx9",
      "library": "libhsa_backend_gfx9.so",
      "abi": {"major": 1, "min_minor": 0},
      "arch": "x86_64",
      "priority": 120,
      "claims": [{"bus": "kfd", "gfx_min": "9.0.0", "gfx_max": "9.0.12"}, {"bus": "cpu"}],
      "disable_environment": "HSA_DISABLE_BACKEND_GFX9",
      "dependencies": ["libdrm_amdgpu.so.1"],
      "build_id": "9f3c0d51",
      "config": {"sdma": "auto", "max_queues": 128}
    }
  })");
}

struct Parsed {
  Manifest manifest;
  Diagnostics diagnostics;

  std::vector<std::string> texts(bool errors) const {
    std::vector<std::string> out;
    for (const auto& entry : diagnostics.entries()) {
      if (entry.is_error == errors) out.push_back(entry.text);
    }
    return out;
  }
  std::vector<std::string> errors() const { return texts(true); }
  std::vector<std::string> warnings() const { return texts(false); }
};

Parsed parse_text(std::string_view text) {
  Parsed out;
  out.manifest = parse_manifest(text, out.diagnostics);
  return out;
}

Parsed parse(const json& document) {
  return parse_text(document.dump());
}

// Parses the valid manifest with one member replaced.
Parsed parse_with(const char* pointer, json value) {
  json document = good_manifest();
  document[json::json_pointer(pointer)] = std::move(value);
  return parse(document);
}

Parsed parse_without(const char* pointer) {
  json document = good_manifest();
  const json::json_pointer path(pointer);
  document[path.parent_pointer()].erase(path.back());
  return parse(document);
}

TEST(Manifest, ParsesAllMembers) {
  const auto [manifest, diagnostics] = parse(good_manifest());
  EXPECT_THAT(diagnostics.entries(), IsEmpty());
  EXPECT_EQ(manifest.name, "gfx9");
  EXPECT_EQ(manifest.library, "libhsa_backend_gfx9.so");
  EXPECT_EQ(manifest.abi_major, 1u);
  EXPECT_EQ(manifest.abi_min_minor, 0u);
  EXPECT_EQ(manifest.arch, "x86_64");
  EXPECT_EQ(manifest.priority, 120);
  EXPECT_EQ(manifest.disable_environment, "HSA_DISABLE_BACKEND_GFX9");
  EXPECT_THAT(manifest.dependencies, ElementsAre("libdrm_amdgpu.so.1"));
  EXPECT_EQ(manifest.build_id, "9f3c0d51");
  EXPECT_EQ(manifest.config.string("sdma", ""), "auto");
  EXPECT_EQ(manifest.config.integer("max_queues", 0), 128);
}

TEST(Manifest, ClaimIncludesBothEndsOfRange) {
  const auto manifest = parse(good_manifest()).manifest;
  EXPECT_TRUE(manifest.claims_node(HSABE_BUS_KFD, {9, 0, 0}));
  EXPECT_TRUE(manifest.claims_node(HSABE_BUS_KFD, {9, 0, 12}));
  EXPECT_FALSE(manifest.claims_node(HSABE_BUS_KFD, {9, 0, 13}));
  EXPECT_FALSE(manifest.claims_node(HSABE_BUS_KFD, {8, 0, 3}));
  EXPECT_FALSE(manifest.claims_node(HSABE_BUS_KFD, {9, 1, 0}));
}

TEST(Manifest, ClaimOfBusMatchesEveryDevice) {
  const auto manifest = parse(good_manifest()).manifest;
  EXPECT_TRUE(manifest.claims_node(HSABE_BUS_CPU, {}));
  EXPECT_FALSE(manifest.claims_node(HSABE_BUS_OWN, {}));
  EXPECT_FALSE(manifest.claims_bus(HSABE_BUS_OWN));
}

TEST(Manifest, RequiresNameLibraryAbiAndClaims) {
  const auto parsed = parse_text(R"({"manifest_version": "1.0", "backend": {"name": "x", "library": "x.so",
    "abi": {"major": 1}, "claims": [{"bus": "own"}]}})");
  EXPECT_THAT(parsed.diagnostics.entries(), IsEmpty());
  EXPECT_EQ(parsed.manifest.priority, 100);
  EXPECT_EQ(parsed.manifest.arch, "");
  EXPECT_EQ(parsed.manifest.config.json(), "{}");
}

TEST(Manifest, ReportsMissingMember) {
  EXPECT_THAT(parse_without("/manifest_version").errors(), ElementsAre("/manifest_version: is missing"));
  EXPECT_THAT(parse_without("/backend").errors(), ::testing::Contains("/backend: is missing"));
  EXPECT_THAT(parse_without("/backend/library").errors(), ElementsAre("/backend/library: is missing"));
  EXPECT_THAT(parse_without("/backend/abi/major").errors(), ElementsAre("/backend/abi/major: is missing"));
  EXPECT_THAT(parse_without("/backend/claims").errors(), ElementsAre("/backend/claims: is missing"));
  EXPECT_THAT(parse_without("/backend/claims/0/gfx_max").errors(),
              ::testing::Contains("/backend/claims/0/gfx_max: is missing"));
}

TEST(Manifest, ReportsMemberOfWrongType) {
  const struct {
    const char* pointer;
    json value;
    const char* text;
  } rows[] = {
      {"/backend", 1, "/backend: should be an object but is number"},
      {"/backend/name", 7, "/backend/name: should be a string but is number; did you mean \"7\"?"},
      {"/backend/abi", "1.0", "/backend/abi: should be an object but is string"},
      {"/backend/abi/major", "1", "/backend/abi/major: should be an integer but is string; did you mean 1?"},
      {"/backend/abi/major", -1, "/backend/abi/major: should be between 0 and 4294967295 but is -1"},
      {"/backend/priority", 1.5, "/backend/priority: should be an integer but is number"},
      {"/backend/priority", 18446744073709551615u,
       "/backend/priority: should be between -2147483648 and 2147483647 but is 18446744073709551615"},
      {"/backend/claims", json::object(), "/backend/claims: should be an array but is object"},
      {"/backend/claims/1", "cpu", "/backend/claims/1: should be an object but is string"},
      {"/backend/claims/0/gfx_min", 9,
       "/backend/claims/0/gfx_min: should be a string but is number; did you mean \"9\"?"},
      {"/backend/dependencies", json::array({"a", 2}),
       "/backend/dependencies/1: should be a string but is number"},
      {"/backend/config", json::array(), "/backend/config: should be an object but is array"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(parse_with(row.pointer, row.value).errors(), ::testing::Contains(row.text)) << row.pointer;
  }
}

TEST(Manifest, RejectsInvalidVersions) {
  for (const char* text : {"9", "9.0", "9.0.", "9.0.0.0", "9.0.x", "9.0.256", " 9.0.0", "9.-1.0", "9..0"}) {
    EXPECT_THAT(parse_with("/backend/claims/0/gfx_min", text).errors(),
                ::testing::Contains(StartsWith("/backend/claims/0/gfx_min: '")))
        << text;
  }
}

TEST(Manifest, RejectsReversedRange) {
  EXPECT_THAT(parse_with("/backend/claims/0/gfx_max", "8.9.9").errors(),
              ElementsAre("/backend/claims/0/gfx_max: less than gfx_min"));
}

TEST(Manifest, RejectsAmbiguousNames) {
  for (const char* name : {"a b", "a/b", "a,b", "a*", "disable", "required", "a\nb"}) {
    EXPECT_THAT(parse_with("/backend/name", name).errors(), ElementsAre(StartsWith("/backend/name: '")))
        << name;
  }
  EXPECT_TRUE(parse_with("/backend/name", std::string(64, 'x')).diagnostics.has_errors());
  EXPECT_FALSE(parse_with("/backend/name", std::string(63, 'x')).diagnostics.has_errors());
}

TEST(Manifest, RejectsOtherMajorFormat) {
  EXPECT_THAT(parse_with("/manifest_version", "2.0").errors(),
              ElementsAre("/manifest_version: unknown format '2.0'; this runtime reads format 1"));
  EXPECT_THAT(parse_with("/manifest_version", "1.7").diagnostics.entries(), IsEmpty());
  for (const char* text : {"1", "1.", "one", "1.0.0", "1.x"}) {
    EXPECT_THAT(parse_with("/manifest_version", text).errors(),
                ElementsAre(StartsWith("/manifest_version: '")))
        << text;
  }
}

TEST(Manifest, WarnsAboutUnknownKeys) {
  const auto parsed = parse_with("/backend/pirority", 1);
  EXPECT_THAT(parsed.errors(), IsEmpty());
  EXPECT_THAT(parsed.warnings(), ElementsAre("/backend/pirority: unknown key; did you mean 'priority'?"));
  EXPECT_THAT(parse_with("/colour", "blue").warnings(),
              ElementsAre("/colour: unknown key; use manifest_version, $schema, backend"));
  EXPECT_THAT(parse_with("/a~1b", "blue").warnings(),
              ElementsAre("/a~1b: unknown key; use manifest_version, $schema, backend"));
  EXPECT_THAT(parse_with("/backend/abi/mojor", 0).warnings(),
              ElementsAre("/backend/abi/mojor: unknown key; did you mean 'major'?"));
}

TEST(Manifest, IgnoresUnknownBus) {
  const auto parsed = parse_with("/backend/claims/0/bus", "kfb");
  EXPECT_THAT(parsed.errors(), IsEmpty());
  EXPECT_THAT(parsed.warnings(),
              ElementsAre("/backend/claims/0/bus: unknown bus 'kfb'; did you mean 'kfd'?"));
  EXPECT_EQ(parsed.manifest.claims.size(), 1u);
}

TEST(Manifest, RejectsEmptyClaims) {
  EXPECT_THAT(parse_with("/backend/claims", json::array()).errors(),
              ElementsAre(StartsWith("/backend/claims: ")));
}

TEST(Manifest, ReportsPositionOfInvalidJson) {
  EXPECT_THAT(parse_text("{\n  \"manifest_version\": 1.0.0\n}").errors(),
              ElementsAre(StartsWith("parse error at line 2")));
  EXPECT_THAT(parse_text("").errors(), ElementsAre(StartsWith("parse error at line 1")));
  EXPECT_THAT(parse_text("{} {}").errors(), ElementsAre(StartsWith("parse error at line 1")));
  EXPECT_THAT(parse_text("{\"a\xff\": 1}").errors(), ElementsAre(StartsWith("parse error")));
  EXPECT_THAT(parse_text("[]").errors(),
              ::testing::Contains("the document: should be an object but is array"));
}

TEST(Manifest, RejectsDuplicateKey) {
  EXPECT_THAT(parse_text(R"({"a": 1, "a": 2})").errors(), ElementsAre("duplicate key 'a'"));
}

TEST(Manifest, RejectsDeepNesting) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  json document = good_manifest();
  document["backend"]["config"]["deep"] = json::parse(nested(kMaxJsonDepth - 3));
  EXPECT_THAT(parse(document).diagnostics.entries(), IsEmpty());
  document["backend"]["config"]["deep"] = json::parse(nested(kMaxJsonDepth - 2));
  EXPECT_THAT(parse(document).errors(), ElementsAre("nested deeper than 32 levels"));
  EXPECT_THAT(parse_text(nested(100'000)).errors(), ElementsAre("nested deeper than 32 levels"));
}

TEST(Manifest, RejectsMoreThanOneMebibyte) {
  std::string text = good_manifest().dump();
  text.resize(kMaxJsonBytes, ' ');
  EXPECT_THAT(parse_text(text).diagnostics.entries(), IsEmpty());
  text += ' ';
  EXPECT_THAT(parse_text(text).errors(), ElementsAre("1048577 bytes exceed the maximum of 1048576"));
}

TEST(Manifest, LimitsNumberOfErrors) {
  json document = good_manifest();
  for (int i = 0; i < 1'000; ++i) document["backend"]["unknown" + std::to_string(i)] = i;
  const auto warnings = parse(document).warnings();
  EXPECT_EQ(warnings.size(), 33u);
  EXPECT_EQ(warnings.back(), "and more");
}

TEST(Manifest, RejectsNulInName) {
  EXPECT_THAT(parse_with("/backend/library", std::string("lib\0x.so", 8)).errors(),
              ElementsAre("/backend/library: contains a NUL character"));
}

}  // namespace
}  // namespace rigel
