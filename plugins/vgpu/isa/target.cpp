#include "plugins/vgpu/isa/target.hpp"

#include <array>
#include <bit>
#include <iterator>

namespace rigel::vgpu::isa {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// In the order of CHIPS in generate_tables.py.
constexpr Target kChips[] = {
    {8, 0, 1},  {8, 0, 2},  {8, 0, 3},  {8, 0, 5},  {8, 1, 0},  // Volcanic Islands
    {9, 0, 0},  {9, 0, 2},  {9, 0, 4},  {9, 0, 6},  {9, 0, 8},  {9, 0, 9},  {9, 0, 10},
    {9, 0, 12},                                                                          // Vega, CDNA
    {10, 1, 0}, {10, 1, 1}, {10, 1, 2}, {10, 1, 3},                                      // RDNA
    {10, 3, 0}, {10, 3, 1}, {10, 3, 2}, {10, 3, 3}, {10, 3, 4}, {10, 3, 5}, {10, 3, 6},  // RDNA 2
};

constexpr size_t key_of(const Target& chip) {
  return (chip.major - 8u) * 64 + chip.minor * 16u + chip.stepping;
}

constexpr auto kChipBits = [] {
  std::array<uint32_t, 192> bits{};
  for (size_t i = 0; i != std::size(kChips); ++i) bits[key_of(kChips[i])] = 1u << i;
  return bits;
}();

}  // namespace

std::optional<Target> target_of(std::string_view name) {
  name = name.substr(0, name.find(':'));
  if (!name.starts_with("gfx") || name.size() < 6 || name.size() > 7) return std::nullopt;
  name.remove_prefix(3);
  Target target;
  const auto stepping = kDigits.find(name.back());
  const auto minor = kDigits.substr(0, 10).find(name[name.size() - 2]);
  if (stepping == std::string_view::npos || minor == std::string_view::npos) return std::nullopt;
  target.minor = static_cast<uint8_t>(minor);
  target.stepping = static_cast<uint8_t>(stepping);
  const std::string_view major = name.substr(0, name.size() - 2);
  if (major == "8") {
    target.major = 8;
  } else if (major == "9") {
    target.major = 9;
  } else if (major == "10") {
    target.major = 10;
  } else {
    return std::nullopt;
  }
  if (chip_bit(target) == 0) return std::nullopt;
  return target;
}

std::string name(const Target& target) {
  std::string text = "gfx" + std::to_string(target.major);
  text += kDigits[target.minor & 15];
  text += kDigits[target.stepping & 15];
  return text;
}

std::optional<Target> target_of_bit(uint32_t bit) {
  if (!std::has_single_bit(bit) || static_cast<size_t>(std::countr_zero(bit)) >= std::size(kChips))
    return std::nullopt;
  return kChips[std::countr_zero(bit)];
}

uint32_t chip_bit(const Target& target) {
  if (target.major < 8 || target.major > 10 || target.minor > 3 || target.stepping > 15) return 0;
  return kChipBits[key_of(target)];
}

}  // namespace rigel::vgpu::isa
