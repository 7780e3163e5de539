#include "plugins/vgpu/isa/target.hpp"

#include <charconv>
#include <iterator>

namespace rigel::vgpu::isa {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

constexpr auto kTargets = [] {
  std::array<Target, std::size(detail::kChips)> targets;
  for (size_t i = 0; i != targets.size(); ++i) targets[i] = detail::kChips[i].target;
  return targets;
}();

}  // namespace

std::span<const Target> all_targets() {
  return kTargets;
}

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
  const char* const end = major.data() + major.size();
  if (std::from_chars(major.data(), end, target.major).ptr != end || chip_set(target).is_empty())
    return std::nullopt;
  return target;
}

std::string name(const Target& target) {
  std::string text = "gfx" + std::to_string(target.major);
  text += kDigits[target.minor & 15];
  text += kDigits[target.stepping & 15];
  return text;
}

}  // namespace rigel::vgpu::isa
