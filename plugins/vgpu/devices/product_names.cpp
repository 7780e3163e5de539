#include "plugins/vgpu/devices/product_names.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace rigel::vgpu {
namespace {

using Name = std::string_view;

// Source: the units and names of AMD's cards in Mesa's amdgpu.ids and on AMD's product pages.
constexpr Name kFiji[] = {"furyx", "r9furyx", "r9nano", "r9fury"};
constexpr Name kPolaris10[] = {"rx580", "rx480"};
constexpr Name kRx570[] = {"rx570", "rx470"};
constexpr Name kTonga[] = {"r9380x", "r9380"};
constexpr Name kVega10[] = {"mi25", "vega64"};
constexpr Name kVega20[] = {"radeonvii", "mi50"};
constexpr Name kRaven[] = {"vega11"};
constexpr Name kRenoir[] = {"vega8"};
constexpr Name kNavi10[] = {"rx5700xt"};
constexpr Name kNavi14[] = {"rx5500xt"};
constexpr Name kNavi21[] = {"rx6900xt", "rx6950xt"};
constexpr Name kRx6800xt[] = {"rx6800xt"};
constexpr Name kRx6800[] = {"rx6800"};
constexpr Name kV620[] = {"v620", "prov620"};
constexpr Name kNavi22[] = {"rx6700xt", "rx6750xt"};
constexpr Name kNavi23[] = {"rx6650xt", "rx6600xt"};
constexpr Name kNavi24[] = {"rx6500xt"};
constexpr Name kRembrandt[] = {"680m"};
constexpr Name kMi100[] = {"mi100", "arcturus"};
constexpr Name kMi210[] = {"mi210", "aldebaran"};
constexpr Name kMi250x[] = {"mi250x"};
constexpr Name kMi300x[] = {"mi300x", "aquavanjaram"};
constexpr Name kMi300a[] = {"mi300a"};
constexpr Name kNavi31[] = {"rx7900xtx"};
constexpr Name kNavi32[] = {"rx7800xt"};
constexpr Name kNavi33[] = {"rx7600"};
constexpr Name kPhoenix[] = {"780m"};
constexpr Name kStrix[] = {"890m", "strixpoint"};
constexpr Name kStrixHalo[] = {"8060s"};
constexpr Name kNavi44[] = {"rx9060xt"};
constexpr Name kNavi48[] = {"rx9070xt", "r9700"};

constexpr ProductNames kNames[] = {
    {"fiji", "fiji", kFiji},        {"polaris10", "polaris10", kPolaris10},
    {"rx570", "polaris10", kRx570}, {"tonga", "tonga", kTonga},
    {"vega10", "vega10", kVega10},  {"vega20", "vega20", kVega20},
    {"raven", "raven", kRaven},     {"renoir", "renoir", kRenoir},
    {"navi10", "navi10", kNavi10},  {"navi14", "navi14", kNavi14},
    {"navi21", "navi21", kNavi21},  {"rx6800xt", "navi21", kRx6800xt},
    {"rx6800", "navi21", kRx6800},  {"v620", "navi21", kV620},
    {"navi22", "navi22", kNavi22},  {"navi23", "navi23", kNavi23},
    {"navi24", "navi24", kNavi24},  {"rembrandt", "rembrandt", kRembrandt},
    {"raphael", "raphael", {}},     {"mi100", "mi100", kMi100},
    {"mi210", "mi210", kMi210},     {"mi250x", "mi210", kMi250x},
    {"mi300x", "mi300x", kMi300x},  {"mi300a", "mi300x", kMi300a},
    {"navi31", "navi31", kNavi31},  {"navi32", "navi32", kNavi32},
    {"navi33", "navi33", kNavi33},  {"phoenix", "phoenix", kPhoenix},
    {"strix", "strix", kStrix},     {"strixhalo", "strixhalo", kStrixHalo},
    {"navi44", "navi44", kNavi44},  {"navi48", "navi48", kNavi48},
};

/// Returns the word in lower case, without spaces, hyphens and underscores.
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (c == ' ' || c == '-' || c == '_') continue;
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

/// Returns `text` without the manufacturer's brand names at its start.
std::string_view without_maker(std::string_view text) {
  for (const std::string_view word : {"amd", "radeon", "instinct", "rx"}) {
    // "Radeon VII" is a product, not a brand name and "VII".
    if (text.starts_with(word) && text != "radeonvii") text.remove_prefix(word.size());
  }
  return text;
}

}  // namespace

std::span<const ProductNames> all_product_names() {
  return kNames;
}

const ProductNames* find_product_names(std::string_view board) {
  const auto* const entry = std::find_if(std::begin(kNames), std::end(kNames),
                                         [board](const ProductNames& names) { return names.board == board; });
  return entry == std::end(kNames) ? nullptr : entry;
}

std::string_view board_of_product(std::string_view word) {
  const std::string text = plain(word);
  const std::string_view product_name = without_maker(text);
  for (const ProductNames& names : kNames) {
    const auto matches = [product_name](std::string_view product) {
      return without_maker(product) == product_name;
    };
    if (std::any_of(names.products.begin(), names.products.end(), matches)) return names.board;
  }
  return {};
}

}  // namespace rigel::vgpu
