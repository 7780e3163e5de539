#include "plugins/vgpu/profile/profile_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/core.h>

#include "loader/text/words.hpp"
#include "plugins/vgpu/fidelity/result_file.hpp"

namespace rigel::vgpu::profile {
namespace {

struct Suffix {
  std::string_view text;
  Format format;
};
constexpr Suffix kSuffixes[] = {{".txt", Format::kTable},           {".json", Format::kJson},
                                {".callgrind", Format::kCallgrind}, {".info", Format::kLcov},
                                {".folded", Format::kFolded},       {".perfetto", Format::kPerfetto}};

std::optional<Format> format_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("callgrind.out")) return Format::kCallgrind;
  const auto* const found = std::find_if(
      std::begin(kSuffixes), std::end(kSuffixes),
      [&](const Suffix& suffix) { return name.size() > suffix.text.size() && name.ends_with(suffix.text); });
  if (found == std::end(kSuffixes)) return std::nullopt;
  return found->format;
}

std::string variable(const char* name) {
  const char* const value = secure_getenv(name);
  return value == nullptr ? std::string() : value;
}

// Returns the arguments of this process, separated by spaces.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// Reads "3", "5-8" or "10-".
bool read_range(std::string_view text, Range& range) {
  const auto read = [](std::string_view digits, uint64_t& number) {
    const auto parsed = std::from_chars(digits.begin(), digits.end(), number);
    return parsed.ec == std::errc() && parsed.ptr == digits.end();
  };
  const size_t dash = text.find('-');
  if (!read(text.substr(0, dash), range.first)) return false;
  if (dash == text.npos) range.last = range.first;
  const std::string_view last = dash == text.npos ? std::string_view() : text.substr(dash + 1);
  return last.empty() || (read(last, range.last) && range.last >= range.first);
}

bool contains(const std::vector<Range>& ranges, uint64_t number) {
  return ranges.empty() || std::ranges::any_of(ranges, [&](const Range& range) {
           return number >= range.first && number <= range.last;
         });
}

std::string outputs_problem(std::string_view value) {
  const auto outputs = parse_outputs(value);
  return outputs ? std::string() : outputs.error();
}

std::string ranges_problem(std::string_view value) {
  const auto ranges = parse_ranges(value);
  return ranges ? std::string() : ranges.error();
}

std::string file_problem(std::string_view value) {
  return access(std::string(value).c_str(), R_OK) == 0
             ? std::string()
             : fmt::format("{}: {}", in_quotes(value), std::strerror(errno));
}

std::string kernel_problem(std::string_view) {
  return {};
}

std::string switch_problem(std::string_view value) {
  return value == "0" || value == "1" ? std::string()
                                      : fmt::format("invalid value {}; use 0 or 1", in_quotes(value));
}

constexpr Setting kSettings[] = {
    {"--profile", "VGPU_PROFILE", outputs_problem, "-"},
    {"--profile-against", "VGPU_PROFILE_AGAINST", file_problem},
    {"--profile-kernel", "VGPU_PROFILE_KERNEL", kernel_problem},
    {"--profile-launch", "VGPU_PROFILE_LAUNCH", ranges_problem},
    {"--profile-queue", "VGPU_PROFILE_QUEUE", ranges_problem},
    {"--profile-memory", "VGPU_PROFILE_MEMORY", switch_problem, "1"},
};

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

tl::expected<std::vector<Range>, std::string> parse_ranges(std::string_view list) {
  std::vector<Range> ranges;
  for (const std::string_view part : split(list, ',')) {
    if (!read_range(part, ranges.emplace_back()))
      return tl::unexpected(
          fmt::format("invalid value {}; use numbers such as 3, 5-8 or 10-", in_quotes(part)));
  }
  return ranges;
}

bool Options::writes(Format format) const {
  return std::ranges::any_of(outputs, [&](const Output& output) { return output.format == format; });
}

bool Options::selects(uint64_t launch, uint64_t queue) const {
  return contains(launches, launch) && contains(queues, queue);
}

tl::expected<std::vector<Output>, std::string> parse_outputs(std::string_view list) {
  std::vector<Output> outputs;
  for (const std::string_view path : split(list, ',')) {
    if (path == "-") {
      outputs.emplace_back();
      continue;
    }
    const auto format = format_of(path);
    if (!format) {
      return tl::unexpected(
          fmt::format("{}: unknown format; use a name that ends in .txt, .json, .callgrind, .info, .folded "
                      "or .perfetto, or -",
                      in_quotes(path)));
    }
    outputs.push_back({with_process_id(std::string(path)), *format});
  }
  return outputs;
}

Options Options::from_environment() {
  Options options;
  options.outputs = parse_outputs(variable("VGPU_PROFILE")).value_or(std::vector<Output>());
  options.kernel = variable("VGPU_PROFILE_KERNEL");
  options.launches = parse_ranges(variable("VGPU_PROFILE_LAUNCH")).value_or(std::vector<Range>());
  options.queues = parse_ranges(variable("VGPU_PROFILE_QUEUE")).value_or(std::vector<Range>());
  options.memory = variable("VGPU_PROFILE_MEMORY") == "1";
  options.against = variable("VGPU_PROFILE_AGAINST");
  if (options.is_on()) options.program = command_line();
  return options;
}

}  // namespace rigel::vgpu::profile
