// Compares the boards with reports of hardware owners and with the driver's tables (records.tsv).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/devices/built_in_boards.hpp"

namespace rigel::vgpu {
namespace {

using nlohmann::json;

// Returns a number in decimal. Boards and records also contain numbers with 0x.
std::string plain(const std::string& text) {
  size_t end = 0;
  try {
    const auto number = std::stoull(text, &end, 0);
    if (end == text.size()) return std::to_string(number);
  } catch (const std::exception&) {
  }
  return text;
}

std::string plain(const json& value) {
  return plain(value.is_string() ? value.get<std::string>() : value.dump());
}

// Returns all fields of a board except the tiling tables: "shader.simd_count", "caches.L2 data.size_kb".
std::map<std::string, std::string> facts_of(std::string_view text) {
  std::map<std::string, std::string> facts;
  const json board = json::parse(text);
  for (const auto& [key, value] : board.items()) {
    if (key == "name" || key == "tiling") continue;
    if (key == "caches") {
      for (const json& cache : value) {
        const std::string name =
            "caches.L" + cache["level"].dump() + " " + cache["type"].get<std::string>() + ".";
        for (const char* fact : {"size_kb", "line_bytes", "shared_by_cus"})
          facts[name + fact] = plain(cache[fact]);
      }
    } else if (value.is_object()) {
      for (const auto& [inner, fact] : value.items()) facts[key + "." + inner] = plain(fact);
    } else {
      facts[key] = plain(value);
    }
  }
  return facts;
}

std::vector<std::vector<std::string>> read_records() {
  std::ifstream file(RIGEL_BOARD_RECORDS);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> words;
    std::istringstream row(line);
    for (std::string word; std::getline(row, word, '\t');) words.push_back(word);
    rows.push_back(words);
  }
  return rows;
}

TEST(BoardRecords, FieldsMatchRecords) {
  const auto rows = read_records();
  ASSERT_FALSE(rows.empty());
  std::set<std::string> boards;
  for (const auto& file : kBuiltInBoards) {
    const std::string name(file.name);
    boards.insert(name);
    const auto facts = facts_of(file.json);
    std::set<std::string> seen, unseen;
    for (const auto& row : rows) {
      if (row[0] != name) continue;
      ASSERT_GE(row.size(), 3u) << name;
      const auto fact = facts.find(row[1]);
      ASSERT_NE(fact, facts.end()) << name << " has no " << row[1];
      if (row[2] == "-") {
        unseen.insert(row[1]);
        continue;
      }
      ASSERT_EQ(row.size(), 5u) << name << ": " << row[1] << " was seen, but where?";
      EXPECT_FALSE(row[4].empty()) << name << ": " << row[1];
      EXPECT_EQ(fact->second, plain(row[2])) << name << ": " << row[1] << ", by " << row[4];
      seen.insert(row[1]);
    }
    for (const auto& [fact, value] : facts) {
      EXPECT_EQ(seen.count(fact) + unseen.count(fact), 1u)
          << name << ": " << fact << " is in no record and not said to be, or both";
    }
  }
  for (const auto& row : rows) EXPECT_TRUE(boards.count(row[0])) << "there is no board " << row[0];
}

// external_revision minus asic_revision: vi_common_early_init, soc15_common_early_init and
// nv_common_early_init, soc21_common_early_init and soc24_common_early_init of Linux.
uint32_t first_external_revision(const Board& board) {
  const std::map<std::string_view, uint32_t> first = {
      {"fiji", 0x3c},   {"tonga", 0x14},   {"polaris10", 0x50}, {"rx570", 0x50},     {"vega20", 0x28},
      {"raven", 0x20},  {"renoir", 0xa1},  {"navi10", 0x01},    {"navi14", 0x14},    {"navi22", 0x32},
      {"navi23", 0x3c}, {"navi24", 0x46},  {"raphael", 0x01},   {"mi100", 0x32},     {"mi210", 0x3c},
      {"mi250x", 0x3c}, {"mi300x", 0x46},  {"mi300a", 0x46},    {"navi31", 0x01},    {"navi32", 0x20},
      {"navi33", 0x10}, {"phoenix", 0x01}, {"strix", 0x10},     {"strixhalo", 0xc1}, {"navi44", 0x40},
      {"navi48", 0x50}};
  const auto found = first.find(board.name);
  return found != first.end() ? found->second : 0x28;  // the variants of Navi 21
}

TEST(BoardRecords, DerivedFieldsMatchDriverFormulas) {
  for (const auto& file : kBuiltInBoards) {
    const Board board = *read_board(file.json, file.name);
    const uint32_t version = board.gfx_target_version;
    if (board.name == "vega10") {
      EXPECT_EQ(board.external_revision, 1u);
    } else if (board.name == "rembrandt") {
      EXPECT_EQ(board.external_revision, 0x20u);  // device 0x1681
    } else {
      EXPECT_EQ(board.external_revision, board.asic_revision + first_external_revision(board)) << board.name;
    }
    // kfd_gws_init: MEC firmware version from which GWS is supported. gfx10.1 needs a module parameter
    // instead, gfx11 firmware of the scheduler.
    const uint32_t minimum_firmware = version < 90000    ? ~0u
                                      : version == 90008 ? 0x30
                                      : version == 90010 ? 0x28
                                      : version == 90402 ? 0
                                      : version < 100100 ? 0x1b3
                                      : version < 100300 ? 0
                                      : version < 110000 ? 0x6b
                                                         : 0;
    EXPECT_EQ(board.queues.gws, board.firmware.mec >= minimum_firmware ? 64u : 0u) << board.name;
    // The first compute engine's queues, without those of the graphics driver.
    const uint32_t queues = version < 100300 ? 32 - 8 : version < 120000 ? 16 - 8 : 8 - 4;
    EXPECT_EQ(board.queues.compute, queues) << board.name;
  }
}

}  // namespace
}  // namespace rigel::vgpu
