// Debian's unmodified rocminfo, with every board and with several boards.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/preload/run_program.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string vgpu_run() {
  const char* const path = std::getenv("VGPU_RUN");
  return path == nullptr ? "vgpu-run" : path;
}

// rocminfo's output for one agent: lines "Key: value", the first one of each key.
using Agent = std::map<std::string, std::string>;

std::string trim(std::string text) {
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

std::vector<Agent> agents_of(const std::string& out) {
  std::vector<Agent> agents;
  size_t start = 0;
  while (start < out.size()) {
    const size_t end = std::min(out.find('\n', start), out.size());
    const std::string line = trim(out.substr(start, end - start));
    start = end + 1;
    if (line.starts_with("Agent ") && line.size() < 12) agents.emplace_back();
    const size_t colon = line.find(':');
    if (agents.empty() || colon == line.npos) continue;
    agents.back().emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return agents;
}

class Rocminfo : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("rocminfo")) GTEST_SKIP() << "rocminfo is not installed";
  }
  std::vector<Agent> gpus(const std::string& boards, const std::string& link = "pcie",
                          const std::string& runtime = "system") {
    const ProgramResult result =
        run_program({vgpu_run(), "--runtime", runtime, "--gpu", boards, "--link", link, "rocminfo"});
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("ROCk module is loaded"));
    std::vector<Agent> gpus;
    for (Agent& agent : agents_of(result.out)) {
      if (agent["Device Type"] == "GPU") gpus.push_back(std::move(agent));
    }
    return gpus;
  }
  static std::vector<std::string> names(std::vector<Agent> agents) {
    std::vector<std::string> names;
    for (Agent& agent : agents) names.push_back(agent["Name"]);
    return names;
  }
};

struct Expected {
  const char* board;
  const char* gfx;
  const char* compute_units;
  const char* simds_per_cu;
  const char* wavefront;
  const char* chip;
  const char* clock;
  const char* runtime = "system";
};

class RocminfoBoard : public Rocminfo, public ::testing::WithParamInterface<Expected> {};

TEST_P(RocminfoBoard, IsListedWithItsProperties) {
  const Expected& expected = GetParam();
  auto agents = gpus(expected.board, "pcie", expected.runtime);
  ASSERT_EQ(agents.size(), 1u);
  Agent& agent = agents[0];
  EXPECT_EQ(agent["Name"], expected.gfx);
  EXPECT_EQ(agent["Vendor Name"], "AMD");
  EXPECT_EQ(agent["Feature"], "KERNEL_DISPATCH");
  EXPECT_EQ(agent["Compute Unit"], expected.compute_units);
  EXPECT_EQ(agent["SIMDs per CU"], expected.simds_per_cu);
  EXPECT_THAT(agent["Wavefront Size"], HasSubstr(expected.wavefront));
  EXPECT_THAT(agent["Chip ID"], HasSubstr(expected.chip));
  EXPECT_EQ(agent["Max Clock Freq. (MHz)"], expected.clock);
}

INSTANTIATE_TEST_SUITE_P(
    All, RocminfoBoard,
    ::testing::Values(Expected{"fiji", "gfx803", "64", "4", "64", "0x7300", "1000"},
                      Expected{"polaris10", "gfx803", "36", "4", "64", "0x67df", "1340"},
                      Expected{"rx570", "gfx803", "32", "4", "64", "0x67df", "1244"},
                      Expected{"tonga", "gfx802", "32", "4", "64", "0x6938", "970"},
                      Expected{"vega10", "gfx900", "64", "4", "64", "0x6860", "1500"},
                      Expected{"vega20", "gfx906", "60", "4", "64", "0x66af", "1801"},
                      Expected{"navi10", "gfx1010", "40", "2", "32", "0x731f", "2100"},
                      Expected{"navi21", "gfx1030", "80", "2", "32", "0x73bf", "2660"},
                      Expected{"rx6800xt", "gfx1030", "72", "2", "32", "0x73bf", "2575"},
                      Expected{"rx6800", "gfx1030", "60", "2", "32", "0x73bf", "2475"},
                      Expected{"raven", "gfx902", "11", "4", "64", "0x15dd", "1240"},
                      Expected{"renoir", "gfx90c", "8", "4", "64", "0x1638", "2000"},
                      Expected{"navi14", "gfx1012", "22", "2", "32", "0x7340", "1900"},
                      Expected{"v620", "gfx1030", "72", "2", "32", "0x73a1", "2570"},
                      Expected{"navi22", "gfx1031", "40", "2", "32", "0x73df", "2725"},
                      Expected{"navi23", "gfx1032", "32", "2", "32", "0x73ef", "2765"},
                      Expected{"navi24", "gfx1034", "16", "2", "32", "0x743f", "2975"},
                      Expected{"rembrandt", "gfx1035", "12", "2", "32", "0x1681", "2200"},
                      // Debian 12's ROCr, 5.2.3, does not support gfx1036, gfx942, gfx11 and gfx12.
                      Expected{"raphael", "gfx1036", "2", "2", "32", "0x164e", "2200", "rigel"},
                      Expected{"mi300x", "gfx942", "304", "4", "64", "0x74a1", "2100", "rigel"},
                      Expected{"mi300a", "gfx942", "228", "4", "64", "0x74a0", "2100", "rigel"},
                      Expected{"navi31", "gfx1100", "96", "2", "32", "0x744c", "2526", "rigel"},
                      Expected{"navi32", "gfx1101", "60", "2", "32", "0x747e", "2254", "rigel"},
                      Expected{"navi33", "gfx1102", "32", "2", "32", "0x7480", "2356", "rigel"},
                      Expected{"phoenix", "gfx1103", "12", "2", "32", "0x15bf", "2700", "rigel"},
                      Expected{"strix", "gfx1150", "16", "2", "32", "0x150e", "2900", "rigel"},
                      Expected{"strixhalo", "gfx1151", "40", "2", "32", "0x1586", "2900", "rigel"},
                      Expected{"navi44", "gfx1200", "32", "2", "32", "0x7590", "2740", "rigel"},
                      Expected{"navi48", "gfx1201", "64", "2", "32", "0x7550", "2400", "rigel"}),
    [](const auto& row) { return std::string(row.param.board); });

TEST_F(Rocminfo, ListsTwoBoardsInOrder) {
  EXPECT_THAT(names(gpus("gfx906,gfx1030")), ElementsAre("gfx906", "gfx1030"));
}

TEST_F(Rocminfo, ListsFourBoardsInOrder) {
  EXPECT_THAT(names(gpus("gfx900,gfx803,navi10,polaris10", "none")),
              ElementsAre("gfx900", "gfx803", "gfx1010", "gfx803"));
}

TEST_F(Rocminfo, ListsXgmiHive) {
  EXPECT_THAT(names(gpus("gfx906,gfx906", "xgmi")), ElementsAre("gfx906", "gfx906"));
}

TEST_F(Rocminfo, ListsOnlyCpuWithoutGpu) {
  EXPECT_THAT(gpus("none"), IsEmpty());
}

TEST_F(Rocminfo, ShowsRequestedVramSize) {
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx900:vram=1G", "rocminfo"});
  EXPECT_THAT(result.out, HasSubstr("1048576(0x100000) KB"));
}

TEST(VgpuRun, RejectsUnknownBoard) {
  const ProgramResult result = run_program({vgpu_run(), "--gpu", "gfx9999", "true"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("unknown board 'gfx9999'"));
}

TEST(VgpuRun, ReturnsExitStatusOfProgram) {
  EXPECT_EQ(run_program({vgpu_run(), "sh", "-c", "exit 7"}).status, 7);
  EXPECT_EQ(run_program({vgpu_run(), "/no/such/program"}).status, 127);
}

TEST_F(Rocminfo, RunIsExact) {
  const ProgramResult result = run_program({vgpu_run(), "--run-fidelity", "--require", "exact", "rocminfo"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("fidelity: exact\n"));
  EXPECT_THAT(result.out, HasSubstr(" kfd "));
}

TEST(VgpuRun, PrintsFidelityTables) {
  const ProgramResult result = run_program({vgpu_run(), "--fidelity"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("CREATE_QUEUE"));
  EXPECT_THAT(result.out, HasSubstr("AMDGPU_GEM_VA"));
  EXPECT_THAT(result.out, HasSubstr("absent"));
}

}  // namespace
}  // namespace rigel::vgpu
