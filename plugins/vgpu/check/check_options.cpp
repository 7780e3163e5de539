#include "plugins/vgpu/check/check_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
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

// "3", "3-5" or "3-".
bool read_range(std::string_view text, LaunchRange& range) {
  const size_t dash = text.find('-');
  if (!read_number<uint64_t>(text.substr(0, dash), 1, UINT64_MAX, range.first).empty()) return false;
  const std::string_view last = dash == text.npos ? text : text.substr(dash + 1);
  return last.empty() || (read_number<uint64_t>(last, range.first, UINT64_MAX, range.last).empty());
}

std::string read_launches(std::string_view value, Options& options) {
  std::vector<LaunchRange> ranges;
  for (const std::string_view part : split(value, ',')) {
    if (!read_range(part, ranges.emplace_back()))
      return fmt::format("invalid value {}; use launches from 1 such as 3, 5-8 or 10-", in_quotes(part));
  }
  options.launches = std::move(ranges);
  return {};
}

std::string read_padding(std::string_view value, Options& options) {
  return read_number<uint64_t>(value, 0, uint64_t{1} << 30, options.padding);
}

std::string read_quarantine(std::string_view value, Options& options) {
  return read_number<uint64_t>(value, 0, uint64_t{1} << 40, options.quarantine);
}

// "yes", "no", or the ID of the only process, which vgpu-run knows.
std::string read_children(std::string_view value, Options& options) {
  int process = 0;
  const bool is_word = value == "yes" || value == "no";
  if (!is_word && !read_number(value, 1, INT_MAX, process).empty())
    return fmt::format("invalid value {}; use yes or no", in_quotes(value));
  options.checks_children = value == "yes";
  options.only_process = process;
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
    {"--error-exitcode", "VGPU_CHECK_STATUS", read_status},
    {"--check-limit", "VGPU_CHECK_LIMIT", read_limit},
    {"--check-kernel", "VGPU_CHECK_KERNEL", read_kernel},
    {"--check-launch", "VGPU_CHECK_LAUNCH", read_launches},
    {"--check-children", "VGPU_CHECK_CHILDREN", read_children},
    {"--padding", "VGPU_CHECK_PADDING", read_padding},
    {"--quarantine", "VGPU_CHECK_QUARANTINE", read_quarantine},
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
  if (options.only_process != 0 && options.only_process != ::getpid()) options.tools = 0;
  return options;
}

bool Options::selects(uint64_t launch, std::string_view kernel_name) const {
  const bool is_selected =
      launches.empty() || std::any_of(launches.begin(), launches.end(), [&](const LaunchRange& range) {
        return launch >= range.first && launch <= range.last;
      });
  return is_selected && kernel_name.find(kernel) != kernel_name.npos;
}

}  // namespace rigel::vgpu::check
