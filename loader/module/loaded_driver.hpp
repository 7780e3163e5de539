// The driver transport that the configuration names, opened and checked: what stands between the runtime and
// its GPUs instead of the kernel. As with backends, the tables are the runtime's own copies, in which a null
// function is an absent feature, and the module stays open to the end of the process.
#pragma once

#include <hsa_plugin/hsa_driver.h>

#include <string>

#include "core/base/status.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

struct LoadedDriver {
  std::string path;  // real path of the library
  std::string name;
  std::string version;
  uint32_t abi_minor = 0;
  hsadrv_driver_t table{};  // open_driver and close_driver; its groups are null, the copies below are meant
  hsadrv_ops_t ops{};       // complete
  hsadrv_doorbell_ops_t doorbell{};

  bool has_doorbell() const { return doorbell.struct_size != 0; }
};

/// Copies and checks a table as a module's query returned it. `path` is only noted.
Explained<LoadedDriver> read_driver_table(const hsadrv_driver_t* table, std::string path);

/// Loads config.driver, which must be there. Its library is looked for beside the configuration file and in
/// the folder of installed drivers. Fails with HSA_STATUS_ERROR; the reason is in the report. Starting it
/// with its options (config.driver->config.json()) is left to the caller.
Result<LoadedDriver> load_driver(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                 DiscoveryReport& report);

}  // namespace rigel
