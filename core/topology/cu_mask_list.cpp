#include "core/topology/cu_mask_list.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/core.h>
#include <tl/expected.hpp>

namespace rigel {
namespace {

using Bits = std::vector<uint32_t>;
using Wrong = tl::unexpected<std::string>;

bool has(const Bits& bits, uint32_t i) {
  return i / 32 < bits.size() && (bits[i / 32] >> i % 32 & 1) != 0;
}

void add(Bits& bits, uint32_t i) {
  if (i / 32 >= bits.size()) bits.resize(i / 32 + 1);
  bits[i / 32] |= 1u << i % 32;
}

/// Removes and returns the text before the separator. The end of the text counts as a separator.
std::string_view take_until(std::string_view& text, char separator) {
  const size_t at = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

/// Parses a number of any length; larger numbers become the type's maximum.
std::optional<uint32_t> number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(digit - '0'), UINT32_MAX);
  }
  return static_cast<uint32_t>(value);
}

/// Parses ranges to bits, without numbers from `most` on.
tl::expected<Bits, std::string> ranges(std::string_view text, uint32_t most, bool& left_out) {
  Bits bits;
  if (text.empty()) return Wrong("empty list");
  while (!text.empty()) {
    const std::string_view range = take_until(text, ',');
    const size_t dash = range.find('-');
    const auto first = number(range.substr(0, dash));
    const auto last = dash == range.npos ? first : number(range.substr(dash + 1));
    if (!first || !last) return Wrong(fmt::format("invalid number or range '{}'", range));
    if (*last < *first)
      return Wrong(fmt::format("invalid range '{}': its end is less than its start", range));
    for (uint32_t i = *first; i < most && i <= *last; ++i) {
      if (has(bits, i)) return Wrong(fmt::format("{} is listed twice", i));
      add(bits, i);
    }
    left_out |= *last >= most;
  }
  return bits;
}

tl::expected<Bits, std::string> hexadecimal(std::string_view digits, bool& left_out) {
  Bits bits;
  if (digits.empty()) return Wrong("a mask has no digits");
  uint32_t at = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, at += 4) {
    if (std::isxdigit(static_cast<unsigned char>(*digit)) == 0)
      return Wrong(fmt::format("invalid hexadecimal digit '{}'", *digit));
    const int value = *digit <= '9' ? *digit - '0' : (*digit | 0x20) - 'a' + 10;
    const bool there = at < CuMaskList::kUnitsMost;
    left_out |= !there && value != 0;
    for (uint32_t bit = 0; bit < 4 && there; ++bit) {
      if ((value >> bit & 1) != 0) add(bits, at + bit);
    }
  }
  return bits;
}

tl::expected<Bits, std::string> units_of(std::string_view text, bool& left_out) {
  const bool is_mask = text.size() >= 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
  auto units =
      is_mask ? hexadecimal(text.substr(2), left_out) : ranges(text, CuMaskList::kUnitsMost, left_out);
  if (units && units->empty()) return Wrong("selects no compute units");
  return units;
}

/// Adds a set to the list. On error, returns the reason and adds nothing.
std::string add_set(std::string_view set, CuMaskList& list) {
  const size_t colon = set.find(':');
  if (colon == set.npos) return "a set has no ':'";
  bool left_out = false;
  const auto gpus = ranges(set.substr(0, colon), CuMaskList::kGpusMost, left_out);
  if (!gpus) return gpus.error();
  const auto units = units_of(set.substr(colon + 1), left_out);
  if (!units) return units.error();
  const auto end = static_cast<uint32_t>(gpus->size() * 32);
  for (uint32_t gpu = 0; gpu < end; ++gpu) {
    if (has(*gpus, gpu) && list.find(gpu) != nullptr) return fmt::format("GPU {} is listed twice", gpu);
  }
  for (uint32_t gpu = 0; gpu < end; ++gpu) {
    if (has(*gpus, gpu)) list.entries.push_back({gpu, *units});
  }
  list.left_out |= left_out;
  return {};
}

}  // namespace

const std::vector<uint32_t>* CuMaskList::find(uint32_t gpu) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.gpu == gpu; });
  return found == entries.end() ? nullptr : &found->units;
}

CuMaskList parse_cu_mask_list(std::string_view text) {
  std::string dense(text);
  std::erase_if(dense, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  CuMaskList list;
  for (std::string_view rest = dense; !rest.empty();) {
    const std::string_view set = take_until(rest, ';');
    const std::string why = add_set(set, list);
    if (why.empty()) continue;
    list.wrong = fmt::format("'{}': {}", set, why);
    break;
  }
  return list;
}

}  // namespace rigel
