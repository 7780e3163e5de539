// The opened and checked driver transport of the configuration, which replaces the kernel. As with backends,
// the tables are the runtime's copies, in which a null function is an unsupported feature, and the module
// stays open until the process ends.
#pragma once

#include <hsa_plugin/hsa_driver.h>

#include <string>

#include "api/support/status.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

struct LoadedDriver {
  std::string path;  // real path of the library
  std::string name;
  std::string version;
  uint32_t abi_minor = 0;
  // open_driver and close_driver; its groups are null and replaced by the copies below
  hsadrv_driver_t table{};
  hsadrv_ops_t ops{};  // complete
  hsadrv_doorbell_ops_t doorbell{};
  hsadrv_sampling_ops_t sampling{};  // functions are null if not supported

  bool has_doorbell() const { return doorbell.struct_size != 0; }
};

/// Copies and checks the table of a module or of a preloaded library. Null is a table without functions.
Explained<hsadrv_sampling_ops_t> read_sampling_table(const hsadrv_sampling_ops_t* table);

/// Copies and checks a table from a module's query. `path` is stored only.
Explained<LoadedDriver> read_driver_table(const hsadrv_driver_t* table, std::string path);

/// Loads config.driver, which must be set, from the configuration file's directory or the directory of
/// installed drivers. Fails with HSA_STATUS_ERROR and a reason in the report. The caller starts it with its
/// options (config.driver->config.json()).
Result<LoadedDriver> load_driver(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                 DiscoveryReport& report);

}  // namespace rigel
