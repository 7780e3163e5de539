// Test data: surfaces with the results of AMD's addrlib (layouts.tsv).
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/images/surface.hpp"

namespace rigel::vgpu::images {

inline std::vector<std::vector<std::string>> read_table(const std::string& name) {
  std::ifstream file(RIGEL_LAYOUTS + ("/" + name));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    rows.push_back(cells);
  }
  return rows;
}

struct LayoutCase {
  std::string name;
  Surface surface;              ///< Without base and chip.
  std::string board;            ///< gfx8: the board whose tables are used
  uint32_t gb_addr_config = 0;  ///< other chips
  uint64_t bytes = 0, last_texel = 0, hash = 0;
};

inline std::vector<LayoutCase> read_layout_cases() {
  static const std::map<std::string, Generation> kGenerations = {
      {"gfx8", Generation::kGfx8},       {"gfx9", Generation::kGfx9},   {"gfx10.1", Generation::kGfx10_1},
      {"gfx10.3", Generation::kGfx10_3}, {"gfx11", Generation::kGfx11}, {"gfx12", Generation::kGfx12}};
  const auto number = [](const std::string& text) {
    return static_cast<uint32_t>(std::stoul(text, nullptr, 0));
  };
  std::vector<LayoutCase> cases;
  for (const auto& row : read_table("layouts.tsv")) {
    LayoutCase& layout_case = cases.emplace_back();
    Surface& surface = layout_case.surface;
    surface.generation = kGenerations.at(row.at(0));
    if (surface.generation == Generation::kGfx8) {
      layout_case.board = row.at(1);
    } else {
      layout_case.gb_addr_config = number(row.at(1));
    }
    surface.swizzle_mode = static_cast<uint8_t>(number(row.at(2)));
    surface.volume = row.at(3) == "1";
    surface.element_bytes = number(row.at(4));
    surface.width = number(row.at(5));
    surface.height = number(row.at(6));
    surface.planes = number(row.at(7));
    surface.levels = static_cast<uint8_t>(number(row.at(8)));
    surface.pitch = number(row.at(9));
    layout_case.bytes = std::stoull(row.at(10));
    layout_case.last_texel = std::stoull(row.at(11));
    layout_case.hash = std::stoull(row.at(12), nullptr, 16);
    layout_case.name = row[0] + " " + row[1] + ", mode " + row[2] + (surface.volume ? " of a volume" : "") +
                       ", bytes " + row[4];
  }
  return cases;
}

/// The sequence of texels whose offsets a table row's hash covers.
class PlaceSequence {
 public:
  explicit PlaceSequence(const Surface& surface) : surface_(surface) {}
  TexelPlace next() {
    TexelPlace place;
    place.level = below(surface_.levels);
    const auto halved = [&](uint32_t whole) { return std::max(whole >> place.level, 1u); };
    place.x = below(halved(surface_.width));
    place.y = below(halved(surface_.height));
    place.z = below(surface_.volume ? halved(surface_.planes) : surface_.planes);
    return place;
  }

 private:
  uint32_t below(uint32_t end) {
    state_ = state_ * 1664525 + 1013904223;
    return (state_ >> 8) % end;
  }

  const Surface& surface_;
  uint32_t state_ = 1;
};
constexpr int kPlacesPerCase = 2000;

class OffsetHash {
 public:
  void add(uint64_t offset) { value_ = (value_ ^ offset) * 0x100000001b3; }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace rigel::vgpu::images
