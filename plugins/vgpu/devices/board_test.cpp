#include "plugins/vgpu/devices/board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugins/vgpu/devices/built_in_boards.hpp"
#include "plugins/vgpu/devices/product_names.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::HasSubstr;

nlohmann::json built_in(std::string_view name) {
  for (const auto& file : kBuiltInBoards) {
    if (file.name == name) return nlohmann::json::parse(file.json);
  }
  return {};
}

nlohmann::json vega10() {
  return built_in("vega10");
}

std::string error_of(const nlohmann::json& json) {
  const BoardOr board = read_board(json.dump(), "mine.json");
  return board ? "" : board.error();
}

TEST(Board, BuiltInBoardsPassSchema) {
  for (const auto& file : kBuiltInBoards) {
    const BoardOr board = read_board(file.json, file.name);
    ASSERT_TRUE(board) << board.error();
    EXPECT_EQ(board->name, file.name);
  }
}

TEST(Board, GfxNameHasHexadecimalStepping) {
  Board board;
  board.gfx_target_version = 90010;
  EXPECT_EQ(board.gfx_name(), "gfx90a");
  board.gfx_target_version = 100300;
  EXPECT_EQ(board.gfx_name(), "gfx1030");
}

TEST(Board, FoundByNameAndGfxName) {
  EXPECT_EQ(find_board("polaris10")->name, "polaris10");
  EXPECT_EQ(find_board("gfx803")->name, "fiji") << "the first board of that name";
  EXPECT_EQ(find_board("gfx1030")->name, "navi21");
}

TEST(Board, FoundInDirectoriesOfBoardPath) {
  std::string pattern = ::testing::TempDir() + "vgpu_boards-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  auto json = vega10();
  json["name"] = "aurora";
  json["gfx_target_version"] = 500000;
  json["executes"] = 90006;
  std::ofstream(folder / "mine.json") << json;
  ASSERT_FALSE(find_board("aurora"));
  ::setenv("VGPU_BOARD_PATH", ("/nowhere:" + folder.string()).c_str(), 1);
  for (const char* name : {"aurora", "gfx5000"}) {
    const BoardOr board = find_board(name);
    ASSERT_TRUE(board) << board.error();
    EXPECT_EQ(board->gfx_name(), "gfx5000");
    EXPECT_EQ(board->shown_version(), 500000u);
    EXPECT_EQ(board->gfx_target_version, 90006u) << "the hardware's";
  }
  EXPECT_EQ(boards_in_path().size(), 1u);
  EXPECT_EQ(find_board("gfx906")->name, "vega20") << "the others are there still";
  std::ofstream(folder / "broken.json") << "{}";
  EXPECT_THAT(find_board("aurora").error(), HasSubstr("broken.json"));
  ::unsetenv("VGPU_BOARD_PATH");
  std::filesystem::remove_all(folder);
}

TEST(Board, RejectsPipeInsteadOfFile) {
  std::string folder = ::testing::TempDir() + "vgpu_board-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto pipe = std::filesystem::path(folder) / "board.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(find_board(pipe.string()).error(), pipe.string() + ": cannot read: not a regular file");
  std::filesystem::remove_all(folder);
}

TEST(BoardSchema, AcceptsUnknownVersionOnlyWithExecutes) {
  auto json = vega10();
  json["gfx_target_version"] = 120900;
  EXPECT_THAT(error_of(json), HasSubstr("gfx_target_version"));
  json["gfx_target_version"] = 90900;
  EXPECT_THAT(error_of(json), HasSubstr("gfx_target_version: unknown chip 90900"));
  json["executes"] = 120900;
  EXPECT_THAT(error_of(json), HasSubstr("executes"));
}

TEST(Board, UnknownNameListsKnownBoards) {
  const BoardOr board = find_board("gfx5099");
  ASSERT_FALSE(board);
  EXPECT_THAT(board.error(), HasSubstr("gfx5099"));
  EXPECT_THAT(board.error(), HasSubstr("; use vgpu-run --list"));
}

TEST(Board, FoundByProductName) {
  for (const auto& [word, board] : {std::pair{"rx580", "polaris10"},
                                    {"RX 580", "polaris10"},
                                    {"580", "polaris10"},
                                    {"Radeon RX 580", "polaris10"},
                                    {"rx570", "rx570"},
                                    {"rx6800xt", "rx6800xt"},
                                    {"6800xt", "rx6800xt"},
                                    {"rx-6800", "rx6800"},
                                    {"rx6900xt", "navi21"},
                                    {"radeonvii", "vega20"},
                                    {"Radeon VII", "vega20"},
                                    {"mi25", "vega10"},
                                    {"Instinct MI50", "vega20"},
                                    {"vega64", "vega10"},
                                    {"5700xt", "navi10"},
                                    {"AMD Radeon RX 5700 XT", "navi10"},
                                    {"AMD Instinct MI100", "mi100"},
                                    {"aldebaran", "mi210"},
                                    {"Instinct MI250X", "mi250x"},
                                    {"AMD Instinct MI300X", "mi300x"},
                                    {"MI300A", "mi300a"},
                                    {"7900xtx", "navi31"},
                                    {"AMD Radeon RX 7900 XTX", "navi31"},
                                    {"RX 7800 XT", "navi32"},
                                    {"rx7600", "navi33"},
                                    {"Radeon 780M", "phoenix"},
                                    {"890M", "strix"},
                                    {"Radeon 8060S", "strixhalo"},
                                    {"RX 9060 XT", "navi44"},
                                    {"9070xt", "navi48"}}) {
    const BoardOr found_board = find_board(word);
    ASSERT_TRUE(found_board) << word << ": " << found_board.error();
    EXPECT_EQ(found_board->name, board) << word;
  }
  EXPECT_FALSE(find_board("radeon"));
  EXPECT_FALSE(find_board("rx"));
  EXPECT_THAT(find_board("rx5800xt").error(), HasSubstr("did you mean"));
}

TEST(Board, ProductNamesAreUnique) {
  std::set<std::string_view> seen;
  for (const std::string_view board : built_in_board_names()) {
    const ProductNames* const names = find_product_names(board);
    ASSERT_NE(names, nullptr) << board;
    EXPECT_TRUE(find_board(names->chip)) << board;
    for (const std::string_view product : names->products) {
      EXPECT_TRUE(seen.insert(product).second) << product;
      EXPECT_EQ(find_board(product)->name, board) << product;
    }
  }
}

TEST(Board, SuggestsNameForMistypedName) {
  EXPECT_THAT(find_board("gfx916").error(), HasSubstr("did you mean 'gfx906'?"));
  EXPECT_THAT(find_board("Vega20").error(), HasSubstr("did you mean 'vega20'?"));
  EXPECT_THAT(find_board("navi_21").error(), HasSubstr("did you mean 'navi21'?"));
  EXPECT_THAT(find_board("polaris").error(), HasSubstr("did you mean 'polaris10'?"));
  EXPECT_THAT(find_board("geforce").error(), testing::Not(HasSubstr("did you mean")));
}

// The driver rejects queues with sizes other than those that ROCr's thunk computes.
TEST(Board, SaveAreaSizesMatchThunk) {
  struct Row {
    const char* name;
    uint32_t control, context, debug;
  };
  for (const Row& row :
       {Row{"fiji", 0x5000, 0x1545000, 0x10000}, Row{"polaris10", 0x3000, 0xbf7000, 0xb400},
        Row{"tonga", 0x3000, 0xaa3000, 0xa000}, Row{"vega10", 0x5000, 0x1545000, 0x10000},
        Row{"vega20", 0x5000, 0x13f1000, 0x10000}, Row{"navi10", 0x4000, 0xd4c000, 0xa000},
        Row{"navi21", 0x7000, 0x1a97000, 0x14000}, Row{"mi100", 0x9000, 0x45e1000, 0x20000},
        Row{"mi210", 0x9000, 0x3c91000, 0x20000}, Row{"navi31", 0xa000, 0x2bea000, 0x18000},
        Row{"navi32", 0x6000, 0x1b72000, 0xf000}, Row{"navi33", 0x4000, 0xaa4000, 0x8000},
        Row{"phoenix", 0x2000, 0x3fe000, 0x3000}, Row{"strixhalo", 0x4000, 0x124c000, 0xa000},
        Row{"navi44", 0x4000, 0xea4000, 0x8000}, Row{"navi48", 0x7000, 0x1d47000, 0x10000}}) {
    const auto area = find_board(row.name)->save_area();
    EXPECT_EQ(area.control_stack_bytes, row.control) << row.name;
    EXPECT_EQ(area.context_bytes, row.context) << row.name;
    EXPECT_EQ(area.debug_bytes, row.debug) << row.name;
  }
}

// A board of two XCCs of an MI210's half.
nlohmann::json two_xccs() {
  auto json = built_in("mi210");
  json["shader"]["xcc_count"] = 2;
  return json;
}

TEST(Board, SaveAreaIsThatOfOneXcc) {
  auto half = built_in("mi210");
  half["shader"]["simd_count"] = 208;
  half["shader"]["array_count"] = 4;
  const auto one = read_board(half.dump(), "half")->save_area();
  const auto two = read_board(two_xccs().dump(), "two")->save_area();
  EXPECT_EQ(two.control_stack_bytes, one.control_stack_bytes);
  EXPECT_EQ(two.context_bytes, one.context_bytes);
  EXPECT_EQ(two.debug_bytes, one.debug_bytes);
}

TEST(Board, MaskBitsAlternateBetweenXccsFirst) {
  const Board board = *read_board(two_xccs().dump(), "two");
  EXPECT_EQ(board.shader_engines(), 4u) << "of an XCC";
  const auto units = board.units_in_order();
  ASSERT_EQ(units.size(), 104u);
  for (uint32_t i = 0; i < 104; ++i) {
    EXPECT_EQ(units[i].xcc, i % 2) << i;
    EXPECT_EQ(units[i].engine, i / 2 % 4) << i;
    EXPECT_EQ(units[i].unit, i / 8) << i;
  }
}

TEST(Board, PartitionsShareUnitsAndEngines) {
  auto json = two_xccs();
  json["sdma"]["xgmi_engines"] = 6;
  const Board part = read_board(json.dump(), "two")->partition(2);
  EXPECT_EQ(part.shader.xcc_count, 1u);
  EXPECT_EQ(part.compute_units(), 52u);
  EXPECT_EQ(part.shader_engines(), 4u);
  EXPECT_EQ(part.sdma.engines, 2u);
  EXPECT_EQ(part.sdma.xgmi_engines, 2u);
  EXPECT_EQ(part.memory.vram_mb, 32768u);
}

TEST(BoardSchema, RejectsUnevenXccs) {
  auto json = two_xccs();
  json["shader"]["simd_count"] = 420;
  EXPECT_THAT(error_of(json), HasSubstr("/shader/simd_count: not a multiple of xcc_count * simd_per_cu"));
  json = two_xccs();
  json["shader"]["xcc_count"] = 3;
  EXPECT_THAT(error_of(json), HasSubstr("/shader/array_count: not a multiple of xcc_count"));
}

TEST(BoardSchema, OptionalKeysAreChecked) {
  auto json = vega10();
  json["host_link"] = "xgm";
  EXPECT_THAT(error_of(json), HasSubstr("/host_link: invalid value 'xgm'; did you mean 'xgmi'?"));
  json = vega10();
  json["package"]["devices"] = 9;
  EXPECT_THAT(error_of(json), HasSubstr("/package/devices: should be between 1 and 8"));
  json = vega10();
  json["sdma"]["xgmi_engines"] = 15;
  EXPECT_THAT(error_of(json), HasSubstr("/sdma/xgmi_engines: more than 16 engines"));
}

TEST(Board, IsIntegratedAsItsChipUnlessStated) {
  EXPECT_TRUE(find_board("renoir")->integrated);
  EXPECT_FALSE(find_board("mi210")->integrated);
  auto json = built_in("mi210");
  json["integrated"] = true;
  EXPECT_TRUE(read_board(json.dump(), "mine")->integrated);
}

TEST(DriverTraits, CoverEveryExecutedChip) {
  for (const isa::Target& chip : isa::all_targets()) {
    EXPECT_NE(find_driver_traits(chip.major * 10000u + chip.minor * 100u + chip.stepping), nullptr)
        << isa::name(chip);
  }
  EXPECT_EQ(find_driver_traits(0), nullptr);
  EXPECT_EQ(find_driver_traits(130000), nullptr);
}

// amdkfd's mqd_symmetrically_map_cu_mask assigns a mask's bits in this order.
TEST(Board, MaskBitsAlternateBetweenEngines) {
  const auto units = find_board("vega10")->units_in_order();
  ASSERT_EQ(units.size(), 64u);
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(units[i].engine, i % 4) << i;
    EXPECT_EQ(units[i].unit, i / 4) << i;
  }
  // Work-group processors stay together. Both arrays of an engine precede the next processor.
  const auto pairs = find_board("navi10")->units_in_order();  // 2 engines of 2 arrays of 10 units
  ASSERT_EQ(pairs.size(), 40u);
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(pairs[i].engine, i / 2 % 2) << i;
    EXPECT_EQ(pairs[i].array, i / 4 % 2) << i;
    EXPECT_EQ(pairs[i].unit, i / 8 * 2 + i % 2) << i;
  }
}

TEST(Board, UnitsInOrderHasEachComputeUnitOnce) {
  for (const std::string_view name : built_in_board_names()) {
    const BoardOr board = find_board(name);
    std::set<std::tuple<int, int, int, int>> places;
    for (const auto& at : board->units_in_order()) {
      places.insert({at.xcc, at.engine, at.array, at.unit});
      EXPECT_LT(at.engine, board->shader_engines()) << name;
      EXPECT_LT(at.array, board->shader.arrays_per_engine) << name;
      EXPECT_LT(at.unit, board->shader.cu_per_array) << name;
    }
    EXPECT_EQ(places.size(), board->compute_units()) << name;
  }
}

TEST(Board, TongaDiffersFromOtherGfx8Chips) {
  const BoardOr tonga = find_board("gfx802"), fiji = find_board("gfx803");
  ASSERT_TRUE(tonga);
  EXPECT_TRUE(tonga->doorbell_in_dwords());
  EXPECT_FALSE(tonga->driver().saves_waves);
  EXPECT_EQ(tonga->driver().end_of_pipe_bytes, 0x8000u);
  EXPECT_FALSE(fiji->doorbell_in_dwords());
  EXPECT_TRUE(fiji->driver().saves_waves);
  EXPECT_EQ(fiji->driver().end_of_pipe_bytes, 0x1000u);
  EXPECT_FALSE(find_board("vega10")->doorbell_in_dwords());
}

TEST(BoardSchema, MissingKeyIsReportedByPath) {
  auto json = vega10();
  json["shader"].erase("simd_count");
  EXPECT_EQ(error_of(json), "mine.json: /shader/simd_count: is missing");
}

TEST(BoardSchema, ReportsAllErrorsOfAFile) {
  auto json = vega10();
  json["name"] = 5;
  json["shader"].erase("simd_count");
  json["caches"][0]["type"] = "daat";
  json["caches"][3]["size"] = 1;
  EXPECT_EQ(error_of(json),
            "mine.json: /name: should be a string but is number; did you mean \"5\"?\n"
            "mine.json: /shader/simd_count: is missing\n"
            "mine.json: /caches/0/type: invalid value 'daat'; did you mean 'data'?\n"
            "mine.json: /caches/3/size: unknown key; use level, type, size_kb, line_bytes, shared_by_cus");
}

TEST(BoardSchema, UnknownKeyIsReported) {
  auto json = vega10();
  json["memory"]["vram_gb"] = 4;
  EXPECT_EQ(error_of(json), "mine.json: /memory/vram_gb: unknown key; did you mean 'vram_mb'?");
}

TEST(BoardSchema, WrongTypeIsReported) {
  auto json = vega10();
  json["sdma"]["engines"] = "two";
  EXPECT_THAT(error_of(json), HasSubstr("/sdma/engines: should be a number"));
  json = vega10();
  json["pci"] = 3;
  EXPECT_EQ(error_of(json), "mine.json: /pci: should be an object but is number");
}

TEST(BoardSchema, ValueOutOfRangeIsReportedWithBounds) {
  auto json = vega10();
  json["caches"][1]["level"] = 7;
  EXPECT_EQ(error_of(json), "mine.json: /caches/1/level: should be between 1 and 3 but is 7");
}

TEST(BoardSchema, RejectsContradictoryNumbers) {
  auto json = vega10();
  json["shader"]["cu_per_array"] = 2;
  EXPECT_THAT(error_of(json), HasSubstr("/shader/simd_count: more compute units"));
  json = built_in("raphael");
  json["shader"]["simd_count"] = 2;
  EXPECT_THAT(error_of(json), HasSubstr("/shader/simd_count: odd number of compute units"));
}

TEST(BoardSchema, TilingIsRequiredOnlyForGfx8) {
  const Board fiji = *find_board("fiji");
  constexpr uint32_t kLinearAligned = 1;
  EXPECT_EQ(fiji.tiling.modes[8] >> 2 & 15, kLinearAligned) << "where every driver has it";
  auto json = vega10();
  json["tiling"] = {{"banks", 0}};
  EXPECT_THAT(error_of(json), HasSubstr("/tiling: unknown key"));
  json["gfx_target_version"] = 80003;
  EXPECT_THAT(error_of(json), HasSubstr("/tiling/ranks: is missing"));
  json["tiling"] = {{"banks", 0}, {"ranks", 0}, {"modes", {1, 2}}};
  EXPECT_THAT(error_of(json), HasSubstr("/tiling/modes: should have 32 elements but has 2"));
}

TEST(BoardSchema, InvalidJsonIsReportedWithFile) {
  const BoardOr board = read_board("{\"name\": ", "mine.json");
  ASSERT_FALSE(board);
  EXPECT_THAT(board.error(), HasSubstr("mine.json: "));
}

}  // namespace
}  // namespace rigel::vgpu
