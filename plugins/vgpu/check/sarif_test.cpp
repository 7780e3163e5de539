#include "plugins/vgpu/check/sarif.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plugins/vgpu/check/test_bus.hpp"

namespace rigel::vgpu::check {
namespace {

using Json = nlohmann::json;

class Sarif : public testing::Test {
 protected:
  Sarif() {
    options.format = Format::kSarif;
    options.log_file = testing::TempDir() + "/check_" + std::to_string(::getpid()) + ".sarif";
    std::remove(options.log_file.c_str());
  }
  ~Sarif() override { std::remove(options.log_file.c_str()); }

  Json log() const {
    std::ifstream stream(options.log_file);
    return Json::parse(stream);
  }

  Options options;
  TestBus bus;
};

Finding race() {
  Finding finding;
  finding.kind = kind_of(Tool::kRaces, kLdsRace, 0x1000, 0x101c, 0x1028);
  finding.summary = "data race: write of 4 bytes";
  finding.kernel = "reverse(int*)";
  finding.launch = 3;
  finding.place = {
      "by work-item (128, 0, 0)",
      "reverse(int*)+0x1c",
      0x101c,
      {{"store(int)", "/src/my lib/store.h", 7, 3}, {"reverse(int*)", "src/reverse.hip", 20, 11}}};
  finding.others.push_back({"earlier read by wave 1",
                            "reverse(int*)+0x28",
                            0x1028,
                            {{"reverse(int*)", "src/reverse.hip", 22, 13}}});
  return finding;
}

// The requirements of the SARIF 2.1.0 schema on the objects that are written here.
void expect_location(const Json& location) {
  ASSERT_TRUE(location.contains("physicalLocation") || location.contains("logicalLocations"));
  if (location.contains("physicalLocation")) {
    const Json& physical = location["physicalLocation"];
    ASSERT_TRUE(physical.contains("artifactLocation") || physical.contains("address")) << "one is required";
    if (physical.contains("artifactLocation")) {
      EXPECT_EQ(physical["artifactLocation"]["uri"].get<std::string>().find(' '), std::string::npos);
    }
    if (physical.contains("region")) {
      EXPECT_GE(physical["region"]["startLine"].get<int>(), 1);
    }
  }
  if (location.contains("message")) {
    EXPECT_FALSE(location["message"]["text"].get<std::string>().empty());
  }
}

void expect_result(const Json& result, const Json& rules) {
  EXPECT_FALSE(result.at("message").at("text").get<std::string>().empty());
  EXPECT_EQ(rules.at(result.at("ruleIndex").get<size_t>()).at("id"), result.at("ruleId"));
  EXPECT_THAT(result.at("level").get<std::string>(), testing::AnyOf("error", "warning", "note", "none"));
  for (const Json& location : result.at("locations")) expect_location(location);
  for (const Json& location : result.value("relatedLocations", Json::array())) expect_location(location);
  for (const Json& flow : result.value("codeFlows", Json::array())) {
    ASSERT_FALSE(flow.at("threadFlows").empty());
    for (const Json& thread : flow["threadFlows"]) {
      ASSERT_FALSE(thread.at("locations").empty());
      for (const Json& step : thread["locations"]) expect_location(step.at("location"));
    }
  }
  for (const Json& stack : result.value("stacks", Json::array())) {
    for (const Json& frame : stack.at("frames")) expect_location(frame.at("location"));
  }
}

void expect_log(const Json& log) {
  EXPECT_EQ(log.at("version"), "2.1.0");
  EXPECT_THAT(log.at("$schema").get<std::string>(), testing::HasSubstr("sarif-schema-2.1.0"));
  for (const Json& run : log.at("runs")) {
    const Json& driver = run.at("tool").at("driver");
    EXPECT_FALSE(driver.at("name").get<std::string>().empty());
    std::set<std::string> ids;
    for (const Json& rule : driver.at("rules")) ids.insert(rule.at("id").get<std::string>());
    EXPECT_EQ(ids.size(), driver["rules"].size()) << "IDs are unique";
    for (const Json& result : run.at("results")) expect_result(result, driver["rules"]);
    for (const Json& invocation : run.at("invocations"))
      EXPECT_TRUE(invocation.at("executionSuccessful").is_boolean());
  }
}

TEST_F(Sarif, DocumentIsCompleteAfterEachFinding) {
  const auto output = make_sarif_output(options);
  output->add(race(), bus, 1);
  expect_log(log());
  ASSERT_EQ(log()["runs"].size(), 1u);
  const Json results = log()["runs"][0]["results"];
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0]["ruleId"], "races/lds");
  const Json place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "file:///src/my%20lib/store.h");
  EXPECT_EQ(place["region"]["startLine"], 7);
  EXPECT_EQ(place["region"]["startColumn"], 3);
  EXPECT_EQ(results[0]["properties"]["launch"], 3);
}

TEST_F(Sarif, RaceHasThreadForEachAccess) {
  make_sarif_output(options)->add(race(), bus, 1);
  const Json result = log()["runs"][0]["results"][0];
  const Json threads = result["codeFlows"][0]["threadFlows"];
  ASSERT_EQ(threads.size(), 2u);
  const auto line = [&](size_t i) {
    return threads[i]["locations"][0]["location"]["physicalLocation"]["region"]["startLine"].get<int>();
  };
  EXPECT_EQ(line(0), 22) << "the earlier access";
  EXPECT_EQ(line(1), 7);
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"], "SRCROOT");
  EXPECT_EQ(result["stacks"][0]["frames"].size(), 2u) << "with the function that it was inlined into";
}

TEST_F(Sarif, InstructionWithoutSourceHasAddress) {
  Finding finding = race();
  finding.place.frames.clear();
  make_sarif_output(options)->add(finding, bus, 1);
  expect_log(log());
  const Json location = log()["runs"][0]["results"][0]["locations"][0];
  EXPECT_EQ(location["physicalLocation"]["address"]["fullyQualifiedName"], "reverse(int*)+0x1c");
  EXPECT_EQ(location["logicalLocations"][0]["fullyQualifiedName"], "reverse(int*)+0x1c");
}

TEST_F(Sarif, EndAddsCountsAndNotes) {
  const auto output = make_sarif_output(options);
  output->add(race(), bus, 1);
  Summary summary;
  summary.counts.emplace_back(race().kind, 17);
  summary.notes.emplace_back("not checked: images");
  output->end(summary);
  expect_log(log());
  const Json run = log()["runs"][0];
  EXPECT_EQ(run["results"][0]["occurrenceCount"], 17);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], "not checked: images");
}

TEST_F(Sarif, ProcessesShareDocument) {
  const auto first = make_sarif_output(options), second = make_sarif_output(options);
  first->add(race(), bus, 1);
  second->end({});
  first->add(race(), bus, 1);
  expect_log(log());
  ASSERT_EQ(log()["runs"].size(), 2u);
  EXPECT_EQ(log()["runs"][0]["results"].size(), 2u);
  EXPECT_EQ(log()["runs"][1]["results"].size(), 0u);
}

TEST_F(Sarif, InvalidFileIsReplaced) {
  std::ofstream(options.log_file) << "{\"runs\": 7";
  make_sarif_output(options)->end({});
  expect_log(log());
  EXPECT_EQ(log()["runs"].size(), 1u);
}

}  // namespace
}  // namespace rigel::vgpu::check
