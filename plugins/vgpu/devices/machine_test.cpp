#include "plugins/vgpu/devices/machine.hpp"

#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

using ::testing::HasSubstr;

TEST(Machine, NoneHasNoGpus) {
  EXPECT_TRUE(parse_machine("none", PeerLink::kPcie)->gpus.empty());
}

TEST(Machine, RejectsEmptyText) {
  EXPECT_THAT(parse_machine("", PeerLink::kPcie).error(), HasSubstr("no board is named; use"));
}

TEST(Machine, NumbersNodesInOrderOfBoards) {
  const auto machine = parse_machine("gfx906,gfx803,navi21", PeerLink::kPcie);
  ASSERT_TRUE(machine) << machine.error();
  ASSERT_EQ(machine->gpus.size(), 3u);
  EXPECT_EQ(machine->gpus[0].board.name, "vega20");
  EXPECT_EQ(machine->gpus[2].board.name, "navi21");
  EXPECT_EQ(machine->gpus[0].node, 1u);
  EXPECT_EQ(machine->gpus[2].render_minor, 130u);
}

TEST(Machine, IdsDifferForEqualBoards) {
  std::string boards = "gfx900";
  for (int i = 0; i < 31; ++i) boards += ",gfx900";
  const auto machine = parse_machine(boards, PeerLink::kPcie);
  ASSERT_TRUE(machine);
  std::set<uint64_t> ids, places, uniques;
  for (const Gpu& gpu : machine->gpus) {
    EXPECT_NE(gpu.gpu_id, 0u);
    EXPECT_LE(gpu.gpu_id, 0xffffu);
    ids.insert(gpu.gpu_id);
    places.insert(gpu.location_id);
    uniques.insert(gpu.unique_id);
  }
  EXPECT_EQ(ids.size(), 32u);
  EXPECT_EQ(places.size(), 32u);
  EXPECT_EQ(uniques.size(), 32u);
}

TEST(Machine, ParsesVramAndBarOptions) {
  const auto machine = parse_machine("gfx900:vram=512M:bar=small", PeerLink::kPcie);
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(machine->gpus[0].vram_bytes, 512u << 20);
  EXPECT_FALSE(machine->gpus[0].large_bar);
  EXPECT_EQ(machine->gpus[0].visible_bytes(), 256u << 20);
}

TEST(Machine, ErrorsQuoteTheInvalidPart) {
  EXPECT_THAT(parse_machine("gfx900:vram=lots", PeerLink::kPcie).error(),
              HasSubstr("vram: invalid size 'lots'"));
  EXPECT_EQ(parse_machine("gfx900:bar=huge", PeerLink::kPcie).error(),
            "gfx900: bar: invalid value 'huge'; use large or small");
  EXPECT_EQ(parse_machine("gfx900:bar", PeerLink::kPcie).error(),
            "gfx900: bar: invalid value ''; use large or small");
  EXPECT_THAT(parse_machine("gfx900:colour=red", PeerLink::kPcie).error(), HasSubstr("colour=red"));
  EXPECT_THAT(parse_machine("gfx900,,gfx906", PeerLink::kPcie).error(), HasSubstr("unknown board ''"));
  EXPECT_THAT(parse_machine("gfx900:vram=99999999999G", PeerLink::kPcie).error(), HasSubstr("vram"));
  EXPECT_THAT(parse_machine("./missing.json", PeerLink::kPcie).error(),
              HasSubstr("cannot read: No such file or directory"));
  EXPECT_THAT(parse_machine("/tmp", PeerLink::kPcie).error(), HasSubstr("cannot read: not a regular file"));
}

TEST(Machine, PackageIsSeveralDevicesInAHive) {
  const auto machine = parse_machine("mi250x,vega20,mi250x", PeerLink::kPcie);
  ASSERT_TRUE(machine) << machine.error();
  const auto& gpus = machine->gpus;
  ASSERT_EQ(gpus.size(), 5u);
  EXPECT_TRUE(are_in_one_hive(gpus[0], gpus[1]));
  EXPECT_TRUE(are_in_one_hive(gpus[3], gpus[4]));
  EXPECT_FALSE(are_in_one_hive(gpus[1], gpus[3]));
  EXPECT_FALSE(are_in_one_hive(gpus[1], gpus[2]));
  EXPECT_EQ(gpus[2].hive_id, 0u);
  EXPECT_NE(gpus[0].unique_id, gpus[1].unique_id);
  EXPECT_NE(gpus[0].location_id >> 8, gpus[1].location_id >> 8) << "devices have separate buses";
  const XgmiLink link = xgmi_link(gpus[0], gpus[1]);
  EXPECT_EQ(link.weight, 15u);
  EXPECT_EQ(link.min_bandwidth, 50000u);
  EXPECT_EQ(link.max_bandwidth, 200000u);
  // A hive of all GPUs.
  const auto all = parse_machine("mi250x,mi250x", PeerLink::kXgmi)->gpus;
  EXPECT_TRUE(are_in_one_hive(all[0], all[3]));
  EXPECT_EQ(xgmi_link(all[1], all[2]).max_bandwidth, 50000u);
}

TEST(Machine, RejectsInvalidPartitions) {
  EXPECT_THAT(parse_machine("mi210:partition=cpx", PeerLink::kPcie).error(),
              HasSubstr("mi210: partition: cpx needs a multiple of 2 XCCs, but the device has 1"));
  EXPECT_THAT(parse_machine("mi210:partition=spy", PeerLink::kPcie).error(),
              HasSubstr("partition: invalid value 'spy'; did you mean 'spx'?"));
  EXPECT_TRUE(parse_machine("mi210:partition=spx", PeerLink::kPcie));
}

// Linux's modes of an MI300X: each partition has the same number of XCCs.
TEST(Machine, PartitionsBoardOfManyXccs) {
  for (const auto& [mode, partitions] : {std::pair{"spx", 1u}, {"dpx", 2u}, {"qpx", 4u}, {"cpx", 8u}}) {
    const auto machine = parse_machine(std::string("mi300x:partition=") + mode, PeerLink::kPcie);
    ASSERT_TRUE(machine) << mode << ": " << machine.error();
    ASSERT_EQ(machine->gpus.size(), partitions) << mode;
    EXPECT_EQ(machine->gpus[0].board.shader.xcc_count, 8 / partitions) << mode;
    EXPECT_EQ(machine->gpus[0].board.shader.simd_count, 1216 / partitions) << mode;
  }
}

TEST(Machine, HostLinkOverXgmiNeedsALargeBar) {
  EXPECT_THAT(parse_machine("mi250x:bar=small", PeerLink::kPcie).error(), HasSubstr("mi250x: bar: "));
}

TEST(Machine, MakesFilePathsAbsolute) {
  const std::string current_directory = std::filesystem::current_path().string();
  EXPECT_EQ(with_absolute_paths("gfx906:vram=4G,./mine.json:bar=small,mine.json,/a/b.json,a/b,none,"),
            "gfx906:vram=4G," + current_directory + "/./mine.json:bar=small," + current_directory +
                "/mine.json,/a/b.json," + current_directory + "/a/b,none,");
  EXPECT_EQ(with_absolute_paths(""), "");
}

TEST(Machine, ReportsAllInvalidBoards) {
  const auto machine = parse_machine("gfx90O,gfx906,gfx900:vrm=4G", PeerLink::kPcie);
  ASSERT_FALSE(machine);
  EXPECT_THAT(machine.error(), HasSubstr("unknown board 'gfx90O'; did you mean 'gfx900'?"));
  EXPECT_THAT(machine.error(), HasSubstr("\ngfx900: unknown option 'vrm=4G'; did you mean 'vram'?"));
}

TEST(PeerLink, ParsesNames) {
  EXPECT_EQ(parse_peer_link("xgmi").value(), PeerLink::kXgmi);
  EXPECT_THAT(parse_peer_link("wire").error(), HasSubstr("wire"));
  EXPECT_THAT(parse_peer_link("xgm").error(), HasSubstr("did you mean 'xgmi'?"));
}

}  // namespace
}  // namespace rigel::vgpu
