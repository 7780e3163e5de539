// Where manifests are looked for, in which order, and reading them.
#pragma once

#include <string>
#include <vector>

#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/module/manifest.hpp"

namespace rigel {

/// More files than this are not read of one folder, nor of those that a variable names.
constexpr size_t kMaxManifests = 256;

struct FoundManifest {
  Manifest manifest;
  std::string file;       // as it was found
  std::string real_file;  // without symbolic links
};

/// The manifests that may be used, in search order: read, permitted, not filtered out, each name once. All
/// others are in the report with the reason.
std::vector<FoundManifest> find_manifests(const LoaderEnvironment& environment, const BackendsConfig& config,
                                          DiscoveryReport& report);

}  // namespace rigel
