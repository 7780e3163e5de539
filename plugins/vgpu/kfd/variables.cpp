#include "plugins/vgpu/kfd/variables.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "loader/text/words.hpp"
#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/cp/schedule.hpp"
#include "plugins/vgpu/devices/remedy.hpp"
#include "plugins/vgpu/fidelity/run_fidelity.hpp"
#include "plugins/vgpu/profile/profile_options.hpp"

namespace rigel::vgpu {
namespace {

struct Variable {
  std::string_view name;
  std::string_view values = {};  // separated by ','; empty: any text
};

constexpr std::string_view kPrefix = "VGPU_", kThreads = "VGPU_THREADS", kSchedule = "VGPU_SCHEDULE",
                           kRunFidelity = "VGPU_RUN_FIDELITY";

constexpr Variable kVariables[] = {
    {"VGPU_GPUS"},
    {"VGPU_LINK"},
    {"VGPU_RUNTIME"},
    {"VGPU_BOARD_PATH"},
    {"VGPU_MACHINE"},
    {"VGPU_LOG"},
    {"VGPU_LOG_FILE"},
    {"VGPU_WATCHDOG"},
    {"VGPU_SIGNALS", "0,1"},
    {"VGPU_EVENTS", "exact"},
    {kThreads},
    {kSchedule},
    {kRunFidelity},
    {"VGPU_REQUIRE", "exact"},
    {"VGPU_SIMD", "baseline,avx2"},
    {"VGPU_COMPILER", "beforehand,off"},
    {"VGPU_CACHE"},
    {"VGPU_CACHE_READONLY"},
    {"VGPU_COMPILER_DUMP"},
    {"VGPU_THREAD_NAMES", "0,1"},
    {"VGPU_PERF_MAP", "0,1"},
};

std::string wrong_name(std::string_view name) {
  std::vector<std::string_view> known_names;
  std::transform(std::begin(kVariables), std::end(kVariables), std::back_inserter(known_names),
                 [](const Variable& variable) { return variable.name; });
  for (const check::Setting& setting : check::settings()) known_names.emplace_back(setting.variable);
  for (const profile::Setting& setting : profile::settings()) known_names.emplace_back(setting.variable);
  const std::string guess = did_you_mean(name, known_names);
  return guess.empty() ? "" : fmt::format("{}: unknown variable{}", name, guess);
}

std::string wrong_number(std::string_view name, std::string_view value, unsigned least, unsigned most) {
  unsigned number = 0;
  const auto parsed = std::from_chars(value.begin(), value.end(), number);
  if (parsed.ec == std::errc() && parsed.ptr == value.end() && number >= least && number <= most) return {};
  return fmt::format("{}: invalid value {}; use a number from {} to {}", name, in_quotes(value), least, most);
}

std::string wrong_value(const Variable& variable, std::string_view value) {
  if (variable.name == kThreads) return wrong_number(kThreads, value, 1, kMostThreads);
  if (variable.name == kRunFidelity) {
    const auto outputs = fidelity::parse_outputs(value);
    return outputs ? std::string() : fmt::format("{}: {}", kRunFidelity, outputs.error());
  }
  if (variable.name == kSchedule && !Schedule::from_text(value)) {
    return fmt::format("{}: invalid value {}; use barriers, random or random:<number>", kSchedule,
                       in_quotes(value));
  }
  const auto values = split(variable.values, ',');
  if (values.empty() || std::find(values.begin(), values.end(), value) != values.end()) return {};
  return fmt::format("{}: invalid value {}{}", variable.name, in_quotes(value), remedy(value, values));
}

// Appends what is wrong with a setting of the checks. Returns false if the variable is another one.
bool append_wrong_check(std::string_view name, std::string_view value, std::vector<std::string>& all) {
  const auto settings = check::settings();
  const auto setting = std::find_if(settings.begin(), settings.end(),
                                    [&](const check::Setting& each) { return each.variable == name; });
  if (setting == settings.end()) return false;
  check::Options options;
  const std::string problem = value.empty() ? std::string() : setting->read(value, options);
  for (const std::string_view line : split(problem, '\n')) all.push_back(fmt::format("{}: {}", name, line));
  return true;
}

// The same for profiles.
bool append_wrong_profile(std::string_view name, std::string_view value, std::vector<std::string>& all) {
  const auto settings = profile::settings();
  const auto setting = std::find_if(settings.begin(), settings.end(),
                                    [&](const profile::Setting& each) { return each.variable == name; });
  if (setting == settings.end()) return false;
  const std::string problem = value.empty() ? std::string() : setting->problem(value);
  if (!problem.empty()) all.push_back(fmt::format("{}: {}", name, problem));
  return true;
}

}  // namespace

std::vector<std::string> useless_variables(const char* const* environment) {
  std::vector<std::string> all;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (append_wrong_check(name, value, all) || append_wrong_profile(name, value, all)) continue;
    const auto* const entry_found =
        std::find_if(std::begin(kVariables), std::end(kVariables),
                     [&](const Variable& variable) { return variable.name == name; });
    std::string problem;
    if (entry_found == std::end(kVariables)) {
      problem = wrong_name(name);
    } else if (!value.empty()) {
      problem = wrong_value(*entry_found, value);
    }
    if (!problem.empty()) all.push_back(std::move(problem));
  }
  return all;
}

}  // namespace rigel::vgpu
