#include "plugins/vgpu/check/finding.hpp"

#include <fmt/core.h>

namespace rigel::vgpu::check {

std::string_view name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::string source_of(const Place& place) {
  if (place.frames.empty() || place.frames.front().file.empty()) return {};
  return fmt::format("{}:{}", place.frames.front().file, place.frames.front().line);
}

}  // namespace rigel::vgpu::check
