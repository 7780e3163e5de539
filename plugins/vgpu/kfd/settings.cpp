#include "plugins/vgpu/kfd/settings.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "loader/text/json_reader.hpp"
#include "loader/text/words.hpp"
#include "plugins/vgpu/kfd/vgpu_log.hpp"

namespace rigel::vgpu {
namespace {

constexpr auto kOptional = ObjectReader::kOptional;

struct Option {
  std::string_view name;
  void (*read)(ObjectReader& reader, std::string_view name, Settings& settings);
};

constexpr Option kOptions[] = {
    {"gpus",
     [](ObjectReader& reader, std::string_view name, Settings& settings) {
       settings.gpus = reader.string(name, kOptional, settings.gpus);
       if (reader.has(name)) settings.gpus_source = reader.at(name);
     }},
    {"link",
     [](ObjectReader& reader, std::string_view name, Settings& settings) {
       settings.link = reader.string(name, kOptional, settings.link);
       if (reader.has(name)) settings.link_source = reader.at(name);
     }},
    {"log",
     [](ObjectReader& reader, std::string_view name, Settings& settings) {
       settings.log = reader.string(name, kOptional, settings.log);
       if (!reader.has(name)) return;
       const std::string wrong = Log::wrong_words(settings.log);
       if (!wrong.empty()) reader.diagnostics().error(reader.at(name), wrong);
     }},
    {"log_file",
     [](ObjectReader& reader, std::string_view name, Settings& settings) {
       settings.log_file = reader.string(name, kOptional, settings.log_file);
     }},
    {"threads",
     [](ObjectReader& reader, std::string_view name, Settings& settings) {
       settings.options.threads = reader.boolean(name, settings.options.threads);
     }},
    {"seed",
     [](ObjectReader& reader, std::string_view name, Settings& settings) {
       constexpr auto kMaxSeed = std::numeric_limits<int64_t>::max();
       settings.options.seed = static_cast<uint64_t>(reader.integer(name, kOptional, 0, 0, kMaxSeed));
     }},
};

// Empty in a process with elevated privileges, because another user controls its environment.
std::string variable(const char* name) {
  const char* const value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

// Parses a time limit in seconds, greater than 0.
std::optional<double> parse_watchdog(const std::string& text) {
  constexpr double kMaxSeconds = 1e9;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(seconds > 0) || seconds > kMaxSeconds) return std::nullopt;
  return seconds;
}

}  // namespace

Settings Settings::from_environment() {
  Settings settings;
  if (secure_getenv("VGPU_GPUS") != nullptr) settings.gpus = variable("VGPU_GPUS");
  settings.link = variable("VGPU_LINK");
  settings.log = variable("VGPU_LOG");
  settings.log_file = variable("VGPU_LOG_FILE");
  settings.options.signals = variable("VGPU_SIGNALS") != "0";
  settings.options.virtual_system = variable("VGPU_MACHINE");
  settings.watchdog = variable("VGPU_WATCHDOG");
  return settings;
}

void Settings::read_options(std::string_view json, Diagnostics& diagnostics) {
  if (json.empty()) return;
  const auto document = parse_json(json, diagnostics);
  if (!document) return;
  ObjectReader reader(&**document, "", diagnostics);
  for (const Option& option : kOptions) option.read(reader, option.name, *this);
  reader.refuse_unknown_keys();
}

double Settings::watchdog_seconds(Diagnostics& diagnostics) const {
  if (watchdog.empty() || watchdog == "0") return 0;
  const auto seconds = parse_watchdog(watchdog);
  if (!seconds) {
    diagnostics.error(watchdog_source,
                      fmt::format("invalid value {}; use a number of seconds above 0", in_quotes(watchdog)));
  }
  return seconds.value_or(0);
}

std::vector<std::string_view> Settings::option_names() {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  return names;
}

Machine Settings::make_machine(Diagnostics& diagnostics) const {
  const auto report_errors = [&](const std::string& source, const std::string& errors) {
    for (const auto line : split(errors, '\n')) diagnostics.error(source, line);
  };
  const auto peers = parse_peer_link(link);
  if (!peers) report_errors(link_source, peers.error());
  auto virtual_system = parse_machine(gpus, peers.value_or(PeerLink::kPcie));
  if (virtual_system) return std::move(*virtual_system);
  report_errors(gpus_source, virtual_system.error());
  return {};
}

}  // namespace rigel::vgpu
