// The remedies of messages about values that are not in a table: "; did you mean 'x'?" or "; use x, y or z".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "loader/text/words.hpp"

namespace rigel::vgpu {

/// "; did you mean 'x'?" for the closest of the known values; empty if none is close.
inline std::string did_you_mean(std::string_view value, std::span<const std::string_view> known) {
  const std::string_view best = closest(value, known);
  return best.empty() ? std::string() : "; did you mean '" + std::string(best) + "'?";
}

/// "; did you mean 'x'?", or "; use x, y or z" with all known values if none is close.
inline std::string remedy(std::string_view value, std::span<const std::string_view> known) {
  std::string text = did_you_mean(value, known);
  if (!text.empty() || known.empty()) return text;
  text = "; use ";
  for (size_t i = 0; i < known.size(); ++i) {
    if (i != 0) text += i + 1 == known.size() ? " or " : ", ";
    text += known[i];
  }
  return text;
}

}  // namespace rigel::vgpu
