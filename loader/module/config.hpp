// The runtime's configuration file: log, driver transport, backends and tool plugins.
// The format is described in docs/reference/configuration.md and docs/schemas/runtime-config.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/status.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/module/module_options.hpp"

namespace rigel {

class Diagnostics;
class DiscoveryReport;

struct LogConfig {
  std::string level;  // values of HSA_LOADER_DEBUG, which overrides it; empty: not set
  std::string to;     // "stderr", or a path in which %p is the process id; empty: not set
};

struct DriverConfig {
  std::string library;
  ModuleOptions config;
};

struct BackendOptions {
  std::string name;
  ModuleOptions options;
};

struct BackendsConfig {
  std::vector<std::string> disable;   // patterns of names of backends that are not used
  std::vector<std::string> required;  // names of backends that must open a device
  std::vector<BackendOptions> options;

  /// Returns the options of backend `name`; empty if it has none.
  ModuleOptions options_of(std::string_view name) const;
};

enum class PluginAbi : uint8_t {
  kRigel,     // hsa_tool_query_v1
  kHsaTools,  // OnLoad and OnUnload, for ROCr's tools
};

/// The layout of AmdExtTable and similar tables that a tool of abi hsa_tools expects.
enum class TableLayout : uint8_t {
  kEither,   // detected from the tool
  kRocm5,    // ROCm 5.0 to 5.4
  kRocm55,   // ROCm 5.5
  kCurrent,  // ROCm 5.6 and later
};

/// Names in the configuration and in HSA_TOOLS_TABLE.
inline constexpr std::string_view kTableLayouts[] = {"either", "rocm5", "rocm5.5", "current"};
std::optional<TableLayout> table_layout_of(std::string_view name);

struct PluginConfig {
  std::string name;
  std::string library;
  PluginAbi abi = PluginAbi::kRigel;
  bool enabled = true;
  bool fail_on_error = false;                // on_error: "fail"; otherwise the plugin is skipped
  std::vector<std::string> intercept;        // patterns of function names
  ModuleOptions config;                      // options of a plugin with abi rigel, which interprets them
  TableLayout table = TableLayout::kEither;  // table layout of a plugin with abi hsa_tools
};

struct RuntimeConfig {
  std::string path;  // real path of the file; empty: no file, and everything else has its default
  LogConfig log;
  std::optional<DriverConfig> driver;
  BackendsConfig backends;
  std::vector<PluginConfig> plugins;  // outermost first

  /// Directory at which relative paths in the file start. Empty if there is no file.
  std::string folder() const;
};

/// Parses a configuration. If `diagnostics` has errors afterwards, it must not be used.
RuntimeConfig parse_config(std::string_view text, Diagnostics& diagnostics);

/// Finds and reads the configuration: HSA_PLUGIN_CONFIG (`none`: no file), otherwise runtime.json in the
/// user's directory, otherwise in the system's. Without a file, the configuration is empty. A file that
/// exists or was requested and is unusable fails with HSA_STATUS_ERROR_INVALID_FILE, so that no configuration
/// is applied partially. First step of hsa_init; also reports variables that an elevated process ignores.
///
/// If the file has errors, calls `with_errors` with the part that could be read. Driver transports
/// and tools, and only these, can check their options: the caller lets them do so, and all errors are
/// reported at once.
Result<RuntimeConfig> load_config(const LoaderEnvironment& environment, DiscoveryReport& report,
                                  const std::function<void(RuntimeConfig)>& with_errors = {});

}  // namespace rigel
