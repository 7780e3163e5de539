// The runtime's configuration file: log, driver transport, backends and tool plugins.
// The format is described in docs/reference/configuration.md and docs/schemas/runtime-config.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/module/module_options.hpp"

namespace rigel {

class Diagnostics;
class DiscoveryReport;

struct LogConfig {
  std::string level;  // words as in HSA_LOADER_DEBUG, which goes before it; empty: not given
  std::string to;     // "stderr", or a path in which %p is the process id; empty: not given
};

/// What stands between the runtime and the hardware instead of /dev/kfd.
struct DriverConfig {
  std::string library;
  ModuleOptions config;
};

struct BackendOptions {
  std::string name;
  ModuleOptions options;
};

struct BackendsConfig {
  std::vector<std::string> disable;   // patterns
  std::vector<std::string> required;  // names
  std::vector<BackendOptions> options;

  /// The options given to the backend `name`; none if it is not mentioned.
  ModuleOptions options_of(std::string_view name) const;
};

enum class PluginAbi : uint8_t {
  kRigel,     // hsa_tool_query_v1
  kHsaTools,  // OnLoad and OnUnload, as ROCr's tools have them
};

/// The layout of AmdExtTable and its likes that a tool of abi hsa_tools expects.
enum class TableLayout : uint8_t {
  kEither,   // by what is known of the tool
  kRocm5,    // of ROCm 5.0 to 5.4
  kRocm55,   // of ROCm 5.5
  kCurrent,  // of ROCm 5.6 and later
};

/// Their names in the configuration and in HSA_TOOLS_TABLE.
inline constexpr std::string_view kTableLayouts[] = {"either", "rocm5", "rocm5.5", "current"};
std::optional<TableLayout> table_layout_of(std::string_view name);

struct PluginConfig {
  std::string name;
  std::string library;
  PluginAbi abi = PluginAbi::kRigel;
  bool enabled = true;
  bool fail_on_error = false;                // on_error: "fail"; else the plugin is skipped
  std::vector<std::string> intercept;        // patterns of function names
  ModuleOptions config;                      // of abi rigel: known to the plugin alone
  TableLayout table = TableLayout::kEither;  // of abi hsa_tools
};

struct RuntimeConfig {
  std::string path;  // real path of the file; empty: there is none, and everything else is as built
  LogConfig log;
  std::optional<DriverConfig> driver;
  BackendsConfig backends;
  std::vector<PluginConfig> plugins;  // the first is the outermost

  /// The folder that relative paths of the file begin at; empty: there is no file.
  std::string folder() const;
};

/// Reads a configuration. If `diagnostics` has errors afterwards, it is not to be used.
RuntimeConfig parse_config(std::string_view text, Diagnostics& diagnostics);

/// Finds and reads the configuration: HSA_PLUGIN_CONFIG (`none`: no file at all), else runtime.json in the
/// user's folder, else in the system's. No file is an empty configuration. A file that is there, or asked
/// for, and cannot be used is HSA_STATUS_ERROR_INVALID_FILE: half of somebody's wishes would be worse than a
/// refusal that says why. First step of coming up; also reports the variables that an elevated process
/// ignores.
///
/// The options of a driver transport and of tools are known to them alone. `with_errors` is given a file that
/// has errors, as far as it could be read, so that what else is wrong with it is told at once.
Result<RuntimeConfig> load_config(const LoaderEnvironment& environment, DiscoveryReport& report,
                                  const std::function<void(RuntimeConfig)>& with_errors = {});

}  // namespace rigel
