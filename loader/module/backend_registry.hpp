// The backends of this process: the manifests found, matching of devices, and modules, which are opened on
// first use.
//
//   auto config = load_config(environment, report);
//   BackendRegistry backends;
//   backends.discover(environment, *config, report);            // reads manifests, opens no library
//   for (const Backend* backend : backends.candidates(node, subject, report)) {
//     auto loaded = backends.open(*backend, report);            // once; a failure is remembered
//     if (!loaded) continue;
//     ... select, check_capabilities, open; the first that succeeds serves the node
//     backends.note_device(*backend);
//   }
//   status = backends.conclude(report);                         // fails if a required backend is missing
//
// *Threads:* one thread at a time, the one in hsa_init.
// *Lifetime:* the registry belongs to one runtime. Its LoadedBackends and their modules stay until the
// process ends.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/status.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loaded_backend.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/module/manifest.hpp"

namespace rigel {

/// A valid manifest that is not disabled. Owned by the registry.
struct Backend {
  Manifest manifest;
  std::string file;       // path of the manifest
  std::string real_file;  // its path without symbolic links
  ModuleOptions options;  // options of the manifest, overridden by those of the configuration
};

class BackendRegistry {
 public:
  BackendRegistry();
  ~BackendRegistry();

  /// Finds and reads the manifests, without opening libraries. Adds lines for every file to the report; a
  /// failure does not affect other files. Call once.
  void discover(const LoaderEnvironment& environment, const RuntimeConfig& config, DiscoveryReport& report);

  /// Returns all enabled backends, in the order in which they were found.
  std::vector<const Backend*> backends() const;

  /// Returns the backends that claim a device, best first: by priority, then by file name. Reports the first
  /// one and its competitors. `subject` is the device's name in the report.
  std::vector<const Backend*> candidates(const hsabe_node_t& node, std::string_view subject,
                                         DiscoveryReport& report);

  /// Returns the backends that enumerate devices themselves, in the same order.
  std::vector<const Backend*> enumerators();

  /// Opens the module of a backend and negotiates, at the first call. A failure is remembered while the
  /// registry lives.
  Result<const LoadedBackend*> open(const Backend& backend, DiscoveryReport& report);

  /// Records that the backend has opened a device.
  void note_device(const Backend& backend);

  /// Reports backends without devices at the end of discovery. Fails with HSA_STATUS_ERROR if a required
  /// backend has not opened a device.
  Status conclude(DiscoveryReport& report) const;

 private:
  struct Entry;

  Entry* entry_of(const Backend& backend);

  LoaderEnvironment environment_;
  std::vector<std::string> required_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace rigel
