#include "core/driver/board_name.hpp"

#include <charconv>
#include <fstream>
#include <iterator>

#include <fmt/core.h>

namespace rigel {
namespace {

constexpr const char* kList = "/usr/share/libdrm/amdgpu.ids";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool is_hex(std::string_view text, uint32_t value) {
  uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return problem == std::errc{} && end == text.data() + text.size() && !text.empty() && number == value;
}

}  // namespace

std::string find_board_name(std::string_view list, uint32_t device_id, uint32_t revision) {
  while (!list.empty()) {
    const size_t end = std::min(list.find('\n'), list.size());
    const std::string_view line = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const size_t first = line.find(',');
    const size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
    if (second == line.npos || line.front() == '#') continue;
    if (is_hex(trimmed(line.substr(0, first)), device_id) &&
        is_hex(trimmed(line.substr(first + 1, second - first - 1)), revision)) {
      return std::string(trimmed(line.substr(second + 1)));
    }
  }
  return {};
}

std::string board_name(const Transport& transport, const KfdNode& node) {
  const std::string revision_file =
      fmt::format("/sys/dev/char/226:{}/device/revision", node.property("drm_render_minor"));
  const std::string text(trimmed(transport.read_file(revision_file)));
  if (text.substr(0, 2) != "0x") return {};
  uint32_t revision = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), revision, 16);
  std::ifstream file(kList);
  const std::string list{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return find_board_name(list, static_cast<uint32_t>(node.property("device_id")), revision);
}

}  // namespace rigel
