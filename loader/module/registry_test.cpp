#include "loader/module/registry.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "loader/module/testing/scratch_world.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

hsabe_node_t kfd_node(uint32_t major, uint32_t minor, uint32_t stepping) {
  hsabe_node_t node{};
  node.struct_size = sizeof node;
  node.bus = HSABE_BUS_KFD;
  node.gfx_major = major;
  node.gfx_minor = minor;
  node.gfx_stepping = stepping;
  return node;
}

std::string test_module(std::string_view way) {
  return fmt::format("{}/module_{}.so", RIGEL_TEST_MODULES, way);
}

constexpr std::string_view kClaim = R"({"bus": "kfd", "gfx_min": "9.0.0", "gfx_max": "9.0.12"})";

class Registry : public ScratchWorld {
 protected:
  std::string manifest(std::string_view name, std::string_view library, std::string_view more = "",
                       std::string_view claim = kClaim) {
    return fmt::format(R"({{"manifest_version": "1.0", "backend": {{"name": "{}", "library": "{}",
      "abi": {{"major": 1}}, "claims": [{}]{}}}}})",
                       name, library, claim, more);
  }

  void install(std::string_view file, std::string_view text) { write(installed / file, text); }

  void discover() { registry.discover(environment, config, report); }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto* backend : registry.backends()) out.push_back(backend->manifest.name);
    return out;
  }

  const LoadedBackend* open_only() {
    const auto all = registry.backends();
    EXPECT_EQ(all.size(), 1u);
    return registry.open(*all.at(0), report).value_or(nullptr);
  }

  RuntimeConfig config;
  BackendRegistry registry;
};

TEST_F(Registry, OpensTheModuleOfAMatchingManifest) {
  install("50-test.json", manifest("test", test_module("good")));
  discover();
  const auto found = registry.candidates(kfd_node(9, 0, 6), "node 1", report);
  ASSERT_EQ(found.size(), 1u);
  const auto loaded = registry.open(*found[0], report);
  ASSERT_TRUE(loaded) << report.to_text();
  EXPECT_EQ((*loaded)->version, "1.2.3");
  EXPECT_NE((*loaded)->device.select, nullptr);
  EXPECT_FALSE((*loaded)->has_queue());
  EXPECT_THAT(failures(), IsEmpty());
  EXPECT_EQ(registry.conclude(report), HSA_STATUS_SUCCESS);
}

}  // namespace
}  // namespace rigel
