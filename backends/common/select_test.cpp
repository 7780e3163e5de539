#include "backends/common/select.hpp"

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

struct Selected {
  hsabe_status_t status;
  hsabe_caps_t caps;
  std::string why;

  std::string_view isa() const { return hsabe::view(caps.isa_names[0]); }
  std::string_view product() const { return hsabe::view(caps.product_name); }
};

Selected select_node(const Family& family, testing::Node node) {
  Selected result{};
  result.caps.struct_size = sizeof(result.caps);
  const char* why = "";
  result.status = select(family, node.get(), &result.caps, &why);
  result.why = why;
  return result;
}

TEST(Select, DescribesVega10) {
  const Selected vega = select_node(gfx9::kFamily, testing::vega10());
  ASSERT_EQ(vega.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsabe::view(vega.caps.name), "gfx900");
  EXPECT_EQ(hsabe::view(vega.caps.vendor_name), "AMD");
  EXPECT_EQ(vega.product(), "Vega10");
  EXPECT_EQ(vega.isa(), "amdgcn-amd-amdhsa--gfx900:xnack-");
  EXPECT_EQ(vega.caps.isa_count, 1u);
  EXPECT_EQ(vega.caps.device_type, static_cast<uint32_t>(HSA_DEVICE_TYPE_GPU));
  EXPECT_EQ(vega.caps.doorbell, HSABE_DOORBELL_INDEX64);
  EXPECT_EQ(vega.caps.compute_units, 64u);
  EXPECT_EQ(vega.caps.max_waves_per_cu, 40u);
  EXPECT_EQ(vega.caps.wavefront_size, 64u);
  EXPECT_EQ(vega.caps.queue_max_size, 131072u);
  EXPECT_EQ(vega.caps.queue_types & 1u << HSA_QUEUE_TYPE_COOPERATIVE, 0u);
  EXPECT_EQ(vega.caps.bdf_id, 0x300u);
}

TEST(Select, DescribesFijiWithOlderQueues) {
  const Selected fiji = select_node(gfx8::kFamily, testing::fiji());
  ASSERT_EQ(fiji.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(fiji.isa(), "amdgcn-amd-amdhsa--gfx803");
  EXPECT_EQ(fiji.product(), "Fiji");
  EXPECT_EQ(fiji.caps.doorbell, HSABE_DOORBELL_INDEX32_LEGACY);
  EXPECT_EQ(fiji.caps.queue_max_size, 65536u);
  EXPECT_EQ(fiji.caps.quirks, kQuirkRingDoubled | kQuirkRingDoubledByDriver | kQuirkSdmaUnstable);
}

TEST(Select, DescribesNavi21) {
  const Selected navi = select_node(gfx10::kFamily, testing::navi21().set("num_gws", 64));
  ASSERT_EQ(navi.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(navi.isa(), "amdgcn-amd-amdhsa--gfx1030");
  EXPECT_EQ(navi.caps.wavefront_size, 32u);
  EXPECT_EQ(navi.caps.compute_units, 80u);
  EXPECT_EQ(navi.caps.max_waves_per_cu, 32u);
  EXPECT_EQ(navi.caps.quirks, 0u);
  EXPECT_NE(navi.caps.queue_types & 1u << HSA_QUEUE_TYPE_COOPERATIVE, 0u);
}

TEST(Select, DescribesNavi31) {
  const Selected navi = select_node(gfx11::kFamily, testing::navi31());
  ASSERT_EQ(navi.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(navi.isa(), "amdgcn-amd-amdhsa--gfx1100");
  EXPECT_EQ(navi.product(), "Navi31");
  EXPECT_EQ(navi.caps.wavefront_size, 32u);
  EXPECT_EQ(navi.caps.compute_units, 96u);
  EXPECT_EQ(navi.caps.compute_units_together, 2u);
  EXPECT_EQ(navi.caps.max_waves_per_cu, 32u);
  EXPECT_EQ(navi.caps.quirks, 0u);
  EXPECT_EQ(select_node(gfx10::kFamily, testing::navi31()).status, HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(select_node(gfx11::kFamily, testing::navi21()).status, HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST(Select, DescribesNavi48) {
  const Selected navi = select_node(gfx12::kFamily, testing::navi48());
  ASSERT_EQ(navi.status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(navi.isa(), "amdgcn-amd-amdhsa--gfx1201");
  EXPECT_EQ(navi.product(), "Navi48");
  EXPECT_EQ(navi.caps.wavefront_size, 32u);
  EXPECT_EQ(navi.caps.compute_units, 64u);
  EXPECT_EQ(select_node(gfx11::kFamily, testing::navi48()).status, HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST(Select, ReportsPairsOfComputeUnits) {
  EXPECT_EQ(select_node(gfx9::kFamily, testing::vega10()).caps.compute_units_together, 1u);
  EXPECT_EQ(select_node(gfx10::kFamily, testing::navi21()).caps.compute_units_together, 2u);
  EXPECT_EQ(select_node(gfx9::kFamily, testing::vega10()).caps.cooperative_compute_units, 0u);
  const Selected selected =
      select_node(gfx9::kFamily, testing::make_node({9, 0, 10}, {0x7408, 110, 4, 8, 1, 8, 64, 2}));
  EXPECT_EQ(selected.caps.compute_units, 110u);
  EXPECT_EQ(selected.caps.cooperative_compute_units, 96u);
}

TEST(Select, WritesOnlyFieldsOfOlderRuntime) {
  testing::Node node = testing::navi21();
  hsabe_caps_t caps{};
  caps.struct_size = HSABE_END(hsabe_caps_t, pci_domain);
  caps.compute_units_together = caps.cooperative_compute_units = 77;
  const char* why = "";
  ASSERT_EQ(select(gfx10::kFamily, node.get(), &caps, &why), HSA_STATUS_SUCCESS);
  EXPECT_EQ(caps.compute_units_together, 77u);
  EXPECT_EQ(caps.cooperative_compute_units, 77u);
}

TEST(Select, NamesFeatureSettings) {
  const uint64_t capability = 0x2280;
  EXPECT_EQ(select_node(gfx9::kFamily, testing::vega20()).isa(), "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-");
  EXPECT_EQ(
      select_node(gfx9::kFamily, testing::vega20().set("capability", capability | kCapabilitySramEcc)).isa(),
      "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-");
  EXPECT_EQ(select_node(gfx9::kFamily, testing::vega20().set("xnack_enabled", 1)).isa(),
            "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack+");
  EXPECT_EQ(select_node(gfx10::kFamily, testing::navi10()).isa(), "amdgcn-amd-amdhsa--gfx1010:xnack-");
  // Names omit settings that the chip does not have.
  EXPECT_EQ(select_node(gfx10::kFamily, testing::navi21().set("xnack_enabled", 1)).isa(),
            "amdgcn-amd-amdhsa--gfx1030");
}

TEST(Select, ApuWithAtsRetriesFaults) {
  auto carrizo = testing::make_node({8, 0, 1}, {0x9874, 8, 4, 1, 1, 10, 64, 1});
  carrizo.set("capability", 0x1280 | kCapabilityAts).set("cpu_cores_count", 4);
  const Selected selected = select_node(gfx8::kFamily, carrizo);
  EXPECT_EQ(selected.isa(), "amdgcn-amd-amdhsa--gfx801:xnack+");
  EXPECT_EQ(selected.caps.profile, static_cast<uint32_t>(HSA_PROFILE_FULL));
  EXPECT_EQ(selected.product(), "Carrizo");
}

TEST(Select, DistinguishesBoardsOfOneTarget) {
  EXPECT_EQ(select_node(gfx8::kFamily, testing::polaris10()).product(), "Polaris10");
  EXPECT_EQ(select_node(gfx8::kFamily, testing::polaris10().set("device_id", 0x699f)).product(), "Polaris12");
  // A board that is not in the table is named after its target.
  EXPECT_EQ(select_node(gfx8::kFamily, testing::polaris10().set("device_id", 0x1234)).product(), "gfx803");
}

TEST(Select, RejectsOtherFamilies) {
  EXPECT_EQ(select_node(gfx9::kFamily, testing::fiji()).status, HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(select_node(gfx8::kFamily, testing::vega10()).status, HSA_STATUS_ERROR_INVALID_AGENT);
  const Selected empty = select_node(gfx9::kFamily, testing::vega10().set("simd_count", 0));
  EXPECT_EQ(empty.status, HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(empty.why, "the node has no compute units");
  // The target version of a Vega on a board with 32-bit doorbells: an override that cannot work.
  EXPECT_EQ(select_node(gfx9::kFamily, testing::vega10().set("capability", 0x1280)).status,
            HSA_STATUS_ERROR_INVALID_AGENT);
  testing::Node host = testing::vega10();
  host.get().bus = HSABE_BUS_CPU;
  EXPECT_EQ(select_node(gfx9::kFamily, host).status, HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST(Quirks, EndWithFixingFirmware) {
  EXPECT_NE(find_quirks(gfx8::kFamily.quirks, testing::fiji().set("fw_version", 684).facts()) &
                kQuirkCodeCacheByFirmware,
            0u);
  EXPECT_EQ(find_quirks(gfx8::kFamily.quirks, testing::fiji().set("fw_version", 685).facts()) &
                kQuirkCodeCacheByFirmware,
            0u);
  // 10 bits of the property are the version.
  EXPECT_EQ(find_quirks(gfx8::kFamily.quirks, testing::fiji().set("fw_version", 0x10000 | 800).facts()) &
                kQuirkScratchOnceNeedsRelease,
            0u);
}

// Every bit of every chip, with microcode that has all fixes and with the first one.
TEST(Quirks, DependOnChipAndMicrocode) {
  struct Row {
    const char* processor;
    Quirks always, before;
  };
  constexpr Quirks kGfx8 = kQuirkRingDoubled | kQuirkSdmaUnstable, kDiscrete = kQuirkRingDoubledByDriver,
                   kTonga = kQuirkNoWaveSave | kQuirkLargeEndOfPipe, kOld = kQuirkScratchOnceNeedsRelease,
                   kOldGfx80 = kOld | kQuirkCodeCacheByFirmware;
  constexpr Quirks kPoll = kQuirkSdmaPollTwice, kSmall = kQuirkSdmaSmallSubmission,
                   kFlush = kQuirkNoSdmaHdpFlush;
  const Row rows[] = {
      {"gfx801", kGfx8, kOldGfx80},
      {"gfx802", kGfx8 | kDiscrete | kTonga, kOldGfx80},
      {"gfx803", kGfx8 | kDiscrete, kOldGfx80},
      {"gfx805", kGfx8 | kDiscrete, kOldGfx80},
      {"gfx810", kGfx8, kOld},
      {"gfx900", kPoll | kSmall, 0},
      {"gfx902", kPoll | kSmall, 0},
      {"gfx904", kPoll | kSmall, 0},
      {"gfx906", kPoll, 0},
      {"gfx908", kPoll, 0},
      {"gfx909", kPoll, 0},
      {"gfx90a", kQuirkHostCopyOnEngine0 | kQuirkCooperativeCuCount, 0},
      {"gfx90c", kPoll | kSmall, 0},
      {"gfx942", kQuirkNoImages, 0},
      {"gfx1010", kFlush, 0},
      {"gfx1011", kFlush, 0},
      {"gfx1012", kFlush, 0},
      {"gfx1013", kFlush | kQuirkNoSdma, 0},
      {"gfx1030", 0, 0},
      {"gfx1031", 0, 0},
      {"gfx1032", 0, 0},
      {"gfx1033", 0, 0},
      {"gfx1034", 0, 0},
      {"gfx1035", 0, 0},
      {"gfx1036", 0, 0},
      {"gfx1100", 0, 0},
      {"gfx1101", 0, 0},
      {"gfx1102", 0, 0},
      {"gfx1103", 0, 0},
      {"gfx1150", 0, 0},
      {"gfx1151", 0, 0},
      {"gfx1200", 0, 0},
      {"gfx1201", 0, 0},
  };
  const Row* row = std::begin(rows);
  for (const Family* family :
       {&gfx8::kFamily, &gfx9::kFamily, &gfx10::kFamily, &gfx11::kFamily, &gfx12::kFamily}) {
    for (const Chip& chip : family->chips) {
      SCOPED_TRACE(chip.processor);
      ASSERT_NE(row, std::end(rows));
      EXPECT_EQ(chip.processor, row->processor);
      auto node = testing::make_node(chip.version, {0, 8, 4, 1, 1, 10, 64, 2});
      EXPECT_EQ(find_quirks(family->quirks, node.facts()), row->always);
      EXPECT_EQ(find_quirks(family->quirks, node.set("fw_version", 0).facts()), row->always | row->before);
      ++row;
    }
  }
  EXPECT_EQ(row, std::end(rows));
}

TEST(Quirks, NameSymptoms) {
  for (const Family* family :
       {&gfx8::kFamily, &gfx9::kFamily, &gfx10::kFamily, &gfx11::kFamily, &gfx12::kFamily}) {
    for (const QuirkRule& rule : family->quirks) {
      EXPECT_FALSE(rule.symptom.empty()) << family->name << " bit " << rule.bit;
      EXPECT_EQ(rule.firmware == QuirkRule::Firmware::kNone, rule.fixed_in == 0) << rule.symptom;
      EXPECT_TRUE(rule.first <= rule.last) << rule.symptom;
    }
  }
}

class Families : public ::testing::TestWithParam<const Family*> {};

TEST_P(Families, HaveConsistentRows) {
  const Family& family = *GetParam();
  for (const Chip& chip : family.chips) {
    SCOPED_TRACE(chip.processor);
    char spelled[16];
    std::snprintf(spelled, sizeof(spelled), "gfx%u%u%x", chip.version.major, chip.version.minor,
                  chip.version.stepping);
    EXPECT_EQ(chip.processor, spelled);
    EXPECT_EQ(find_chip(family, chip.version), &chip);
    for (const hsabe_str_t& name : chip.isa_names) {
      EXPECT_TRUE(hsabe::view(name).starts_with("amdgcn-amd-amdhsa--" + std::string(chip.processor)));
      EXPECT_EQ(hsabe::view(name).find("xnack") != std::string_view::npos, chip.features.has_xnack);
      EXPECT_EQ(hsabe::view(name).find("sramecc") != std::string_view::npos, chip.features.has_sramecc);
    }
    auto node = testing::make_node(chip.version, {0, 8, 2, 2, 1, 10, family.wave_size,
                                                  family.doorbell == HSABE_DOORBELL_INDEX64 ? 2u : 1u});
    EXPECT_EQ(select_node(family, node).status, HSA_STATUS_SUCCESS);
  }
}

TEST_P(Families, HaveSortedDistinctBoards) {
  uint32_t next = 0;
  for (const Board& board : GetParam()->boards) {
    EXPECT_GE(board.first, next) << board.code_name;
    EXPECT_LE(board.first, board.last);
    next = board.last + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Families,
                         ::testing::Values(&gfx8::kFamily, &gfx9::kFamily, &gfx10::kFamily, &gfx11::kFamily,
                                           &gfx12::kFamily),
                         [](const auto& family) { return std::string(family.param->name); });

}  // namespace
}  // namespace rigel::gfx
