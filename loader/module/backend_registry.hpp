// The backends of this process: what manifests were found, which of them claims a device, and their modules,
// opened when they are first needed and never before.
//
//   auto config = load_config(environment, report);
//   BackendRegistry backends;
//   backends.discover(environment, *config, report);            // reads manifests, opens nothing
//   for (const Backend* one : backends.candidates(node, subject, report)) {
//     auto loaded = backends.open(*one, report);                // once; a failure is remembered
//     if (!loaded) continue;
//     ... select, check_capabilities, open; the first that succeeds serves the node
//     backends.note_device(*one);
//   }
//   status = backends.conclude(report);                         // what was required and is not there
//
// One thread at a time: the one that is in hsa_init. The registry belongs to one life of the runtime; the
// LoadedBackends it hands out, and their modules, stay to the end of the process.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loaded_backend.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/module/manifest.hpp"

namespace rigel {

/// One manifest that is in force. Owned by the registry.
struct Backend {
  Manifest manifest;
  std::string file;       // the manifest, as it was found
  std::string real_file;  // the same without symbolic links
  ModuleOptions options;  // the manifest's, overlaid by the configuration's: for hsabe_host_config_t
};

class BackendRegistry {
 public:
  BackendRegistry();
  ~BackendRegistry();

  /// Finds and reads the manifests. Opens no library. Every file leaves its lines in the report, and none
  /// stops the others. Call once.
  void discover(const LoaderEnvironment& environment, const RuntimeConfig& config, DiscoveryReport& report);

  /// Every backend in force, in the order in which they were found.
  std::vector<const Backend*> backends() const;

  /// The backends that claim a device, best first: by priority, then by file name. Reports which it is, and
  /// who else wanted it. `subject` is what the report calls the device.
  std::vector<const Backend*> candidates(const hsabe_node_t& node, std::string_view subject,
                                         DiscoveryReport& report);

  /// The backends that find their devices themselves, in the same order.
  std::vector<const Backend*> enumerators();

  /// Opens the module of a backend and negotiates, at the first call. A backend that failed once fails for
  /// the life of the registry.
  Result<const LoadedBackend*> open(const Backend& backend, DiscoveryReport& report);

  /// Notes that the backend has opened a device: it is in use.
  void note_device(const Backend& backend);

  /// For the end of discovery: reports backends that no device wanted, and fails with HSA_STATUS_ERROR if one
  /// that the configuration requires is not in use.
  Status conclude(DiscoveryReport& report) const;

 private:
  struct Entry;

  Entry* entry_of(const Backend& backend);

  LoaderEnvironment environment_;
  std::vector<std::string> required_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace rigel
