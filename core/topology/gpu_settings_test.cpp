#include "core/topology/gpu_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpuSettingsTest : public ::testing::Test {
 protected:
  GpuSettings read(std::map<std::string, std::string> variables) {
    variables_ = std::move(variables);
    LoaderEnvironment environment;
    environment.variable = [this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
    report_.clear();
    return GpuSettings::read(environment, report_);
  }
  AgentLimits restrict(const GpuSettings& settings, uint32_t gpu, hsabe_caps_t& caps, bool has_masks = true) {
    report_.clear();
    return settings.restrict(gpu, caps, has_masks, "the GPU", report_);
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> lines;
    for (const ReportLine& line : report_.lines()) {
      EXPECT_EQ(line.stage, Stage::kConfig);
      if (line.outcome == Outcome::kWarning) lines.push_back(line.subject + ": " + line.text);
    }
    return lines;
  }
  static hsabe_caps_t caps(uint32_t compute_units, uint32_t together = 0) {
    hsabe_caps_t caps{};
    caps.compute_units = compute_units;
    caps.compute_units_together = together;
    caps.queues_max = 128;
    return caps;
  }

  std::map<std::string, std::string> variables_;
  DiscoveryReport report_;
};

TEST_F(GpuSettingsTest, AreEmptyByDefault) {
  const GpuSettings settings = read({{"HSA_XNACK", ""}, {"HSA_CU_MASK", ""}, {"HSA_MAX_QUEUES", ""}});
  EXPECT_FALSE(settings.xnack || settings.sramecc || settings.queues_max || settings.scratch_limit);
  EXPECT_TRUE(settings.units_at_first);
  hsabe_caps_t device = caps(64);
  device.cooperative_compute_units = 56;
  const AgentLimits limits = restrict(settings, 0, device);
  EXPECT_THAT(limits.units, IsEmpty());
  EXPECT_FALSE(limits.cooperative_units);
  EXPECT_EQ(device.queues_max, 128u);
  EXPECT_THAT(report_.lines(), IsEmpty());
}

TEST_F(GpuSettingsTest, ReadsEnvironment) {
  const GpuSettings settings = read({{"HSA_XNACK", "1"},
                                     {"HSA_ENABLE_SRAMECC", "0"},
                                     {"HSA_MAX_QUEUES", "4"},
                                     {"HSA_SCRATCH_SINGLE_LIMIT", "99999999999999999999"},
                                     {"HSA_ENABLE_SDMA", "0"},
                                     {"HSA_CU_MASK_SKIP_INIT", "1"}});
  EXPECT_EQ(settings.xnack, true);
  EXPECT_EQ(settings.sramecc, false);
  EXPECT_EQ(settings.scratch_limit, UINT64_MAX);
  EXPECT_FALSE(settings.units_at_first);
  hsabe_caps_t device = caps(64), small = caps(64);
  small.queues_max = 2;
  EXPECT_FALSE(restrict(settings, 0, device).units_at_first);
  restrict(settings, 0, small);
  EXPECT_EQ(device.queues_max, 4u);
  EXPECT_EQ(small.queues_max, 2u);
  EXPECT_FALSE(read({{"HSA_MAX_QUEUES", "0"}}).queues_max) << "as many as there are";
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(GpuSettingsTest, ReportsInvalidValues) {
  const GpuSettings settings = read({{"HSA_XNACK", "on"},
                                     {"HSA_ENABLE_SRAMECC", "2"},
                                     {"HSA_MAX_QUEUES", "-1"},
                                     {"HSA_SCRATCH_SINGLE_LIMIT", "1M"},
                                     {"HSA_CU_MASK", "0:1;1"},
                                     {"HSA_CU_MASK_SKIP_INIT", "yes"},
                                     {"HSA_COOP_CU_COUNT", "01"},
                                     {"HSA_ENABLE_SDMA", "off"}});
  EXPECT_FALSE(settings.xnack || settings.sramecc || settings.queues_max || settings.scratch_limit);
  EXPECT_TRUE(settings.units_at_first);
  EXPECT_FALSE(settings.counts_cooperative);
  EXPECT_EQ(settings.units.entries.size(), 1u) << "what is before the mistake counts";
  EXPECT_THAT(warnings(),
              ElementsAre("HSA_XNACK: invalid value 'on'; ignored; use 0 or 1",
                          "HSA_ENABLE_SRAMECC: invalid value '2'; ignored; use 0 or 1",
                          "HSA_MAX_QUEUES: invalid value '-1'; ignored; use a decimal number",
                          "HSA_SCRATCH_SINGLE_LIMIT: invalid value '1M'; ignored; use a decimal number",
                          "HSA_CU_MASK: '1': a set has no ':'; the rest is ignored",
                          "HSA_CU_MASK_SKIP_INIT: invalid value 'yes'; ignored; use 0 or 1",
                          "HSA_COOP_CU_COUNT: invalid value '01'; ignored; use 0 or 1",
                          "HSA_ENABLE_SDMA: invalid value 'off'; ignored; use 0 or 1"));
}

TEST_F(GpuSettingsTest, MasksComputeUnitsOfNamedGpus) {
  const GpuSettings settings = read({{"HSA_CU_MASK", "1:0-3,40;3:1"}});
  hsabe_caps_t device = caps(64);
  EXPECT_THAT(restrict(settings, 0, device).units, IsEmpty());
  EXPECT_THAT(restrict(settings, 1, device).units, ElementsAre(0xf, 0x100));
  EXPECT_THAT(warnings(), IsEmpty());
  hsabe_caps_t small = caps(36);
  EXPECT_THAT(restrict(settings, 1, small).units, ElementsAre(0xf, 0));
  EXPECT_THAT(
      warnings(),
      ElementsAre("HSA_CU_MASK: the GPU: it names compute units past the 36 of this GPU; they are ignored"));
  report_.clear();
  settings.conclude(4, report_);
  EXPECT_THAT(warnings(), IsEmpty());
  settings.conclude(2, report_);
  EXPECT_THAT(warnings(), ElementsAre("HSA_CU_MASK: there is no GPU 3 (2 GPUs are in use)"));
}

TEST_F(GpuSettingsTest, IgnoresMasksForUnsupportedDevices) {
  hsabe_caps_t pairs = caps(40, 2), few = caps(8);
  EXPECT_THAT(restrict(read({{"HSA_CU_MASK", "0:0-2"}}), 0, pairs).units, IsEmpty());
  EXPECT_THAT(warnings(),
              ElementsAre(HasSubstr("it must select compute units in groups of 2, starting at 0; ignored")));
  EXPECT_THAT(restrict(read({{"HSA_CU_MASK", "0:1-2"}}), 0, pairs).units, IsEmpty());
  EXPECT_THAT(restrict(read({{"HSA_CU_MASK", "0:2-3,38-39"}}), 0, pairs).units, ElementsAre(0xc, 0xc0));
  EXPECT_THAT(restrict(read({{"HSA_CU_MASK", "0:8-9"}}), 0, few).units, IsEmpty());
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("it selects none of the 8 compute units; ignored")));
  EXPECT_THAT(restrict(read({{"HSA_CU_MASK", "0:1"}}), 0, few, false).units, IsEmpty());
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("its queues do not support CU masks; ignored")));
  EXPECT_THAT(restrict(read({{"HSA_CU_MASK", "0:0-7"}}), 0, few).units, IsEmpty()) << "all are no limit";
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(GpuSettingsTest, CountsCooperativeUnitsOnRequest) {
  hsabe_caps_t device = caps(110);
  device.cooperative_compute_units = 96;
  EXPECT_EQ(restrict(read({{"HSA_COOP_CU_COUNT", "1"}}), 0, device).cooperative_units, 96u);
  EXPECT_EQ(restrict(read({{"HSA_COOP_CU_COUNT", "1"}, {"HSA_CU_MASK", "0:1"}}), 0, device).cooperative_units,
            0u);
  EXPECT_FALSE(
      restrict(read({{"HSA_COOP_CU_COUNT", "0"}, {"HSA_CU_MASK", "0:1"}}), 0, device).cooperative_units);
  device.cooperative_compute_units = 0;
  EXPECT_FALSE(restrict(read({{"HSA_COOP_CU_COUNT", "1"}}), 0, device).cooperative_units) << "all do";
}

}  // namespace
}  // namespace rigel
