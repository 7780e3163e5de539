#include "plugins/vgpu/fidelity/run_fidelity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

namespace rigel::vgpu::fidelity {
namespace {

using testing::HasSubstr;
using testing::Not;

Options options_on() {
  Options options;
  options.requires_exact = true;
  return options;
}

TEST(RunFidelity, AddsExecutionsOfOneKind) {
  RunFidelity run(options_on());
  run.count(Set::kIsa, "v_add_f32", Degree::kExact, "", 64);
  run.count(Set::kIsa, "v_add_f32", Degree::kExact, "", 2);
  const Counts counts = run.counts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.begin()->second, 66u);
  EXPECT_TRUE(is_exact(counts));
}

TEST(RunFidelity, CountsNothingWhenOff) {
  RunFidelity run({});
  run.count(Set::kPm4, "NOP", Degree::kExact, "");
  EXPECT_TRUE(run.counts().empty());
}

TEST(RunFidelity, EquivalentIsExactAndApproximateIsNot) {
  RunFidelity run(options_on());
  run.count(Set::kPm4, "ACQUIRE_MEM", Degree::kEquivalent, "only the order is kept");
  EXPECT_TRUE(is_exact(run.counts()));
  run.count(Set::kKfd, "PC_SAMPLE", Degree::kUnsupported, "ENOTTY");
  EXPECT_TRUE(is_exact(run.counts()));
  run.count(Set::kIsa, "v_rcp_f32", Degree::kApproximate, "one unit", 3);
  EXPECT_FALSE(is_exact(run.counts()));
}

TEST(RunFidelity, TextListsWhatIsNotExact) {
  RunFidelity run(options_on());
  run.count(Set::kIsa, "v_add_f32", Degree::kExact, "", 64);
  run.count(Set::kIsa, "v_rcp_f32", Degree::kApproximate, "one unit", 3);
  run.count(Set::kKfd, "PC_SAMPLE", Degree::kUnsupported, "ENOTTY");
  const std::string text = text_of(run.counts());
  EXPECT_THAT(text, HasSubstr("fidelity: not exact\n"));
  EXPECT_THAT(text, HasSubstr("  instructions  64 exact, 0 equivalent, 3 approximate, 0 unsupported\n"));
  EXPECT_THAT(text, HasSubstr("  approximate   3 isa v_rcp_f32: one unit\n"));
  EXPECT_THAT(text, HasSubstr("  unsupported   1 kfd PC_SAMPLE: ENOTTY\n"));
  EXPECT_THAT(text, Not(HasSubstr("v_add_f32")));
}

TEST(RunFidelity, JsonListsAll) {
  RunFidelity run(options_on());
  run.count(Set::kAql, "BARRIER_AND", Degree::kExact, "", 2);
  const auto document = nlohmann::json::parse(json_of(run.counts()));
  EXPECT_EQ(document.at("is_exact"), true);
  EXPECT_EQ(document.at("packets").at("exact"), 2);
  EXPECT_EQ(document.at("executed").at(0).at("name"), "BARRIER_AND");
  EXPECT_EQ(document.at("executed").at(0).at("set"), "aql");
}

TEST(RunFidelityOptions, ComeFromVariables) {
  setenv("VGPU_RUN_FIDELITY", "-,a.json,b.txt", 1);
  setenv("VGPU_REQUIRE", "exact", 1);
  const Options options = Options::from_environment();
  unsetenv("VGPU_RUN_FIDELITY");
  unsetenv("VGPU_REQUIRE");
  ASSERT_EQ(options.outputs.size(), 3u);
  EXPECT_EQ(options.outputs[0].path, "");
  EXPECT_TRUE(options.outputs[1].is_json);
  EXPECT_FALSE(options.outputs[2].is_json);
  EXPECT_TRUE(options.requires_exact);
  EXPECT_FALSE(Options::from_environment().is_on());
}

TEST(RunFidelityOptions, ErrorNamesPathOfUnknownFormat) {
  const auto outputs = parse_outputs("a.json,b.xml");
  ASSERT_FALSE(outputs.has_value());
  EXPECT_THAT(outputs.error(), HasSubstr("b.xml"));
}

}  // namespace
}  // namespace rigel::vgpu::fidelity
