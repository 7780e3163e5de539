#include "loader/module/config.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "loader/module/discovery_report.hpp"
#include "loader/module/files.hpp"
#include "loader/module/module_options_data.hpp"
#include "loader/text/json_reader.hpp"
#include "loader/text/words.hpp"

namespace rigel {
namespace {

constexpr uint32_t kFormatMajor = 1;

// Reads a member that must be one of `words`; the first is the default.
template <size_t N>
size_t choice(ObjectReader& reader, std::string_view key, const std::string_view (&words)[N]) {
  const std::string text = reader.string(key, ObjectReader::kOptional, words[0]);
  const auto* const found = std::find(std::begin(words), std::end(words), text);
  if (found != std::end(words)) return static_cast<size_t>(found - words);
  std::string all;
  for (const auto word : words) all += fmt::format("{}'{}'", all.empty() ? "" : " or ", word);
  reader.diagnostics().error(
      reader.at(key), fmt::format("should be {} but is {}{}", all, in_quotes(text), suggestion(text, words)));
  return 0;
}

LogConfig read_log(ObjectReader reader) {
  LogConfig log;
  log.level = reader.string("level", ObjectReader::kOptional);
  log.to = reader.string("to", ObjectReader::kOptional);
  reader.warn_about_unknown_keys();
  return log;
}

DriverConfig read_driver(ObjectReader reader) {
  DriverConfig driver;
  driver.library = reader.string("library", ObjectReader::kRequired);
  driver.config = read_options(reader, "config");
  reader.warn_about_unknown_keys();
  return driver;
}

BackendsConfig read_backends(ObjectReader reader) {
  BackendsConfig backends;
  backends.disable = reader.strings("disable");
  backends.required = reader.strings("required");
  // Every other member is a backend's name; unknown ones are reported after the search.
  reader.for_each_other([&](const std::string& name, const nlohmann::json& value) {
    if (value.is_object()) {
      backends.options.push_back({name, make_options(JsonDocument(value))});
    } else {
      reader.diagnostics().error(reader.at(name),
                                 fmt::format("should be an object but is {}", value.type_name()));
    }
  });
  return backends;
}

// Reads how the runtime treats a tool of ROCr's ABI. These tools have no options.
TableLayout read_table(ObjectReader reader) {
  const auto table = static_cast<TableLayout>(choice(reader, "table", kTableLayouts));
  reader.warn_about_unknown_keys();
  return table;
}

PluginConfig read_plugin(ObjectReader reader) {
  static constexpr std::string_view kAbis[] = {"rigel", "hsa_tools"};
  static constexpr std::string_view kPolicies[] = {"skip", "fail"};
  PluginConfig plugin;
  plugin.name = reader.string("name", ObjectReader::kRequired);
  plugin.library = reader.string("library", ObjectReader::kRequired);
  plugin.abi = static_cast<PluginAbi>(choice(reader, "abi", kAbis));
  plugin.enabled = reader.boolean("enabled", true);
  plugin.fail_on_error = choice(reader, "on_error", kPolicies) == 1;
  plugin.intercept = reader.strings("intercept");
  if (plugin.abi == PluginAbi::kHsaTools) {
    plugin.table = read_table(reader.object("config", ObjectReader::kOptional));
  } else {
    plugin.config = read_options(reader, "config");
  }
  reader.warn_about_unknown_keys();
  return plugin;
}

std::string find_config(const LoaderEnvironment& environment) {
  for (std::string folder : {environment.user_folder(), environment.system_folder}) {
    if (folder.empty()) continue;
    folder += "/runtime.json";
    if (exists(folder)) return folder;
  }
  return {};
}

}  // namespace

ModuleOptions BackendsConfig::options_of(std::string_view name) const {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const BackendOptions& one) { return one.name == name; });
  return found == options.end() ? ModuleOptions() : found->options;
}

std::string RuntimeConfig::folder() const {
  return path.empty() ? std::string() : folder_of(path);
}

std::optional<TableLayout> table_layout_of(std::string_view name) {
  const auto* const found = std::find(std::begin(kTableLayouts), std::end(kTableLayouts), name);
  if (found == std::end(kTableLayouts)) return std::nullopt;
  return static_cast<TableLayout>(found - std::begin(kTableLayouts));
}

RuntimeConfig parse_config(std::string_view text, Diagnostics& diagnostics) {
  RuntimeConfig config;
  const auto document = parse_json(text, diagnostics);
  if (!document) return config;

  ObjectReader top(&**document, "", diagnostics);
  check_format_version(top, "config_version", kFormatMajor);
  if (diagnostics.has_errors()) return config;  // other members are undefined in another format
  top.string("$schema", ObjectReader::kOptional);

  config.log = read_log(top.object("log", ObjectReader::kOptional));
  if (auto driver = top.object("driver", ObjectReader::kOptional); driver.value() != nullptr) {
    config.driver = read_driver(std::move(driver));
  }
  config.backends = read_backends(top.object("backends", ObjectReader::kOptional));

  const auto plugins = top.array("plugins", ObjectReader::kOptional);
  for (size_t i = 0; i < plugins.size(); ++i) {
    PluginConfig plugin =
        read_plugin(ObjectReader(&plugins[i], fmt::format("{}/{}", top.at("plugins"), i), diagnostics));
    const bool is_new = std::none_of(config.plugins.begin(), config.plugins.end(),
                                     [&](const PluginConfig& other) { return other.name == plugin.name; });
    if (!is_new)
      diagnostics.error(fmt::format("{}/{}/name", top.at("plugins"), i), "an earlier tool has this name");
    config.plugins.push_back(std::move(plugin));
  }
  top.warn_about_unknown_keys();
  return config;
}

Result<RuntimeConfig> load_config(const LoaderEnvironment& environment, DiscoveryReport& report,
                                  const std::function<void(RuntimeConfig)>& with_errors) {
  environment.report_ignored_variables(report);

  const char* const named = environment.get("HSA_PLUGIN_CONFIG");
  if (named != nullptr && std::string_view(named) == "none") {
    report.add(Stage::kConfig, Outcome::kSkipped, "configuration file",
               "not read because HSA_PLUGIN_CONFIG is 'none'");
    return RuntimeConfig{};
  }
  const std::string path = named != nullptr && !environment.elevated ? named : find_config(environment);
  if (path.empty()) return RuntimeConfig{};

  const auto refuse = [&](const std::string& why) {
    report.add(Stage::kConfig, Outcome::kFailed, path, why);
    return error(HSA_STATUS_ERROR_INVALID_FILE);
  };
  const auto refuse_to_read = [&](const std::string& why) {
    return refuse(fmt::format(
        "the configuration file cannot be read: {}; {}", why,
        named != nullptr ? "correct HSA_PLUGIN_CONFIG" : "set HSA_PLUGIN_CONFIG=none to ignore it"));
  };
  const auto real = real_path(path);
  if (!real) return refuse_to_read(real.error());
  if (const auto permitted = environment.check_permitted(*real); !permitted) return refuse(permitted.error());
  const auto text = read_small_file(*real, kMaxJsonBytes);
  if (!text) return refuse_to_read(text.error());

  Diagnostics diagnostics;
  RuntimeConfig config = parse_config(*text, diagnostics);
  for (const auto& entry : diagnostics.entries()) {
    report.add(Stage::kConfig, entry.is_error ? Outcome::kFailed : Outcome::kWarning, path, entry.text);
  }
  config.path = *real;
  if (diagnostics.has_errors()) {
    if (with_errors) with_errors(std::move(config));
    return error(HSA_STATUS_ERROR_INVALID_FILE);
  }
  report.add(Stage::kConfig, Outcome::kOk, path);
  return config;
}

}  // namespace rigel
