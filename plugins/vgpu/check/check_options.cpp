#include "plugins/vgpu/check/check_options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include <fmt/core.h>

#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu::check {
namespace {

template <class Number>
std::string read_number(std::string_view text, Number least, Number most, Number& number) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most)
    return fmt::format("invalid value {}; use a number from {} to {}", in_quotes(text), least, most);
  number = value;
  return {};
}

std::string read_tools(std::string_view value, Options& options) {
  const auto tools = parse_tools(value);
  if (!tools) return tools.error();
  options.tools = *tools;
  return {};
}

std::string read_output(std::string_view value, Options& options) {
  constexpr std::string_view kFormats[] = {"text", "json", "sarif"};
  const auto* const found = std::find(std::begin(kFormats), std::end(kFormats), value);
  if (found == std::end(kFormats))
    return fmt::format("invalid value {}{}", in_quotes(value), remedy(value, kFormats));
  options.format = static_cast<Format>(found - kFormats);
  return {};
}

std::string read_log_file(std::string_view value, Options& options) {
  options.log_file = value;
  return {};
}

std::string read_status(std::string_view value, Options& options) {
  return read_number(value, 0, 255, options.exit_status);
}

std::string read_limit(std::string_view value, Options& options) {
  return read_number(value, 1u, 1'000'000u, options.limit);
}

std::string read_kernel(std::string_view value, Options& options) {
  options.kernel = value;
  return {};
}

std::string read_suppression_files(std::string_view value, Options& options) {
  std::vector<Suppression> list;
  std::string wrong = read_suppressions(value, list);
  if (wrong.empty()) options.suppressions = std::move(list);
  return wrong;
}

constexpr Setting kSettings[] = {
    {"--check", "VGPU_CHECK", read_tools},
    {"--check-output", "VGPU_CHECK_OUTPUT", read_output},
    {"--check-log", "VGPU_CHECK_LOG", read_log_file, true},
    {"", "VGPU_CHECK_STATUS", read_status},
    {"", "VGPU_CHECK_LIMIT", read_limit},
    {"", "VGPU_CHECK_KERNEL", read_kernel},
    {"--check-suppressions", "VGPU_CHECK_SUPPRESSIONS", read_suppression_files, true},
};

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

Options Options::from_environment() {
  Options options;
  for (const Setting& setting : kSettings) {
    const char* const value = secure_getenv(setting.variable);
    if (value != nullptr && *value != 0) setting.read(value, options);
  }
  return options;
}

}  // namespace rigel::vgpu::check
