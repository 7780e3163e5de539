// A backend's manifest: its name, its library and the devices that it claims.
// The format is described in docs/reference/configuration.md and docs/schemas/backend-manifest.json.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/module/module_options.hpp"
#include "loader/text/words.hpp"

namespace rigel {

class Diagnostics;

/// A target version as in amdkfd: gfx90a is 9.0.10.
struct GfxVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t stepping = 0;
  auto operator<=>(const GfxVersion&) const = default;
};

std::string to_string(GfxVersion version);

/// Devices of a backend: all on a bus, or an inclusive range of versions.
struct Claim {
  uint32_t bus = 0;  // HSABE_BUS_
  GfxVersion first;  // KFD only
  GfxVersion last;
};

struct Manifest {
  std::string name;
  std::string library;
  uint32_t abi_major = 1;
  uint32_t abi_min_minor = 0;
  std::string arch;  // empty: any
  int32_t priority = 100;
  std::vector<Claim> claims;
  std::string disable_environment;
  std::vector<std::string> dependencies;
  std::string build_id;
  ModuleOptions config;

  bool claims_bus(uint32_t bus) const;
  bool claims_node(uint32_t bus, GfxVersion version) const;
};

/// Returns "kfd" for HSABE_BUS_KFD and so on.
std::string_view bus_name(uint32_t bus);

/// Parses a manifest. If `diagnostics` has errors afterwards, it must not be used.
Manifest parse_manifest(std::string_view text, Diagnostics& diagnostics);

}  // namespace rigel
