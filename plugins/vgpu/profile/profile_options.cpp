#include "plugins/vgpu/profile/profile_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/core.h>

#include "loader/text/words.hpp"

namespace rigel::vgpu::profile {
namespace {

struct Suffix {
  std::string_view text;
  Format format;
};
constexpr Suffix kSuffixes[] = {{".txt", Format::kTable},
                                {".json", Format::kJson},
                                {".callgrind", Format::kCallgrind},
                                {".info", Format::kLcov},
                                {".folded", Format::kFolded}};

std::optional<Format> format_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("callgrind.out")) return Format::kCallgrind;
  const auto* const found = std::find_if(
      std::begin(kSuffixes), std::end(kSuffixes),
      [&](const Suffix& suffix) { return name.size() > suffix.text.size() && name.ends_with(suffix.text); });
  if (found == std::end(kSuffixes)) return std::nullopt;
  return found->format;
}

std::string with_process_id(std::string path) {
  for (size_t at = path.find("%p"); at != path.npos; at = path.find("%p", at))
    path.replace(at, 2, std::to_string(getpid()));
  return path;
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

}  // namespace

tl::expected<std::vector<Output>, std::string> parse_outputs(std::string_view list) {
  std::vector<Output> outputs;
  for (const std::string_view path : split(list, ',')) {
    if (path == "-") {
      outputs.emplace_back();
      continue;
    }
    const auto format = format_of(path);
    if (!format) {
      return tl::unexpected(fmt::format(
          "{}: unknown format; use a name that ends in .txt, .json, .callgrind, .info or .folded, or -",
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
  options.against = variable("VGPU_PROFILE_AGAINST");
  if (options.is_on()) options.program = command_line();
  return options;
}

}  // namespace rigel::vgpu::profile
