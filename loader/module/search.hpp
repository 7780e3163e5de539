// Search paths of manifests, their order, and reading them.
#pragma once

#include <string>
#include <vector>

#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/module/manifest.hpp"

namespace rigel {

/// Maximum number of files to read from one directory, or from a variable.
constexpr size_t kMaxManifests = 256;

struct FoundManifest {
  Manifest manifest;
  std::string file;       // path of the manifest
  std::string real_file;  // without symbolic links
};

/// Returns the enabled manifests in search order: readable, permitted, not filtered out, and each name once.
/// All others are in the report with the reason.
std::vector<FoundManifest> find_manifests(const LoaderEnvironment& environment, const BackendsConfig& config,
                                          DiscoveryReport& report);

}  // namespace rigel
