#include "plugins/vgpu/check/check_options.hpp"

#include <charconv>
#include <cstdlib>
#include <iterator>
#include <vector>

#include <fmt/core.h>

#include "loader/text/words.hpp"
#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu::check {
namespace {

constexpr std::string_view kNames[kTools] = {"memory", "races", "sync", "waits", "init"};

std::string_view variable(const char* name) {
  const char* const value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

template <class Number>
void read_number(const char* name, Number& number) {
  const std::string_view text = variable(name);
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) number = value;
}

}  // namespace

std::string_view name(Tool tool) {
  return kNames[static_cast<uint32_t>(tool)];
}

tl::expected<uint32_t, std::string> parse_tools(std::string_view list) {
  constexpr uint32_t kAll = (1u << kTools) - 1;
  uint32_t tools = 0;
  for (const std::string_view word : split(list, ',')) {
    if (word == "all") tools = kAll;
    uint32_t index = 0;
    while (index != kTools && kNames[index] != word) ++index;
    if (index != kTools) {
      tools |= 1u << index;
    } else if (word != "all") {
      std::vector<std::string_view> words(std::begin(kNames), std::end(kNames));
      words.emplace_back("all");
      return tl::unexpected(fmt::format("unknown check {}{}", in_quotes(word), remedy(word, words)));
    }
  }
  return tools;
}

Options Options::from_environment() {
  Options options;
  options.tools = parse_tools(variable("VGPU_CHECK")).value_or(0);
  options.json = variable("VGPU_CHECK_OUTPUT") == "json";
  options.log_file = variable("VGPU_CHECK_LOG");
  options.kernel = variable("VGPU_CHECK_KERNEL");
  read_number("VGPU_CHECK_STATUS", options.exit_status);
  read_number("VGPU_CHECK_LIMIT", options.limit);
  return options;
}

}  // namespace rigel::vgpu::check
